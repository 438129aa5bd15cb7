"""What all workloads have in common at one moment of a failover: the clusters as they are, the settings, the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from gitfed.model.base import Body, ClusterName
from gitfed.model.fleet import ClusterLive, LiveObject, Reach
from gitfed.placement.failover import state_preservation
from gitfed.placement.failover.taints import Tainted
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.federation import FailoverSettings

Collect: TypeAlias = Callable[[LiveObject], tuple[bool | None, Body | None]]
"""(healthy as the kind's rules see it, the status worth knowing) of a copy; None: not known."""


@dataclass(frozen=True, slots=True)
class StatusReader:
    """Reads what the objects in clusters say of themselves."""

    states: state_preservation.States
    collect: Collect


@dataclass(frozen=True, slots=True)
class FailoverContext:
    tainted: Tainted
    repelling: frozenset[ClusterName]
    """Clusters with a taint that drives work out, at once or in time."""
    declared: frozenset[ClusterName]
    """Clusters that are declared, or that the facts declare."""
    clusters: Mapping[ClusterName, ClusterLive]
    """Empty: the clusters were not looked at."""
    settings: FailoverSettings
    active: bool
    """Setting and gate: whether anything is evicted at all. Tasks that exist are brought to their end in any case."""
    injects: bool
    graceful: bool
    """Gate GracefulEviction, without which nothing leaves gracefully because of its own health."""
    reader: StatusReader
    now: datetime

    def is_ready(self, cluster: ClusterName) -> bool:
        """Whether what is seen of it is how it is."""
        record = self.tainted.records.get(cluster)
        return record is not None and record.reach is Reach.READY
