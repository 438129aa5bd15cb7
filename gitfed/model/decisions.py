"""The only memory: what was decided for each template, kept as Karmada ResourceBindings on the state branch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gitfed.model.base import Body, ClusterName, Commit, Digest, ObjectKey, Problem
from gitfed.model.fleet import Reach
from gitfed.model.operator_orders import Approval, HeldPlan, Reconciliation, Removal, Suspension
from gitfed.model.scaling import AutoscalerRecord
from gitfed.text import moment
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Guards


class Share(NamedTuple):
    """A cluster and its part of the work. `replicas` None: the kind has no replicas.

    A plain tuple, like `Rejection`: there are a hundred for every workload, and they are compared and hashed often.
    """

    cluster: ClusterName
    replicas: int | None = None


_CLUSTER = attrgetter("cluster")
"""A loop in C: a million shares are looked at in every build of a large fleet."""


class Rejection(NamedTuple):
    cluster: ClusterName
    reason: str
    barred: bool = False
    """Whether the declarations alone exclude the cluster. False: it may be chosen when another cluster fails."""


@dataclass(frozen=True, slots=True)
class EvictionTask:
    """Karmada's `gracefulEvictionTasks[]` entry: work that left a cluster, where its old object may still be.

    Fields are read from `raw`, so that what a person or another program wrote survives. A field that cannot be read
    counts as absent: then the task is kept rather than ended.
    """

    from_cluster: ClusterName
    raw: Body

    @property
    def purge_mode(self) -> str:
        """Directly, Gracefully or Never; Karmada's older Immediately and Graciously are the same."""
        mode = str(self.raw.get("purgeMode") or "")
        return {"Immediately": "Directly", "Graciously": "Gracefully", "": "Gracefully"}.get(mode, mode)

    @property
    def created(self) -> datetime | None:
        text = self.raw.get("creationTimestamp")
        if isinstance(text, datetime):
            return text if text.tzinfo else text.replace(tzinfo=UTC)
        return moment.read(text)

    @property
    def grace(self) -> timedelta | None:
        seconds = self.raw.get("gracePeriodSeconds")
        return timedelta(seconds=seconds) if isinstance(seconds, int) and 0 <= seconds < 2**31 else None

    @property
    def suppress_deletion(self) -> bool | None:
        value = self.raw.get("suppressDeletion")
        return value if isinstance(value, bool) else None

    @property
    def preserved(self) -> tuple[tuple[str, str], ...]:
        """(label, value), sorted."""
        return _pairs(self.raw.get("preservedLabelState"))

    @property
    def clusters_before(self) -> frozenset[ClusterName]:
        names = self.raw.get("clustersBeforeFailover")
        return frozenset(str(name) for name in names) if isinstance(names, list) else frozenset()


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        return ()
    return tuple(sorted((str(name), text) for name, text in value.items() if isinstance(text, str)))


Labels: TypeAlias = tuple[tuple[str, str], ...]
"""(label, value), sorted by label."""


@dataclass(frozen=True, slots=True, order=True)
class TimedTaint:
    """A taint of a cluster, and since when: tolerations with seconds count from then."""

    key: str
    effect: str
    value: str
    added: datetime
    by: str = ""
    """`failover`, `Cluster` (a person declared it) or `ClusterTaintPolicy/<name>`."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """What the state branch holds for one cluster: its last known reach, and its taints with their times."""

    name: ClusterName
    reach: Reach
    since: datetime
    """Not ready: since it stopped being ready, whatever it was in between. Ready: since then."""
    reason: str = ""
    """What the Ready condition said, `<reason>: <message>`."""
    taints: tuple[TimedTaint, ...] = ()
    """Sorted. Declared taints are here only if they evict (NoExecute)."""


@dataclass(frozen=True, slots=True)
class Outage:
    """So many clusters were not ready at once that we are probably cut off: nothing is evicted meanwhile."""

    since: datetime
    ended: datetime | None = None
    """Then the timers of clusters that are still not ready start again."""


class PolicyRef(NamedTuple):
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
    capacity_unknown_in: tuple[ClusterName, ...] = field(default=(), compare=False)
    """Clusters whose available capacity must be known before this can be decided. Only set by the scheduler, never read
    from a record."""


@dataclass(frozen=True, slots=True)
class Descheduled:
    """Replicas were taken back from clusters that cannot run them. `message` is Karmada's event text."""

    at: datetime
    message: str


