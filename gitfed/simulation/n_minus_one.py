"""What every cluster and every region would cost if it alone were gone for good: no clock, at most one plan each.

The plan is the daemon's, of clusters whose time to come back is over. A workload of which nothing is in what fails
loses nothing, and neither does one of which a whole copy is left: a plan may move that, or find no place for the lost
one, but it never takes away what cannot be replaced (`planning.fallback`). So only the others are planned, with what
they may go by. Where a quota, an affinity between workloads or dependencies tie templates together, all of them are.

How many may leave in one minute (`failover.maxEvictionsPerMinute`) does not matter to what is gone for good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import ClusterRecord, Decision, Decisions, TimedTaint
from gitfed.model.fleet import ClusterFacts, FleetSnapshot, Reach
from gitfed.model.keys import UNREACHABLE
from gitfed.model.plan import Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.scope import FEW
from gitfed.placement.failover.taints import FAILOVER, NO_EXECUTE
from gitfed.placement.scheduling import match
from gitfed.planning import build, contention
from gitfed.planning.lazy_manifests import LAZILY
from gitfed.planning.ordering import gate
from gitfed.planning.review import locality
from gitfed.simulation import capacity_loss, simulated_fleet
from gitfed.simulation.capacity_loss import Loss
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Propagation

_LONG = timedelta(days=3650)


def each(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    targets: Mapping[str, list[ClusterName]],
) -> Iterator[tuple[str, list[Loss]]]:
    """Of each target, named with its clusters, what it would cost; one after the other, for it may take a while."""
    now = now.replace(microsecond=0)
    failover = repo.settings.spec.failover.model_copy(update={"max_evictions_per_minute": None})
    spec = repo.settings.spec.model_copy(update={"failover": failover})
    repo = replace(repo, settings=repo.settings.model_copy(update={"spec": spec}))
    fleet = replace(fleet, live=None)
    planner = _Planner(interpreter, now, build.Memo(rendering=LAZILY))
    base = planner.plan(repo, fleet, replace(decisions, known=True, descends=True))
    recorded = gate.decisions_to_record(base, decisions, None)
    decisions = replace(
        decisions,
        known=True,
        descends=True,
        bindings=recorded,
        applied_commit=base.commit or None,
        clusters=base.records,
        outage=base.outage,
        autoscalers=base.scaling.records,
    )
    risks = _Risks(repo, fleet, decisions, base)
    for target, names in targets.items():
        at_risk = risks.of(names)
        if not at_risk:
            yield target, []
            continue
        gone = now - _LONG
        taint = TimedTaint(UNREACHABLE, NO_EXECUTE, "", gone, FAILOVER)
        records = {name: ClusterRecord(name, Reach.UNKNOWN, gone, "", (taint,)) for name in names}
        seen = {
            name: simulated_fleet.seen(fleet.clusters.get(name) or ClusterFacts(name), away=True, now=gone)
            for name in names
        }
        keys = risks.planned_with(at_risk)
        plan = planner.plan(
            repo if keys is None else _only(repo, keys),
            replace(fleet, clusters={**fleet.clusters, **seen}),
            replace(
                decisions,
                clusters={**decisions.clusters, **records},
                bindings=recorded if keys is None else {key: recorded[key] for key in recorded.keys() & keys},
            ),
        )
        yield target, [loss for loss in capacity_loss.of(plan, names, base.bindings) if loss.key in at_risk]


@dataclass(slots=True)
class _Planner:
    interpreter: Interpreter
    now: datetime
    memo: build.Memo

    def plan(self, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions) -> Plan:
        return build.build(repo, fleet, decisions, self.interpreter, self.now, self.memo)


def _only(repo: RepoSnapshot, keys: set[ObjectKey]) -> RepoSnapshot:
    return replace(
        repo, manifests={key: repo.manifests[key] for key in sorted(repo.manifests.keys() & keys)}, scope=FEW
    )


class _Risks:
    """Which workloads a failure may cost something, by where they are."""

    def __init__(self, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions, base: Plan) -> None:
        self._bindings = base.bindings
        self._directly = {match.ref(policy) for policy in repo.propagation if _waits_for_deletion(policy)}
        self._in: dict[ClusterName, set[ObjectKey]] = {}
        for key, binding in base.bindings.items():
            if binding.scheduled.policy is not None and key.kind != "Namespace":
                for share in binding.scheduled.shares:
                    self._in.setdefault(share.cluster, set()).add(key)
        self._gone_by = (
            None
            if _are_tied(repo)
            else {
                *(key for key in repo.manifests if key[:2] in locality.READ_BY_OTHERS),
                *(key for key, decision in decisions.bindings.items() if _is_in_flight(decision, fleet.facts.taken_at)),
            }
        )

    def of(self, names: Collection[ClusterName]) -> set[ObjectKey]:
        touched: set[ObjectKey] = set().union(*(self._in.get(name, ()) for name in names))
        return {key for key in touched if not self._is_safe(self._bindings[key], names)}

    def planned_with(self, at_risk: set[ObjectKey]) -> set[ObjectKey] | None:
        """Every template that has to be planned to see what becomes of these; None: all there are."""
        return None if self._gone_by is None else at_risk | self._gone_by

    def _is_safe(self, binding: Binding, names: Collection[ClusterName]) -> bool:
        """Whether a whole copy of it is left, whatever is planned for the lost one."""
        if binding.scheduled.policy in self._directly or binding.evictions:
            return False
        return any(
            share.replicas == binding.scheduled.replicas
            for share in binding.scheduled.shares
            if share.cluster not in names
        )


def _waits_for_deletion(policy: Propagation) -> bool:
    failover = policy.spec.failover
    return failover is not None and failover.cluster is not None and failover.cluster.purge_mode == "Directly"


def _are_tied(repo: RepoSnapshot) -> bool:
    """Whether the place of a template may depend on others beside the room that they take."""
    return bool(repo.quotas) or any(map(locality.ties, repo.propagation))


def _is_in_flight(decision: Decision, facts_taken: datetime | None) -> bool:
    """Whether the facts may not show yet what it takes of the room (`contention`)."""
    when = decision.last_scheduled
    return facts_taken is not None and when is not None and when > facts_taken - contention.IN_FLIGHT
