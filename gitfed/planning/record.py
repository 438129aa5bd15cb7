"""What follows from a decision for one template: its Binding in the plan, and what is to be remembered.

A decision that says the same as before *is* the one before, so that nothing is written for it.
"""

from __future__ import annotations

from dataclasses import replace

from gitfed.model.base import Problem
from gitfed.model.decisions import Decision, Ownership, Rejection, Rescheduling, Scheduled, ScheduledCondition, Share
from gitfed.model.plan import Binding, PlacementReasons
from gitfed.placement.failover import state_preservation
from gitfed.placement.scheduling import reschedule
from gitfed.placement.scheduling.request import NotAsked
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Settlement:
    """Where a template goes in the end, and why not elsewhere."""

    shares: tuple[Share, ...]
    condition: ScheduledCondition
    rejections: tuple[Rejection, ...]
    affinity_name: str
    """The affinity term that was chosen; "" for none."""
    why: str = ""
    """What else it is than the policy says; "": nothing."""
    problems: tuple[Problem, ...] = ()


def bound(
    asked: PlacementQuery, binder: Binder, settled: Settlement, last: PlacementResult | None = None
) -> PlacementResult:
    """`last`: an answer to the very same, which is kept if it still says all of this."""
    rejections, why, problems = settled.rejections, settled.why, settled.problems
    if last is not None and not why and not problems and _still_says(last, asked, settled):
        if last.binding.reasons.rejections == rejections:
            return last
        return last.with_rejections(rejections)
    manifest, directive, request = asked.manifest, asked.directive, asked.request
    replicas = request.replicas if request.is_workload and not request.components else None
    divided = request.is_workload and directive.divides and not request.components
    requirements = None if isinstance(request.requirements, NotAsked) else request.requirements
    shares = binder.schedules.shared.setdefault(settled.shares, settled.shares)
    # Karmada: one component is no set; and where sets were not counted, a target gets all there is without a list.
    listed = request.components if request.counts_sets and len(request.components) > 1 else ()
    each = tuple((str(part.get("name") or ""), int(part.get("replicas") or 0)) for part in listed) if listed else ()
    kept = asked.decision if asked.held else None
    scheduled = Scheduled(
        shares,
        directive.ref,
        settled.affinity_name,
        replicas,
        request.components,
        kept.scheduled.each if kept is not None else each,
        settled.condition,
    )
    record = kept if kept is not None else _record(asked, binder, scheduled)
    if record.scheduled == scheduled:
        scheduled = record.scheduled
    leaves = "" if why else _leaves(asked)
    is_divided = divided and directive.placement.replica_scheduling_type == "Divided"
    return PlacementResult(
        Binding(
            asked.identity,
            manifest.key,
            manifest.api_version,
            manifest.origin,
            scheduled,
            directive.terms_of(divided=was_divided(record) if asked.held else is_divided),
            PlacementReasons(
                why or leaves or (directive.how if divided else "every matching cluster"),
                bool(leaves),
                rejections,
                asked.losers,
            ),
            requirements,
            record,
        ),
        problems,
    )


def was_divided(decision: Decision) -> bool:
    """Whether its clusters share the replicas, as far as the placement tells that was in force."""
    scheduling = (decision.placement or {}).get("replicaScheduling") or {}
    return bool(scheduling.get("replicaSchedulingType") == "Divided")


def _still_says(last: PlacementResult, asked: PlacementQuery, settled: Settlement) -> bool:
    """Whether nothing but the reasons of clusters that are not chosen can be others: nothing is to be recorded, and
    nothing was wrong. What else a binding says follows from the template and its policy."""
    binding = last.binding
    return (
        binding.decision is asked.decision
        and not last.problems
        and (binding.scheduled.shares is settled.shares or binding.scheduled.shares == settled.shares)
        and binding.scheduled.condition == settled.condition
        and binding.scheduled.affinity_name == settled.affinity_name
    )


def _record(asked: PlacementQuery, binder: Binder, scheduled: Scheduled) -> Decision:
    """What is to be remembered. A decision that stands was not taken now, whatever else is new in its record."""
    manifest, directive, decision = asked.manifest, asked.directive, asked.decision
    succeeded = scheduled.condition is not None and scheduled.condition.status
    rebalancers = binder.rebalancers.get(manifest.key, ())
    if decision is None:
        return Decision(
            manifest.key,
            manifest.api_version,
            scheduled,
            directive.recorded,
            binder.now if succeeded else None,
            Rescheduling(rebalancers=rebalancers),
            ownership=Ownership(preserve=directive.terms.preserve),
        )
    before = decision.rescheduling
    injects = directive.injects and binder.settings.gate("StatefulFailoverInjection")
    injected = state_preservation.injected(decision, scheduled.shares, enabled=injects)
    if (
        before.undone is None
        and decision.scheduled == scheduled
        and decision.placement == directive.recorded
        and decision.ownership.preserve == directive.terms.preserve
        and before.rebalancers == rebalancers
        and decision.failover.injected == injected
        and not reschedule.rescheduled(before.triggered, decision.last_scheduled)
    ):
        return decision
    decided = decision.last_scheduled if asked.stands else binder.now
    return replace(
        decision,
        api_version=manifest.api_version,
        scheduled=scheduled,
        placement=directive.recorded,
        last_scheduled=decided if succeeded else decision.last_scheduled,
        rescheduling=replace(
            before,
            rebalancers=rebalancers,
            # Until the next decision that has another reason.
            descheduled=before.descheduled if asked.stands or before.undone is not None else None,
            undone=None,
        ),
        failover=replace(decision.failover, injected=injected),
        ownership=replace(decision.ownership, preserve=directive.terms.preserve),
    )


def _leaves(asked: PlacementQuery) -> str:
    """Why this decision is about leaving a cluster; "" when it is not."""
    if asked.before is None or asked.decision is None:
        return ""
    already = asked.before.failover.clusters_left
    new = [task for task in asked.decision.failover.evictions if task.from_cluster not in already]
    return "; ".join(f"leaves {task.from_cluster}: {task.raw.get('message')}" for task in new)
