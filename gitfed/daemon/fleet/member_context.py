"""What the daemon knows of a cluster besides its declaration."""

from __future__ import annotations

from collections.abc import Callable

from gitfed.daemon.fleet.leadership import Leading
from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterFacts
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberContext:
    federation: str
    repository_id: Callable[[], str] = str
    expected: Callable[[], int] = lambda: 0
    """Entries that the state remembers of this cluster; far fewer mean a damaged inventory."""
    recorded_id: Callable[[], str] = str
    """Which cluster it was, by the uid of its kube-system; "" when that is not on record."""
    elsewhere: Callable[[str], ClusterName] = lambda uid: ""
    """The name of another cluster of the fleet that has this uid; "" when none has."""
    says_id: Callable[[str], None] = lambda uid: None
    """To be told of the cluster's uid whenever it says one, so that `elsewhere` finds it for others."""
    remembered_facts: ClusterFacts | None = None
    """Facts of an earlier process."""
    adopt: bool = False
    """Its inventory becomes ours, whatever it says: a person asked for it."""
    lead: Leading | None = None
    """Who gives the lead in this cluster; None: this process decides itself."""
    called: str = ""
    """How our name in the inventory begins."""
