"""What follows from a decision for one template: its Binding in the plan, and what is to be remembered.

A decision that says the same as before *is* the one before, so that nothing is written for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitfed.model.base import Problem
from gitfed.model.decisions import Decision, Rejection, ScheduledCondition, Share
from gitfed.model.plan import Binding
from gitfed.placement.failover import state_preservation
from gitfed.placement.scheduling import reschedule, schedule
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult


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
        if last.binding.rejections == rejections:
            return last
        return last.with_rejections(rejections)
    manifest, directive, request = asked.manifest, asked.directive, asked.request
    replicas = request.replicas if request.is_workload and not request.components else None
    divided = request.is_workload and directive.divides and not request.components
    requirements = None if isinstance(request.requirements, schedule.NotAsked) else request.requirements
    shares = binder.schedules.shared.setdefault(settled.shares, settled.shares)
    # Karmada: one component is no set; and where sets were not counted, a target gets all there is without a list.
    listed = request.components if request.counts_sets and len(request.components) > 1 else ()
    each = tuple((str(part.get("name") or ""), int(part.get("replicas") or 0)) for part in listed) if listed else ()
    if asked.held and asked.decision is not None:
        record, each = asked.decision, asked.decision.each
    else:
        record = _record(asked, binder, replace(settled, shares=shares), replicas=replicas, each=each)
    leaves = "" if why else _leaves(asked)
    return PlacementResult(
        Binding(
            id=asked.identity,
            key=manifest.key,
            api_version=manifest.api_version,
            origin=manifest.origin,
            policy=directive.ref,
            shares=shares,
            replicas=replicas,
            condition=settled.condition,
            rejections=rejections,
            affinity_name=settled.affinity_name,
            requirements=requirements,
            components=request.components,
            each=each,
            losers=asked.losers,
            decision=record,
            why=why or leaves or (directive.how if divided else "every matching cluster"),
            leaves=bool(leaves),
            overwrite=directive.overwrite,
            preserve=directive.preserve,
            suspended=directive.suspended,
            propagates_deps=directive.propagates_deps,
            injected=record.injected,
            stateful=directive.stateful,
            divided=was_divided(record)
            if asked.held
            else divided and directive.placement.replica_scheduling_type == "Divided",
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
        and (binding.shares is settled.shares or binding.shares == settled.shares)
        and binding.condition == settled.condition
        and binding.affinity_name == settled.affinity_name
    )


def _record(
    asked: PlacementQuery,
    binder: Binder,
    settled: Settlement,
    *,
    replicas: int | None,
    each: tuple[tuple[str, int], ...],
) -> Decision:
    """What is to be remembered. A decision that stands was not taken now, whatever else is new in its record."""
    manifest, directive, decision = asked.manifest, asked.directive, asked.decision
    shares, condition, affinity = settled.shares, settled.condition, settled.affinity_name
    components = asked.request.components
    rebalancers = binder.rebalancers.get(manifest.key, ())
    if decision is None:
        return Decision(
            manifest.key,
            manifest.api_version,
            shares=shares,
            affinity_name=affinity,
            policy=directive.ref,
            placement=directive.recorded,
            replicas=replicas,
            components=components,
            each=each,
            last_scheduled=binder.now if condition.status else None,
            condition=condition,
            preserve=directive.preserve,
            rebalancers=rebalancers,
        )
    injects = directive.injects and binder.settings.gate("StatefulFailoverInjection")
    injected = state_preservation.injected(decision, shares, enabled=injects)
    if (
        decision.undone is None
        and decision.shares == shares
        and decision.condition == condition
        and decision.affinity_name == affinity
        and decision.replicas == replicas
        and decision.components == components
        and decision.each == each
        and decision.policy == directive.ref
        and decision.placement == directive.recorded
        and decision.preserve == directive.preserve
        and decision.rebalancers == rebalancers
        and decision.injected == injected
        and not reschedule.rescheduled(decision.reschedule_triggered, decision.last_scheduled)
    ):
        return decision
    scheduled = decision.last_scheduled if asked.stands else binder.now
    return replace(
        decision,
        api_version=manifest.api_version,
        shares=shares,
        affinity_name=affinity,
        policy=directive.ref,
        placement=directive.recorded,
        replicas=replicas,
        components=components,
        each=each,
        last_scheduled=scheduled if condition.status else decision.last_scheduled,
        condition=condition,
        preserve=directive.preserve,
        rebalancers=rebalancers,
        # Until the next decision that has another reason.
        descheduled=decision.descheduled if asked.stands or decision.undone is not None else None,
        undone=None,
        injected=injected,
    )


def _leaves(asked: PlacementQuery) -> str:
    """Why this decision is about leaving a cluster; "" when it is not."""
    if asked.before is None or asked.decision is None:
        return ""
    already = {task.from_cluster for task in asked.before.evictions}
    new = [task for task in asked.decision.evictions if task.from_cluster not in already]
    return "; ".join(f"leaves {task.from_cluster}: {task.raw.get('message')}" for task in new)
