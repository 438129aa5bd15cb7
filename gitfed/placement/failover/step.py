"""★ When clusters or workloads fail: (facts, decisions, policies, now) → decisions, and when to look again.

    taints              clusters that are not ready for too long, or that a person or a policy marked, get taints
    tolerations         how long each workload puts up with them
    eviction            which workloads leave, with a task each; which tasks are over
    damper              which workloads stay because they moved too often for no reason
    eviction_rate       how many of them in one minute, where the settings limit that
    state_preservation  what of a workload's state goes with it

A build begins with this step; `schedule` then places what lost its cluster. Whether it finds a cluster is not known
here: `FailoverStep.before` is the decision that stands if it does not (`planning.bind`). Nothing here waits or
remembers: the daemon, a plan in a pull request and `gitfed simulate` take the same step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from operator import attrgetter

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import ClusterRecord, Decision, Decisions, Outage, PolicyRef, Share
from gitfed.model.declared.federation import Federation
from gitfed.model.declared.placement import Toleration
from gitfed.model.declared.policy import Propagation
from gitfed.model.fleet import FleetSnapshot, LiveObject
from gitfed.model.repo import RepoSnapshot
from gitfed.placement import damper
from gitfed.placement.failover import eviction, eviction_rate, foreign_evictions, state_preservation, taints
from gitfed.placement.failover import tolerations as tolerate
from gitfed.placement.failover.failover_context import FailoverContext, StatusReader
from gitfed.placement.failover.taints import NO_EXECUTE
from gitfed.placement.scheduling import cluster, match
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

_CLUSTER = attrgetter("cluster")
"""A loop in C: a million shares are looked at whenever a cluster of a large fleet fails."""
_NOTHING: Mapping[ClusterName, LiveObject] = {}
_UNBACKED = (
    "its eviction from {cluster} is left out: the state branch has it, and no taint, failure or order is behind it"
)


@dataclass(frozen=True, slots=True)
class FailoverStep:
    """The decisions after the step. A decision that did not change is the same object."""

    decisions: Decisions
    before: Mapping[ObjectKey, Decision]
    """The decision that stands for a workload with new evictions if no cluster is found for it."""
    problems: Mapping[ObjectKey, tuple[str, ...]]
    """By workload, what the plan reports as problems."""
    candidates: tuple[Candidate, ...]
    """The clusters with their taints."""
    inputs: damper.Inputs
    """What decisions are taken from, for `damper`."""
    said: tuple[str, ...]
    """What became of clusters, as sentences for the record."""
    eased: frozenset[str] = frozenset()
    """Those of `said` that end a restriction on where work may go."""
    cut_off: bool = False
    paced: int = 0
    """Workloads that wait for their turn to leave (`eviction_rate`)."""
    look_again: datetime | None = None
    doubtful: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    """Evictions that another writer put on the state branch, for which it is not known yet whether a taint, a failure
    or an order is behind them."""
    stopped: frozenset[ObjectKey] = frozenset()
    """Workloads that were decided too often for the same inputs: they are left as they are (`damper`)."""

    @property
    def records(self) -> Mapping[ClusterName, ClusterRecord]:
        return self.decisions.clusters

    @property
    def outage(self) -> Outage | None:
        return self.decisions.outage


def step(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    clusters: tuple[Candidate, ...],
    policies: match.Index,
    reader: StatusReader,
    now: datetime,
) -> FailoverStep:
    """What follows from `now`; nothing while the state is not known. `clusters`: those without recorded taints."""
    if not decisions.known:
        clusters = marked(clusters, decisions.clusters, decisions.outage, repo, now)
        return FailoverStep(decisions, {}, {}, clusters, damper.Inputs(repo, policies, clusters), ())
    now = now.replace(microsecond=0)  # as it will be read back: what is decided must not change by being written
    settings = repo.settings
    candidates = {candidate.name: candidate for candidate in clusters}
    tainted = taints.of(repo, fleet.clusters, candidates, decisions, now)
    repelling = frozenset(
        name for name, record in tainted.records.items() if any(taint.effect == NO_EXECUTE for taint in record.taints)
    )
    scene = FailoverContext(
        tainted=tainted,
        repelling=repelling,
        declared=frozenset(candidates),
        clusters=fleet.live.clusters if fleet.live is not None else {},
        settings=settings.spec.failover,
        active=settings.spec.failover.enabled and settings.gate("Failover"),
        injects=settings.gate("StatefulFailoverInjection"),
        graceful=settings.gate("GracefulEviction"),
        reader=reader,
        now=now,
    )
    clusters = marked(clusters, tainted.records, tainted.outage, repo, now)
    inputs = damper.Inputs(repo, policies, clusters)
    stopped = frozenset(
        key
        for key, decision in decisions.bindings.items()
        if decision.rescheduling.repeats and damper.is_stopped(decision, inputs)
    )
    placed_by = _Policies(repo)
    bindings: dict[ObjectKey, Decision] = {}
    before: dict[ObjectKey, Decision] = {}
    problems: dict[ObjectKey, tuple[str, ...]] = {}
    later = [tainted.look_again] if tainted.look_again is not None else []
    results: list[tuple[ObjectKey, Decision, eviction.EvictionResult]] = []
    # Whether work is in a cluster with a taint that drives work out; many workloads have the same shares.
    is_repelled = IdentityMemo[tuple[Share, ...], bool](lambda shares: not repelling.isdisjoint(map(_CLUSTER, shares)))
    believed, dropped, doubtful = _settled_doubts(decisions, placed_by, fleet, scene, settings)
    for key, names in dropped.items():
        problems[key] = tuple(_UNBACKED.format(cluster=name) for name in names)
    for key, decision in believed.items():
        if decision is not decisions.bindings[key]:
            bindings[key] = decision
        if (
            key in stopped
            or (repo.unread and repo.why_undecided(key))
            or not (
                decision.failover.evictions
                or decision.failover.released
                or decision.failover.cleared
                or (repelling and is_repelled(decision.scheduled.shares))
                or (placed_by.watching and decision.scheduled.policy in placed_by.watching)
            )
        ):
            continue
        policy = placed_by.of(decision.scheduled.policy)
        if policy is None:
            continue
        copies = fleet.live.objects.get(key, _NOTHING) if fleet.live is not None else _NOTHING
        result = eviction.advance(decision, policy, placed_by.tolerations(policy), copies, scene)
        results.append((key, decision, result))
        if result.problems:
            problems[key] = (*problems.get(key, ()), *result.problems)
        if result.look_again is not None:
            later.append(result.look_again)
    limit = settings.spec.failover.max_evictions_per_minute
    pacing = eviction_rate.Pace(limit, (result.settled for _, _, result in results), now)
    for key, decision, result in results:
        if result.moved is not None and pacing.admits(result.settled, result.moved):
            bindings[key], before[key] = result.moved, result.settled
        elif result.settled is not decision:
            bindings[key] = result.settled
    if pacing.look_again is not None:
        later.append(pacing.look_again)
    after = decisions
    if bindings:
        after = replace(after, bindings={**decisions.bindings, **bindings})
    if tainted.records != decisions.clusters or tainted.outage != decisions.outage:
        after = replace(after, clusters=tainted.records, outage=tainted.outage)
    return FailoverStep(
        after,
        before,
        problems,
        clusters,
        inputs,
        (*tainted.said, *(f"{key}: {text}" for key in dropped for text in problems[key])),
        eased=tainted.eased,
        doubtful=doubtful,
        cut_off=tainted.cut_off,
        paced=pacing.held,
        look_again=min(later, default=None),
        stopped=stopped,
    )


def _settled_doubts(
    decisions: Decisions, placed_by: _Policies, fleet: FleetSnapshot, scene: FailoverContext, settings: Federation
) -> tuple[Mapping[ObjectKey, Decision], dict[ObjectKey, list[ClusterName]], frozenset[tuple[ObjectKey, ClusterName]]]:
    """The decisions without evictions that nothing is behind, which those were, and which cannot be told yet."""
    dropped: dict[ObjectKey, list[ClusterName]] = {}
    doubtful: set[tuple[ObjectKey, ClusterName]] = set()
    corrected: dict[ObjectKey, Decision] = {}
    for key, name in sorted(decisions.doubtful):
        decision = corrected.get(key) or decisions.bindings.get(key)
        if decision is None or all(task.from_cluster != name for task in decision.failover.evictions):
            continue
        policy = placed_by.of(decision.scheduled.policy)
        tolerations = placed_by.tolerations(policy) if policy is not None else ()
        copies = fleet.live.objects.get(key, _NOTHING) if fleet.live is not None else _NOTHING
        backed = foreign_evictions.is_backed(decision, name, tolerations, copies, scene)
        if backed is None:
            doubtful.add((key, name))
        elif not backed:
            corrected[key] = foreign_evictions.without(decision, name, copies)
            dropped.setdefault(key, []).append(name)
    believed = {**decisions.bindings, **corrected} if corrected else decisions.bindings
    return believed, dropped, frozenset(doubtful)


def marked(
    clusters: tuple[Candidate, ...],
    records: Mapping[ClusterName, ClusterRecord],
    outage: Outage | None,
    repo: RepoSnapshot,
    now: datetime,
) -> tuple[Candidate, ...]:
    """The clusters with the taints that are on record beside those of their files, and with the tolerations whose time
    is over there."""
    tolerations = {policy.spec.placement.cluster_tolerations or () for policy in repo.propagation}
    ending = [entries for entries in tolerations if any(part.toleration_seconds is not None for part in entries)]
    result = []
    for candidate in clusters:
        record = records.get(candidate.name)
        if record is not None:
            lasting = (taints.effective(taint, record, outage) for taint in record.taints)
            outlived = tolerate.outlived(lasting, ending, repo.settings.spec.failover, now)
            candidate = cluster.with_taints(candidate, record.taints, outlived)
        result.append(candidate)
    return tuple(result)


class _Policies:
    """The policies of a commit by reference, with what is often read of each."""

    def __init__(self, repo: RepoSnapshot) -> None:
        self._settings = repo.settings
        self._by_ref = {match.ref(policy): policy for policy in repo.propagation}
        self.tolerations = IdentityMemo(self._tolerations)
        self.watching = frozenset(ref for ref, policy in self._by_ref.items() if self._watches(policy))
        """Those whose workloads are looked at even while nothing is wrong."""

    def of(self, ref: PolicyRef | None) -> Propagation | None:
        """The policy that placed a workload. A deleted policy evicts nothing: what it placed stays, orphaned."""
        return self._by_ref.get(ref) if ref is not None else None

    @staticmethod
    def _watches(policy: Propagation) -> bool:
        failover = policy.spec.failover
        return failover is not None and (
            failover.application is not None or state_preservation.of_cluster(policy) is not None
        )

    def _tolerations(self, policy: Propagation) -> tuple[Toleration, ...]:
        declared = policy.spec.placement.cluster_tolerations or ()
        return tolerate.with_defaults(declared, self._settings.spec.failover)
