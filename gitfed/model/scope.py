"""Which templates of a commit a plan is of, and what all others come to.

A plan of a large repository may be of few templates, where nothing becomes of the others that was not so before
(`planning.review.locality`). The others stay as they are, but they count: a limit is a part of all there is, and a
namespace that no file declares goes where any of its content goes. So a snapshot that holds few templates says in its
`scope` what those come to that it leaves out (`planning.unplanned`). Who needs that reads it there; no plan, limit or
review is handed it beside the snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gitfed.model.base import ClusterName, ObjectKey


@dataclass(frozen=True, slots=True)
class PlanScope:
    """What the templates come to that a snapshot leaves out."""

    counted: bool = True
    """False: that is not known, and everything below says nothing."""
    copies: int = 0
    """Objects in clusters: one for each cluster of each template."""
    replicas: int = 0
    content: Mapping[str, frozenset[ClusterName]] = field(default_factory=lambda: MappingProxyType({}))
    """Where something goes, by namespace; only namespaces in which something is planned."""
    placed: Mapping[ClusterName, frozenset[ObjectKey]] = field(default_factory=lambda: MappingProxyType({}))
    """What is in a cluster; only of clusters that are declared otherwise."""


EVERYTHING = PlanScope()
"""Of a snapshot that leaves nothing out."""
FEW = PlanScope(counted=False)
"""Of one that leaves templates out without a word of them."""