@dataclass(frozen=True, slots=True, order=True)
class Dependent:
    """A workload that needs the object and takes it along. Without any cluster: one that did so before."""

    owner: ObjectKey
    clusters: tuple[ClusterName, ...] = ()
    """Where it takes the object."""
    still_in: tuple[ClusterName, ...] = ()
    """Clusters that the workload has left, where it may still run and refer to the object."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a workload was decided for the same inputs (`placement.damper`)."""

    inputs: Digest
    times: tuple[datetime, ...]
    """The last of them, in order."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What the scheduler said of a template: which clusters get how many, and by which policy."""

    shares: tuple[Share, ...] = ()
    """Sorted by cluster. May be the previous shares when `condition` is False: existing objects are kept."""
    policy: PolicyRef | None = None
    """None: no policy propagates it (or it is a Namespace, which goes everywhere by itself)."""
    affinity_name: str = ""
    replicas: int | None = None
    """What the template asked for when this was decided."""
    components: tuple[Body, ...] = ()
    """Several pod templates, `{name, replicas, replicaRequirements?}` each: then `replicas` is None."""
    each: tuple[tuple[str, int], ...] = ()
    """(component, replicas) that every target gets, where capacity was counted in complete sets of several components
    (Karmada: `clusters[].components`)."""
    condition: ScheduledCondition | None = None

    @property
    def clusters(self) -> frozenset[ClusterName]:
        return frozenset(map(_CLUSTER, self.shares))


@dataclass(frozen=True, slots=True)
class Rescheduling:
    """What led, or may lead, to another decision for the same template and policy."""

    triggered: datetime | None = None
    """Karmada's `spec.rescheduleTriggeredAt`."""
    rebalancers: tuple[str, ...] = ()
    """The WorkloadRebalancers that have asked for it already: each asks once."""
    repeats: Repeats | None = None
    """Set for a workload that was decided more than once within a short time."""
    descheduled: Descheduled | None = None
    """The last time that replicas were taken back, until the next decision for another reason."""
    undone: Decision | None = field(default=None, compare=False, repr=False)
    """The decision from which replicas were taken back, until the next one is made. Never written to the branch."""


@dataclass(frozen=True, slots=True)
class FailoverState:
    """How a template moves away from clusters that fail, and the state that moves with it."""

    evictions: tuple[EvictionTask, ...] = ()
    unhealthy: tuple[tuple[ClusterName, datetime], ...] = ()
    """Clusters that are ready while the object there is unhealthy, and since when; only if the policy asks for it."""
    preserved: tuple[tuple[ClusterName, Labels], ...] = ()
    """The part of each cluster's last known status that moves with the work: recorded before the cluster can fail."""
    injected: tuple[tuple[ClusterName, Labels], ...] = ()
    """State that came with a failover: labels on the object that took over, for as long as it is there."""
    cleared: tuple[ClusterName, ...] = ()
    """Clusters left with purgeMode Directly whose old object is certainly gone, or given up: the new one may start."""
    released: tuple[ClusterName, ...] = ()
    """Clusters with objects left behind by finished evictions: deleted as soon as the cluster can be reached."""

    @property
    def clusters_left(self) -> frozenset[ClusterName]:
        """Those that an eviction task names."""
        return frozenset(task.from_cluster for task in self.evictions)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Which objects of a template stay although nothing wants them there, and what wants them beside its policy."""

    preserve: bool = False
    """The policy in force said preserveResourcesOnDeletion: outlives template and policy."""
    kept: bool = False
    """The template had `gitfed.io/prune: disabled`: its objects outlive it, also in clusters that it had left before it
    got the annotation, where the object does not have it."""
    left_behind: tuple[ClusterName, ...] = ()
    """Clusters that it left while preserveResourcesOnDeletion was in force, sorted: the objects there stay for good,
    whatever the policy says later."""
    required_by: tuple[Dependent, ...] = ()
    """What takes this object along (Karmada: `spec.requiredBy`), sorted."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the state branch holds for one template: input of the next decision."""

    key: ObjectKey
    api_version: str
    scheduled: Scheduled = Scheduled()
    placement: Body | None = None
    """The placement that was in force (Karmada's annotation applied-placement)."""
    last_scheduled: datetime | None = None
    rescheduling: Rescheduling = Rescheduling()
    failover: FailoverState = FailoverState()
    ownership: Ownership = Ownership()
    scheduling_suspended: bool = False
    """Karmada's `spec.suspension.scheduling`: nothing is decided for it."""
    raw: Body | None = None
    """The document it was read from: unknown parts survive a rewrite."""

    @property
    def targets(self) -> tuple[Share, ...]:
        """Where it goes: its own clusters, and those where others need it."""
        if not self.ownership.required_by:
            return self.scheduled.shares
        here = self.scheduled.clusters
        more = {name for dependent in self.ownership.required_by for name in dependent.clusters} - here
        return (
            tuple(sorted((*self.scheduled.shares, *(Share(name) for name in more)))) if more else self.scheduled.shares
        )

    def may_be_in(self) -> set[ClusterName]:
        """Clusters that may hold its object: its targets, and those that it left while the object stays for now."""
        names = {share.cluster for share in self.targets}
        names.update(
            self.ownership.left_behind, self.failover.released, (task.from_cluster for task in self.failover.evictions)
        )
        return names.union(*(dependent.still_in for dependent in self.ownership.required_by))

    def without_shares(self, clusters: Collection[ClusterName]) -> Decision:
        """The same without its share of these."""
        shares = tuple(share for share in self.scheduled.shares if share.cluster not in clusters)
        return replace(self, scheduled=replace(self.scheduled, shares=shares))

    def with_left_behind(self, before: Decision | None, clusters: Iterable[ClusterName], *, preserve: bool) -> Decision:
        """The same with the clusters that it leaves by going to `clusters`. `preserve`: whether objects stay there."""
        left = {*(before.ownership.left_behind if before is not None else ())}
        if preserve and before is not None:
            left.update(share.cluster for share in before.targets)
        left_behind = tuple(sorted(left.difference(clusters)))
        return (
            self
            if left_behind == self.ownership.left_behind
            else replace(self, ownership=replace(self.ownership, left_behind=left_behind))
        )


