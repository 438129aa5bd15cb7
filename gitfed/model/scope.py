"""Which templates of a commit a plan covers, and the totals of all others.

A plan of a large repository may cover few templates, if nothing changes for the others (`planning.review.locality`).
The others still count: a limit is a share of everything, and a namespace that no file declares goes where any of its
content goes. So a snapshot with few templates has in its `scope` the totals of those that it leaves out
(`planning.unplanned`). Plans, limits and reviews read them there; they are passed nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class PlanScope:
    """The totals of the templates that a snapshot leaves out."""

    counted: bool = True
    """False: unknown, and everything below means nothing."""
    copies: int = 0
    """Objects in clusters: one for each cluster of each template."""
    replicas: int = 0
    content: Mapping[str, frozenset[ClusterName]] = field(default_factory=lambda: MappingProxyType({}))
    """By namespace, the clusters where something goes; only namespaces in which something is planned."""
    placed: Mapping[ClusterName, frozenset[ObjectKey]] = field(default_factory=lambda: MappingProxyType({}))
    """What is in a cluster; only clusters whose declaration changed."""


EVERYTHING = PlanScope()
"""The scope of a complete snapshot."""
FEW = PlanScope(counted=False)
"""The scope of a snapshot that leaves templates out and does not say which."""
