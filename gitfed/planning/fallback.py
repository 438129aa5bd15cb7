"""What holds where a template was not simply placed: no cluster fits, a quota refuses it, nothing is known.

One rule is ours and stands here: nothing fits → existing copies stay, said loudly. Nothing is ever deleted because it
could not be placed.
"""

from __future__ import annotations

from dataclasses import replace

from gitfed.model.base import Problem, Severity
from gitfed.model.decisions import Decision, Rejection, Scheduled, ScheduledCondition
from gitfed.model.plan import Binding, PlacementReasons
from gitfed.placement import damper
from gitfed.placement.scheduling import schedule
from gitfed.placement.scheduling.identity import binding_id
from gitfed.planning import record
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult, Selected
from gitfed.planning.record import Settlement

STOPPED = f"stopped: {damper.STOPPED}"
_NO_BETTER = "replicas that cannot run elsewhere do not fit here either"


def settled(asked: PlacementQuery, result: schedule.ScheduleResult) -> Settlement:
    """What holds in the end: the new answer, or the existing copies."""
    manifest, decision, by = asked.manifest, asked.decision, asked.directive.ref
    condition, observed = result.condition, result.affinity_name
    if result.shares is not None:
        if condition.status:
            return Settlement(result.shares, condition, result.rejections, observed)
        stay = ", ".join(share.cluster for share in result.shares)
        problem = Problem(
            manifest.origin,
            f"{manifest.key}: {result.condition.message}",
            hint=f"its copies stay in {stay}" if stay else f"it runs nowhere yet; placed by {by}",
            severity=Severity.WARNING,
        )
        why = "not decided: nothing moves"
        return Settlement(result.shares, condition, result.rejections, observed, why, (problem,))
    existing = decision.scheduled.shares if decision else ()
    message = f"{manifest.key}: {result.condition.message}"
    if not existing:
        problem = Problem(manifest.origin, message, hint=f"placed by {by}", severity=Severity.WARNING)
        return Settlement((), condition, result.rejections, observed, "no cluster fits", (problem,))
    where = ", ".join(share.cluster for share in existing)
    problem = Problem(manifest.origin, message, severity=Severity.WARNING, hint=f"its copies stay in {where}")
    kept = {share.cluster for share in existing}
    rejections = tuple(rejection for rejection in result.rejections if rejection.cluster not in kept)
    why = "no cluster fits: existing copies stay"
    return Settlement(existing, condition, rejections, observed, why, (problem,))


def unknown(
    selected: Selected, reason: str, *, ask_again: bool = False, held: str = "", cause: str = ""
) -> PlacementResult:
    """Nothing can be decided: the last decision stays."""
    manifest, directive, decision = selected.manifest, selected.directive, selected.decision
    shares = decision.scheduled.shares if decision else ()
    condition = ScheduledCondition(False, "SchedulerError", reason)
    where = ", ".join(share.cluster for share in shares)
    problem = Problem(
        manifest.origin,
        f"{manifest.key}: {reason}",
        severity=Severity.WARNING,
        cause=cause,
        hint=f"its copies stay in {where}" if where else "it runs nowhere yet",
    )
    return PlacementResult(
        Binding(
            binding_id(manifest.key),
            manifest.key,
            manifest.api_version,
            manifest.origin,
            replace(decision.scheduled if decision else Scheduled(), policy=directive.ref, condition=condition),
            directive.terms_of(divided=directive.placement.replica_scheduling_type == "Divided"),
            PlacementReasons("unknown: the last decision stays", losers=selected.losers),
            decision=decision,
            held=held,
        ),
        (problem,),
        ask_again,
    )


def stopped(selected: Selected, decision: Decision) -> PlacementResult:
    """A workload that was decided too often: its last decision stays, and every copy that there is."""
    bound = unknown(replace(selected, decision=decision), STOPPED, ask_again=True)
    (problem,) = bound.problems
    hint = (
        f"{problem.hint}, and no copy is deleted, until its files or a cluster's labels or taints change; "
        f"gitfed log {selected.manifest.key} tells what was decided"
    )
    binding = replace(
        bound.binding,
        scheduled=replace(bound.binding.scheduled, condition=decision.scheduled.condition),
        reasons=replace(bound.binding.reasons, why=STOPPED),
        keeps=STOPPED,
    )
    return PlacementResult(binding, (replace(problem, hint=hint),), ask_again=True)


