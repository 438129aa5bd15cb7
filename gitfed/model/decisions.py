"""The only memory: what was decided for each template, kept as Karmada ResourceBindings on the state branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gitfed.model.base import Body, ClusterName, Commit, ObjectKey, Problem


@dataclass(frozen=True, slots=True, order=True)
class Share:
    """A cluster and its part of the work. `replicas` None: the kind has no replicas."""

    cluster: ClusterName
    replicas: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class Rejection:
    cluster: ClusterName
    reason: str


@dataclass(frozen=True, slots=True)
class EvictionTask:
    """Karmada's `gracefulEvictionTasks[]` entry; fields that this version does not act on stay in `raw`."""

    from_cluster: ClusterName
    raw: Body


@dataclass(frozen=True, slots=True, order=True)
class PolicyRef:
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class ScheduledCondition:
    """Karmada's condition `Scheduled`: reasons and texts are the reference's."""

    status: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Descheduled:
    """Replicas were taken back from clusters that cannot run them. `message` is Karmada's event text."""

    at: datetime
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What stands on the state branch for one template: input of the next decision."""

    key: ObjectKey
    api_version: str
    shares: tuple[Share, ...] = ()
    """Sorted by cluster."""
    affinity_name: str = ""
    policy: PolicyRef | None = None
    placement: Body | None = None
    """The placement that was in force (Karmada's annotation applied-placement)."""
    evictions: tuple[EvictionTask, ...] = ()
    replicas: int | None = None
    """What the template asked for when this was decided."""
    last_scheduled: datetime | None = None
    reschedule_triggered: datetime | None = None
    condition: ScheduledCondition | None = None
    preserve: bool = False
    """The policy in force said preserveResourcesOnDeletion: outlives template and policy."""
    rebalancers: tuple[str, ...] = ()
    """The WorkloadRebalancers that have asked for it already: each asks once."""
    descheduled: Descheduled | None = None
    """The last time that replicas were taken back, until the next decision for another reason."""
    undone: Decision | None = field(default=None, compare=False, repr=False)
    """The decision that replicas were taken back from, while the next one is not taken yet. Never written down."""
    raw: Body | None = None
    """The document it was read from: unknown parts survive a rewrite."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A person let the held changes of exactly one plan through (`gitfed apply --confirm DIGEST`).

    The digest proves that the person saw that plan. Carrying it out takes many cycles, and each has fewer changes left
    than the one before; so what holds on is its commit, and for each gate how many changes were let through.
    """

    digest: str
    commit: Commit
    allowed: tuple[tuple[str, int], ...]
    """(gate, number of changes), sorted."""
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Decisions:
    """The state branch, read. `known` False: the state is missing or unreadable and must be rebuilt first."""

    bindings: Mapping[ObjectKey, Decision] = field(default_factory=lambda: MappingProxyType({}))
    applied_commit: Commit | None = None
    """The last commit that was rolled out; gate `history` compares with it."""
    descends: bool = True
    """Whether the commit being planned descends from `applied_commit` (found out by the Git edge)."""
    approvals: tuple[Approval, ...] = ()
    repository_id: str = ""
    known: bool = True
    problems: tuple[Problem, ...] = ()
    statuses: Mapping[ObjectKey, Body] = field(default_factory=lambda: MappingProxyType({}))
    """What was last recorded of each binding's copies: `{aggregatedStatus, conditions}` (`BindingStatus.as_json`).
    No decision reads it."""
    unfinished: Mapping[ClusterName, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """Objects, by cluster, that were not written when the roll-out of `applied_commit` was over: refused, or waiting
    for others. "*" in place of too many."""
    extra: Mapping[str, Any] = field(default_factory=dict)