@dataclass(frozen=True, slots=True)
class Decisions:
    """The state branch, read. `known` False: the state is missing or unreadable and must be rebuilt first."""

    bindings: Mapping[ObjectKey, Decision] = field(default_factory=lambda: MappingProxyType({}))
    applied_commit: Commit | None = None
    """The last commit that was rolled out; gate `history` compares with it."""
    limits: Commit | None = None
    """The last commit that was rolled out without a gate holding anything, if that is another one."""
    signatures: str = ""
    """Which commits `applied_commit` wants signed (`spec.sources.verify.commits`); "" if it was not recorded."""
    guards: Guards | None = None
    """The limits in force, where the commit being planned is not the one that says them
    (`reading.effective_guards`)."""
    descends: bool = True
    """Whether the commit being planned descends from `applied_commit` (found out by the Git edge)."""
    approvals: tuple[Approval, ...] = ()
    repository_id: str = ""
    known: bool = True
    problems: tuple[Problem, ...] = ()
    statuses: Mapping[ObjectKey, Body] = field(default_factory=lambda: MappingProxyType({}))
    """The last recorded status of each binding: `{aggregatedStatus, conditions}` (`BindingStatus.as_json`). No decision
    reads it."""
    unfinished: Mapping[ClusterName, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """Objects, by cluster, that were not written when the roll-out of `applied_commit` was over: refused, or waiting
    for others. "*" in place of too many."""
    holdings: Mapping[ClusterName, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many objects of ours a cluster held when it was last in use, also one that is not declared any more."""
    cleaned: frozenset[ClusterName] = frozenset()
    """Clusters that `gitfed unjoin` has emptied: nothing of a decision that names them is there."""
    clusters: Mapping[ClusterName, ClusterRecord] = field(default_factory=lambda: MappingProxyType({}))
    outage: Outage | None = None
    autoscalers: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    looks: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    """What the daemon concluded of the FederatedHPAs that it evaluated since the last plan. Not recorded as such."""
    suspensions: tuple[Suspension, ...] = ()
    doubtful: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    """Evictions that another program or an older gitfed wrote: they count only if the cluster bears them out. Never
    written to the branch."""
    removals: tuple[Removal, ...] = ()
    reconciliations: tuple[Reconciliation, ...] = ()
    held_plan: HeldPlan | None = None
    """None: no gate holds anything that a person could let through."""
    answers: Mapping[str, Body] = field(default_factory=dict, compare=False)
    """What webhooks answered when these decisions were made, by the digest of the question. Read lazily."""
    extra: Mapping[str, Any] = field(default_factory=dict)
