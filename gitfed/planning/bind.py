"""One template → its Binding: policy, replicas, clusters, reasons, and what is to be remembered.

This is where the pure packages meet: `placement.scheduling.match` says whose template it is, the interpreter how many
replicas it wants, `placement.scheduling.schedule` where they go. It happens in two steps, because templates share the
room of clusters: `ask` finds out all that can be known of one template alone, `answer` decides when it is its turn
(`contention`).

What holds where that gives no new place is `fallback`'s question, what is written down `record`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from gitfed.interpret import defaults
from gitfed.interpret.registry import Operation, Unknown
from gitfed.model.base import Body, ClusterName
from gitfed.model.decisions import Decision, PolicyRef, Scheduled, Share
from gitfed.model.declared.policy import Placement
from gitfed.model.plan import Binding, PlacementReasons
from gitfed.model.repo import Manifest
from gitfed.placement.capacity import allowance, estimate
from gitfed.placement.scheduling import affinity, divide, rebalance, reschedule, schedule, strategy, weights
from gitfed.placement.scheduling.filter_cache import NO_WEIGHT
from gitfed.placement.scheduling.identity import binding_id
from gitfed.placement.scheduling.request import PlacementRequest
from gitfed.planning import fallback, record
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult, Selected
from gitfed.planning.objects import prune
from gitfed.planning.record import Settlement
from gitfed.planning.schedule_cache import ALONE, Asks, Others, PlacementComparison
from gitfed.render import namespaces
from gitfed.text import canonical

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Propagation

EVERYWHERE = PolicyRef("Namespace", "", "auto-propagation")
"""What stands in place of a policy for a Namespace that goes everywhere by itself (Karmada: policies §2.7)."""
IMPLIED = PolicyRef("Namespace", "", "implied")
"""The same for a Namespace that no file declares: it goes where its content goes."""
ASSIGNED = PolicyRef("FederatedResourceQuota", "", "staticAssignments")
"""The same for a ResourceQuota that a federated one assigns to a cluster."""
_STANDS = "the decision stands: a divided workload moves only when its placement or replicas change"
_AS_BEFORE = "as before: a gate holds the next decision"
_HELD = "a gate holds the next decision"


Room: TypeAlias = Callable[[], schedule.AvailableCapacity]


def ask(manifest: Manifest, decision: Decision | None, binder: Binder) -> PlacementQuery | PlacementResult:
    """What is to be decided for a template, or at once its place where there is nothing to decide."""
    if namespaces.propagates(manifest, binder.settings):
        everywhere = tuple(Share(candidate.name) for candidate in binder.candidates)
        shares = binder.schedules.shared.setdefault(everywhere, everywhere)
        return PlacementResult(
            Binding(
                binding_id(manifest.key),
                manifest.key,
                manifest.api_version,
                manifest.origin,
                Scheduled(shares, EVERYWHERE),
                reasons=PlacementReasons(why="every cluster"),
            )
        )
    match = binder.policies.best(manifest)
    if match.policy is None:
        return PlacementResult(
            Binding(
                binding_id(manifest.key),
                manifest.key,
                manifest.api_version,
                manifest.origin,
                Scheduled(),
                decision=binder.before.get(manifest.key) or decision,
                reasons=PlacementReasons(why="no policy selects it"),
            )
        )
    return _ask(match.policy, match.losers, manifest, decision, binder)


def implied(
    manifest: Manifest, clusters: tuple[str, ...], by: PolicyRef = IMPLIED, why: str = "where its content goes"
) -> PlacementResult:
    """What no file declares but must be there: a Namespace where something goes inside it."""
    shares = tuple(Share(name) for name in clusters)
    return PlacementResult(
        Binding(
            binding_id(manifest.key),
            manifest.key,
            manifest.api_version,
            manifest.origin,
            Scheduled(shares, by),
            reasons=PlacementReasons(why=why),
        )
    )


def _ask(
    policy: Propagation, losers: tuple[PolicyRef, ...], manifest: Manifest, decision: Decision | None, binder: Binder
) -> PlacementQuery | PlacementResult:
    directive = binder.schedules.directive(policy)
    selected = Selected(manifest, directive, losers, decision)
    placement = directive.placement
    if missing := binder.missing_override(policy):
        # Without it the manifests would be others than those that were meant: nothing is written either.
        return fallback.unknown(selected, missing, held=missing)
    unread, unwritten = binder.why_unread(manifest.key, decision)
    if unread:
        whole = decision.rescheduling.undone or decision if decision is not None else None
        # That a copy is never to be deleted is taken back together with where it goes, or a cluster that the template
        # leaves would lose it.
        released = decision is not None and decision.ownership.kept and not prune.is_kept(manifest.body)
        held = unread if unwritten or released else ""
        return fallback.unknown(replace(selected, decision=whole), unread, held=held, cause=unread)
    if broken := binder.broken.get(manifest.key):
        bound = fallback.unknown(selected, broken, held=broken)
        return replace(bound, problems=())  # rendering tells what is wrong, and where
    if suspended := binder.why_suspended(manifest.key, decision):
        return fallback.unknown(selected, suspended)
    if manifest.key in binder.stopped and decision is not None:
        return fallback.stopped(selected, decision.rescheduling.undone or decision)
    before = binder.before.get(manifest.key)
    standing = before or decision
    selected = selected if before is None else replace(selected, decision=before)
    waits = standing is not None and manifest.key in binder.undecided
    if standing is not None and waits:
        decision, before = standing.rescheduling.undone or standing, None
    else:
        decision = rebalance.triggered(decision, binder.rebalancers.get(manifest.key, ()), binder.now)
    body, identity = defaults.filled_in(manifest.body), binding_id(manifest.key)
    replicas, requirements = 0, None
    components: tuple[Body, ...] = ()
    if binder.settings.gate("MultiplePodTemplatesScheduling") and binder.interpreter.handles(body, Operation.COMPONENT):
        parts = binder.interpreter.components(body)
        if isinstance(parts, Unknown):
            return _unknown(selected, parts)
        components = parts.value
    if not components:
        answer = binder.interpreter.replicas(body)
        if isinstance(answer, Unknown):
            return _unknown(selected, answer)
        replicas, requirements = answer.value
    if replicas < 0:
        return fallback.unknown(selected, f"{replicas} replicas are asked for")
    if decision is not None and waits:
        decision = _at_size(decision, replicas)
        replicas, components = (
            replicas if decision.scheduled.replicas is None else decision.scheduled.replicas,
            decision.scheduled.components,
        )
    shape = canonical.digest(components or requirements) if replicas or requirements is not None or components else ""
    unreadable = binder.schedules.unreadable
    if shape not in unreadable:
        unreadable[shape] = estimate.why_not(requirements, components)
    if reason := unreadable[shape]:
        return fallback.unknown(selected, reason)
    request = PlacementRequest(
        placement=placement,
        api_version=manifest.api_version,
        kind=manifest.key.kind,
        replicas=replicas,
        is_workload=replicas > 0 or requirements is not None or bool(components),
        requirements=requirements,
        space=allowance.space_of(manifest.body, manifest.key.namespace),
        components=components,
        previous=decision.scheduled.shares if decision else (),
        evicting=decision.failover.clusters_left if decision else frozenset(),
        observed_affinity=decision.scheduled.affinity_name if decision else "",
        uid=(manifest.body.get("metadata") or {}).get("uid") or identity,
        fresh=bool(decision and reschedule.rescheduled(decision.rescheduling.triggered, decision.last_scheduled)),
        empty_propagation=binder.settings.spec.scheduling.empty_workload_propagation,
        form=directive.form,
    )
    group, apart = "", ""
    if placement.workload_affinity is not None and binder.settings.gate("WorkloadAffinity"):
        group, apart = affinity.groups(placement.workload_affinity, manifest)
    stands = waits or (before is None and _stands(placement, decision, request, binder))
    asks = binder.schedules.number(_asks(request, shape))
    return PlacementQuery(
        manifest, decision, directive, losers, request, shape, identity, stands, group, apart, before, waits, asks
    )


def _at_size(decision: Decision, replicas: int) -> Decision:
    """The same where every cluster has the whole number: the template says how many, and no gate counts that."""
    before = decision.scheduled
    if before.replicas in (None, replicas) or any(share.replicas != before.replicas for share in before.shares):
        return decision
    if record.was_divided(decision):
        return decision
    shares = tuple(share._replace(replicas=replicas) for share in before.shares)
    return replace(decision, scheduled=replace(before, shares=shares, replicas=replicas))


def _asks(request: PlacementRequest, shape: str) -> Asks:
    return Asks(
        id(request.placement),
        request.api_version,
        request.kind,
        request.replicas,
        request.is_workload,
        request.previous,
        request.evicting,
        request.observed_affinity,
        divide.names_descend(request.uid),
        request.fresh,
        shape if request.needs_room else "",
    )


def _unknown(selected: Selected, answer: Unknown) -> PlacementResult:
    return fallback.unknown(selected, answer.reason, ask_again=not answer.permanent, cause=answer.cause)


def answer(
    asked: PlacementQuery,
    binder: Binder,
    room: Room = dict,
    others: Others = ALONE,
    reads: tuple[ClusterName, ...] = (),
    last: PlacementResult | None = None,
) -> PlacementResult:
    """Where the template goes. `room` is asked only if the same was not asked before with the same history of the
    clusters that it `reads`; it is another one for each space. `last`: what was answered to the same, when clusters,
    room or others were not as they are now."""
    request, schedules, decision = asked.request, binder.schedules, asked.decision
    others = others if request.needs_room else others._replace(space=allowance.ANYWHERE)
    question = PlacementComparison(asked.asks, *others)
    if asked.held:
        assert decision is not None
        stood = decision.scheduled
        chosen = [share.cluster for share in stood.shares]
        elsewhere = schedules.fits.in_use(request, binder.candidates).rejections(chosen, _HELD)
        condition = stood.condition or schedule.SUCCESS
        settled = Settlement(stood.shares, condition, elsewhere, stood.affinity_name, _AS_BEFORE)
        return record.bound(asked, binder, settled)
    if asked.stands:
        assert decision is not None
        stands = decision.scheduled
        assert stands.condition is not None
        rejections = schedules.standing.get(question)
        if rejections is None:
            split = schedules.fits.in_use(request, binder.candidates)
            without: dict[str, str] = {}
            if strategy.of(request.placement) is strategy.Strategy.STATIC:
                # Whatever is decided anew, it gets nothing.
                listed = weights.static(request.placement, split.fitting)
                without = dict.fromkeys((name for name in split.names if name not in listed), NO_WEIGHT)
            rejections = split.rejections([share.cluster for share in stands.shares], _STANDS, without)
            schedules.standing[question] = rejections
        settled = Settlement(stands.shares, stands.condition, rejections, stands.affinity_name)
        return record.bound(asked, binder, settled, last)
    if decision is not None and decision.rescheduling.undone is not None:
        return fallback.without_stuck(asked, decision, decision.rescheduling.undone, binder, room())
    if request.needs_room:
        cached = schedules.by_room.get(question)
        result = cached[0] if cached is not None else None
    else:
        result = schedules.answers.get(question)
    if result is None:
        if others.beside is not None or others.away_from:
            request = replace(request, beside=others.beside, away_from=others.away_from)
        needs_room = request.needs_room
        result = schedule.schedule(request, binder.candidates, room() if needs_room else {}, schedules.fits)
        if result.shares is not None:
            result = replace(result, shares=schedules.shared.setdefault(result.shares, result.shares))
        if needs_room:
            schedules.by_room[question] = result, reads
        else:
            schedules.answers[question] = result
    if asked.before is not None and not result.condition.status:
        return fallback.stays(asked, asked.before, result, binder)
    return record.bound(asked, binder, fallback.settled(asked, result), last)


def _stands(placement: Placement, decision: Decision | None, request: PlacementRequest, binder: Binder) -> bool:
    if decision is None or decision.scheduled.condition is None or not decision.scheduled.condition.status:
        return False
    if request.components and not decision.scheduled.shares:
        return False
    changed = binder.schedules.placement_changed(placement, decision.placement, decision.scheduled.affinity_name)
    reason = reschedule.why(
        placement,
        decision,
        changed=changed,
        replicas=request.replicas,
        is_workload=request.is_workload,
        clusters=binder.cluster_names(),
    )
    return reason is None