def refused(asked: PlacementQuery, bound: PlacementResult, binder: Binder, message: str) -> PlacementResult:
    """The same template when a quota does not allow what was decided: nothing moves."""
    if asked.decision is not None and asked.decision.rescheduling.undone is not None:
        return _undone(asked, asked.decision.rescheduling.undone, binder)
    asked = replace(asked, decision=asked.before or asked.decision, before=None)
    shares = asked.decision.scheduled.shares if asked.decision else ()
    kept = {share.cluster for share in shares}
    condition = ScheduledCondition(False, "QuotaExceeded", message)
    problem = Problem(
        asked.manifest.origin,
        f"{asked.manifest.key}: {message}",
        severity=Severity.WARNING,
        hint="nothing moves until there is room in the quota",
    )
    rejections = tuple(Rejection(name, message) for name in sorted(binder.cluster_names() - kept))
    observed = asked.decision.scheduled.affinity_name if asked.decision else ""
    why = "a quota does not allow it"
    return record.bound(asked, binder, Settlement(shares, condition, rejections, observed, why, (problem,)))


def without_stuck(
    asked: PlacementQuery, trimmed: Decision, before: Decision, binder: Binder, room: schedule.AvailableCapacity
) -> PlacementResult:
    """Where replicas go that were taken back: facts may be minutes old, but that there is no node was seen just now."""
    left = {share.cluster: share.replicas for share in trimmed.scheduled.shares}
    full = {share.cluster: 0 for share in before.scheduled.shares if share.replicas != left[share.cluster]}
    result = schedule.schedule(asked.request, binder.candidates, {**room, **full}, binder.schedules.fits)
    if not result.condition.status or result.shares is None or result.shares == before.scheduled.shares:
        return _undone(asked, before, binder)
    parts = [
        f"{(share.replicas or 0) - (left[share.cluster] or 0)} in {share.cluster}"
        for share in before.scheduled.shares
        if share.cluster in full
    ]
    why = f"no node for {', '.join(parts)}: placed anew"
    new = Settlement(result.shares, result.condition, result.rejections, result.affinity_name, why)
    return record.bound(asked, binder, new)


def _undone(asked: PlacementQuery, before: Decision, binder: Binder) -> PlacementResult:
    """Replicas that cannot run were taken back, and there is no better place for them: they stay where they were.

    Karmada leaves them out instead; a pod that waits runs as soon as there is room, one that is gone does not.
    """
    kept = before.scheduled.clusters
    rejections = tuple(Rejection(name, _NO_BETTER) for name in sorted(binder.cluster_names() - kept))
    condition = before.scheduled.condition or schedule.SUCCESS
    stays = Settlement(before.scheduled.shares, condition, rejections, before.scheduled.affinity_name)
    return record.bound(replace(asked, decision=before, stands=True), binder, stays)


def stays(asked: PlacementQuery, before: Decision, result: schedule.ScheduleResult, binder: Binder) -> PlacementResult:
    """A workload that should leave a cluster, but that no other one can take: it stays, and that is said."""
    leaving = sorted(before.scheduled.clusters - {share.cluster for share in asked.request.previous})
    where = ", ".join(share.cluster for share in before.scheduled.shares)
    problem = Problem(
        asked.manifest.origin,
        f"{asked.manifest.key}: should leave {', '.join(leaving)}, and nothing can take it: {result.condition.message}",
        hint=f"its copies stay in {where}",
        severity=Severity.WARNING,
    )
    kept = before.scheduled.clusters
    rejections = tuple(rejection for rejection in result.rejections if rejection.cluster not in kept)
    asked = replace(asked, decision=before, before=None)
    why, observed = f"should leave {', '.join(leaving)}: nothing can take it", before.scheduled.affinity_name
    settlement = Settlement(before.scheduled.shares, result.condition, rejections, observed, why, (problem,))
    return record.bound(asked, binder, settlement)
