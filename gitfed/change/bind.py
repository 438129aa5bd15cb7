"""One template → its Binding: policy, replicas, clusters, reasons, and what is to be remembered.

This is where the pure packages meet: `placement.match` says whose template it is, the interpreter how many replicas
it wants, `placement.schedule` where they go. It happens in two steps, because templates share the room of clusters:
`ask` finds out all that can be known of one template alone, `answer` decides when it is its turn (`turns`).

Two rules are ours and stand here: nothing fits → existing copies stay, said loudly; and a decision that says the same
as before *is* the one before, so that nothing is written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from gitfed.change.schedules import Question, Schedules
from gitfed.interpret import defaults
from gitfed.interpret.registry import Interpreter, Operation, Unknown
from gitfed.model.base import BindingId, Body, ClusterName, ObjectKey, Problem, Severity
from gitfed.model.decisions import Decision, PolicyRef, Rejection, ScheduledCondition, Share
from gitfed.model.declared.policy import Placement
from gitfed.model.orders import EVERYTHING, Suspension
from gitfed.model.plan import Binding
from gitfed.model.repo import Manifest
from gitfed.placement import affinity, allowance, divide, due, estimate, match, preserve, rebalance, schedule, strategy
from gitfed.placement.allowance import Space
from gitfed.placement.cluster import Candidate
from gitfed.placement.identity import binding_id
from gitfed.render import namespaces
from gitfed.text import canonical

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Federation
    from gitfed.model.declared.policy import Propagation

EVERYWHERE = PolicyRef("Namespace", "", "auto-propagation")
"""What stands in place of a policy for a Namespace that goes everywhere by itself (Karmada: policies §2.7)."""
IMPLIED = PolicyRef("Namespace", "", "implied")
"""The same for a Namespace that no file declares: it goes where its content goes."""
ASSIGNED = PolicyRef("FederatedResourceQuota", "", "staticAssignments")
"""The same for a ResourceQuota that a federated one assigns to a cluster."""
_HOW = {how: f"divided by {how.value}" for how in strategy.Strategy} | {
    strategy.Strategy.DUPLICATED: "copied to each cluster"
}
_NO_BETTER = "replicas that cannot run elsewhere do not fit here either"
_STANDS = "the decision stands: a divided workload moves only when its placement or replicas change"


@dataclass(frozen=True, slots=True)
class Standing:
    """What may keep templates from being decided at all. The same object while it is equal."""

    overrides: frozenset[tuple[str, str, str]] = frozenset()
    """(kind, namespace, name) of every override policy: a policy may wait for some (`dependentOverrides`)."""
    suspensions: tuple[Suspension, ...] = ()


@dataclass(frozen=True, slots=True)
class Binder:
    """What all templates of one build have in common."""

    policies: match.Index
    candidates: tuple[Candidate, ...]
    interpreter: Interpreter
    schedules: Schedules
    settings: Federation
    now: datetime
    rebalancers: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    """Who asks for which template to be placed anew."""
    before: Mapping[ObjectKey, Decision] = field(default_factory=dict)
    """Of templates that are to leave a cluster: what stands if nothing can take them (`placement.failover`)."""
    standing: Standing = field(default_factory=lambda: Standing())
    names: frozenset[str] = frozenset()
    """Of all clusters; the same object while there are the same ones."""

    def missing_override(self, policy: Propagation) -> str:
        """Why a policy has to wait for an override (Karmada: dependentOverrides); "" when it has not to."""
        kind = "ClusterOverridePolicy" if policy.is_cluster_wide else "OverridePolicy"
        for name in policy.spec.dependent_overrides:
            if (kind, policy.metadata.namespace, name) not in self.standing.overrides:
                return f"{match.ref(policy)} waits for the {kind} {name}, which does not exist"
        return ""

    def why_suspended(self, key: ObjectKey, decision: Decision | None) -> str:
        """Why nothing is to be decided for a template now; "" when something may be."""
        for one in self.standing.suspensions:
            if one.scheduling and one.of in (EVERYTHING, str(key)):
                return str(one)
        if decision is not None and decision.scheduling_suspended:
            return "scheduling is suspended on its binding"
        return ""


@dataclass(frozen=True, slots=True)
class Bound:
    binding: Binding
    problems: tuple[Problem, ...] = ()
    ask_again: bool = False
    """A rule gave no answer this time; it may the next time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A template that a policy places, with all that can be known before it is its turn."""

    manifest: Manifest
    decision: Decision | None
    policy: Propagation
    losers: tuple[PolicyRef, ...]
    request: schedule.Request
    """But for what others take and where they are."""
    shape: str
    """Digest of what one replica, or one set of components, needs; "" for what is no workload."""
    identity: BindingId
    stands: bool
    """The previous decision holds; nothing is decided anew."""
    group: str = ""
    """Its workload affinity group, `<label key>=<value>`; "" for none."""
    apart: str = ""
    """Its anti-affinity group."""
    before: Decision | None = None
    """`decision` has new evictions; this is the one without, which stands if no place is found."""

    @property
    def waits(self) -> bool:
        """Whether the answer depends on what is decided for other templates."""
        return not self.stands and (self.request.needs_room or bool(self.group) or bool(self.apart))


Room: TypeAlias = Callable[[], schedule.Room]


def ask(manifest: Manifest, decision: Decision | None, binder: Binder) -> Asked | Bound:
    """What is to be decided for a template, or at once its place where there is nothing to decide."""
    if namespaces.propagates(manifest, binder.settings):
        shares = _shared(binder.schedules, tuple(Share(candidate.name) for candidate in binder.candidates))
        return Bound(
            Binding(
                binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, EVERYWHERE, shares,
                None, None, why="every cluster",
            )
        )  # fmt: skip
    found = binder.policies.best(manifest)
    if found.policy is None:
        return Bound(
            Binding(
                binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, None, (), None, None,
                decision=binder.before.get(manifest.key) or decision, why="no policy selects it",
            )
        )  # fmt: skip
    return _ask(found.policy, found.losers, manifest, decision, binder)


def implied(manifest: Manifest, clusters: tuple[str, ...], by: PolicyRef = IMPLIED) -> Bound:
    """What no file declares but must be there: a Namespace where something goes inside it."""
    shares = tuple(Share(name) for name in clusters)
    return Bound(
        Binding(
            binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, by, shares, None, None,
            why="where its content goes" if by is IMPLIED else "assigned to single clusters",
        )
    )  # fmt: skip


def _ask(
    policy: Propagation, losers: tuple[PolicyRef, ...], manifest: Manifest, decision: Decision | None, binder: Binder
) -> Asked | Bound:
    placement = policy.spec.placement
    if missing := binder.missing_override(policy):
        # Without it the manifests would be others than those that were meant: nothing is written either.
        return _unknown(policy, losers, manifest, decision, missing, held=missing)
    if suspended := binder.why_suspended(manifest.key, decision):
        return _unknown(policy, losers, manifest, decision, suspended)
    before = binder.before.get(manifest.key)
    decision = rebalance.triggered(decision, binder.rebalancers.get(manifest.key, ()), binder.now)
    standing = before or decision
    body, identity = defaults.filled_in(manifest.body), binding_id(manifest.key)
    replicas, requirements = 0, None
    components: tuple[Body, ...] = ()
    if binder.settings.gate("MultiplePodTemplatesScheduling") and binder.interpreter.handles(body, Operation.COMPONENT):
        parts = binder.interpreter.components(body)
        if isinstance(parts, Unknown):
            return _unknown(policy, losers, manifest, standing, parts.reason, ask_again=not parts.permanent)
        components = parts.value
    if not components:
        answer = binder.interpreter.replicas(body)
        if isinstance(answer, Unknown):
            return _unknown(policy, losers, manifest, standing, answer.reason, ask_again=not answer.permanent)
        replicas, requirements = answer.value
    if replicas < 0:
        return _unknown(policy, losers, manifest, standing, f"{replicas} replicas are asked for")
    shape = canonical.digest(components or requirements) if replicas or requirements is not None or components else ""
    unreadable = binder.schedules.unreadable
    if shape not in unreadable:
        unreadable[shape] = estimate.why_not(requirements, components)
    if reason := unreadable[shape]:
        return _unknown(policy, losers, manifest, standing, reason)
    request = schedule.Request(
        placement=placement,
        api_version=manifest.api_version,
        kind=manifest.key.kind,
        replicas=replicas,
        is_workload=replicas > 0 or requirements is not None or bool(components),
        requirements=requirements,
        space=allowance.space_of(manifest.body, manifest.key.namespace),
        components=components,
        previous=decision.shares if decision else (),
        evicting=frozenset(task.from_cluster for task in decision.evictions) if decision else frozenset(),
        observed_affinity=decision.affinity_name if decision else "",
        uid=(manifest.body.get("metadata") or {}).get("uid") or identity,
        fresh=bool(decision and due.rescheduled(decision.reschedule_triggered, decision.last_scheduled)),
        empty_propagation=binder.settings.spec.scheduling.empty_workload_propagation,
    )
    group, apart = "", ""
    if placement.workload_affinity is not None and binder.settings.gate("WorkloadAffinity"):
        group, apart = affinity.groups(placement.workload_affinity, manifest)
    stands = before is None and _stands(placement, decision, request, binder)
    return Asked(manifest, decision, policy, losers, request, shape, identity, stands, group, apart, before)


def answer(
    asked: Asked,
    binder: Binder,
    room: Room = dict,
    history: tuple[int, ...] = (),
    reads: tuple[ClusterName, ...] = (),
    *,
    beside: frozenset[str] | None = None,
    away_from: frozenset[str] = frozenset(),
    space: Space = allowance.ANYWHERE,
) -> Bound:
    """Where the template goes. `room` is asked only if the same was not asked before with the same `history` of the
    clusters that it `reads`; it is another one for each `space`."""
    request, schedules, decision = asked.request, binder.schedules, asked.decision
    question = Question(
        id(request.placement), request.api_version, request.kind, request.replicas, request.is_workload,
        request.previous, request.evicting, request.observed_affinity, divide.names_descend(request.uid),
        request.fresh,
        asked.shape if request.needs_room else "",
        space if request.needs_room else allowance.ANYWHERE,
        history, beside, away_from,
    )  # fmt: skip
    if asked.stands:
        assert decision is not None
        assert decision.condition is not None
        rejections = schedules.standing.get(question)
        if rejections is None:
            reasons = schedule.reasons(request, binder.candidates)
            others = sorted(_names(binder) - {share.cluster for share in decision.shares})
            rejections = tuple(schedule.rejection(name, reasons.get(name, _STANDS)) for name in others)
            schedules.standing[question] = rejections
        return _bound(asked, binder, decision.shares, decision.condition, rejections, decision.affinity_name)
    if decision is not None and decision.undone is not None:
        return _without_stuck(asked, decision, decision.undone, binder, room())
    if request.needs_room:
        known = schedules.by_room.get(question)
        result = known[0] if known is not None else None
    else:
        result = schedules.answers.get(question)
    if result is None:
        if beside is not None or away_from:
            request = replace(request, beside=beside, away_from=away_from)
        needs_room = request.needs_room
        result = schedule.schedule(request, binder.candidates, room() if needs_room else {}, schedules.fits)
        if needs_room:
            schedules.by_room[question] = result, reads
        else:
            schedules.answers[question] = result
    if asked.before is not None and not result.condition.status:
        return _stays(asked, asked.before, result, binder)
    shares, condition, rejections, why, problems = _settle(asked, result)
    return _bound(asked, binder, shares, condition, rejections, result.affinity_name, why, problems)


def refused(asked: Asked, bound: Bound, binder: Binder, message: str) -> Bound:
    """The same template when a quota does not allow what was decided: nothing moves."""
    if asked.decision is not None and asked.decision.undone is not None:
        return _undone(asked, asked.decision.undone, binder)
    asked = replace(asked, decision=asked.before or asked.decision, before=None)
    shares = asked.decision.shares if asked.decision else ()
    kept = {share.cluster for share in shares}
    condition = ScheduledCondition(False, "QuotaExceeded", message)
    problem = Problem(asked.manifest.origin, f"{asked.manifest.key}: {message}", severity=Severity.WARNING,
                      hint="nothing moves until there is room in the quota")  # fmt: skip
    rejections = tuple(Rejection(name, message) for name in sorted(_names(binder) - kept))
    observed = asked.decision.affinity_name if asked.decision else ""
    return _bound(asked, binder, shares, condition, rejections, observed, "a quota does not allow it", (problem,))


def _without_stuck(asked: Asked, trimmed: Decision, before: Decision, binder: Binder, room: schedule.Room) -> Bound:
    """Where replicas go that were taken back: facts may be minutes old, but that there is no node was seen just now."""
    left = {share.cluster: share.replicas for share in trimmed.shares}
    full = {share.cluster: 0 for share in before.shares if share.replicas != left[share.cluster]}
    result = schedule.schedule(asked.request, binder.candidates, {**room, **full}, binder.schedules.fits)
    if not result.condition.status or result.shares is None or result.shares == before.shares:
        return _undone(asked, before, binder)
    parts = [f"{(share.replicas or 0) - (left[share.cluster] or 0)} in {share.cluster}" for share in before.shares
             if share.cluster in full]  # fmt: skip
    why = f"no node for {', '.join(parts)}: placed anew"
    return _bound(asked, binder, result.shares, result.condition, result.rejections, result.affinity_name, why)


def _undone(asked: Asked, before: Decision, binder: Binder) -> Bound:
    """Replicas that cannot run were taken back, and there is no better place for them: they stay where they were.

    Karmada leaves them out instead; a pod that waits runs as soon as there is room, one that is gone does not.
    """
    kept = {share.cluster for share in before.shares}
    rejections = tuple(Rejection(name, _NO_BETTER) for name in sorted(_names(binder) - kept))
    condition = before.condition or schedule.SUCCESS
    return _bound(
        replace(asked, decision=before, stands=True), binder, before.shares, condition, rejections, before.affinity_name
    )


def _stays(asked: Asked, before: Decision, result: schedule.Result, binder: Binder) -> Bound:
    """A workload that should leave a cluster, but that no other one can take: it stays, and that is said."""
    leaving = sorted({share.cluster for share in before.shares} - {share.cluster for share in asked.request.previous})
    where = ", ".join(share.cluster for share in before.shares)
    problem = Problem(
        asked.manifest.origin,
        f"{asked.manifest.key}: should leave {', '.join(leaving)}, and nothing can take it: {result.condition.message}",
        hint=f"its copies stay in {where}",
        severity=Severity.WARNING,
    )
    kept = {share.cluster for share in before.shares}
    rejections = tuple(rejection for rejection in result.rejections if rejection.cluster not in kept)
    asked = replace(asked, decision=before, before=None)
    why = f"should leave {', '.join(leaving)}: nothing can take it"
    return _bound(asked, binder, before.shares, result.condition, rejections, before.affinity_name, why, (problem,))


def _names(binder: Binder) -> frozenset[str]:
    if not binder.schedules.names:
        binder.schedules.names = frozenset(candidate.name for candidate in binder.candidates)
    return binder.schedules.names


def _stands(placement: Placement, decision: Decision | None, request: schedule.Request, binder: Binder) -> bool:
    if decision is None or decision.condition is None or not decision.condition.status:
        return False
    if request.components and not decision.shares:
        return False
    reason = due.why(
        placement, binder.schedules.applied(decision.placement), decision,
        replicas=request.replicas, is_workload=request.is_workload, clusters=_names(binder),
    )  # fmt: skip
    return reason is None


def _bound(
    asked: Asked,
    binder: Binder,
    shares: tuple[Share, ...],
    condition: ScheduledCondition,
    rejections: tuple[Rejection, ...],
    affinity_name: str,
    why: str = "",
    problems: tuple[Problem, ...] = (),
) -> Bound:
    manifest, policy, request = asked.manifest, asked.policy, asked.request
    placement = policy.spec.placement
    replicas = request.replicas if request.is_workload and not request.components else None
    divided = request.is_workload and placement.replica_scheduling is not None and not request.components
    requirements = None if isinstance(request.requirements, schedule.NotAsked) else request.requirements
    shares = _shared(binder.schedules, shares)
    # Karmada: one component is no set; and where sets were not counted, a target gets all there is without a list.
    listed = request.components if request.counts_sets and len(request.components) > 1 else ()
    each = tuple((str(part.get("name") or ""), int(part.get("replicas") or 0)) for part in listed)
    record = _record(
        manifest, policy, asked.decision, binder,
        shares=shares, condition=condition, affinity=affinity_name, replicas=replicas,
        components=request.components, each=each,
        scheduled=asked.decision.last_scheduled if asked.stands and asked.decision else binder.now,
        stands=asked.stands,
    )  # fmt: skip
    return Bound(
        Binding(
            id=asked.identity,
            key=manifest.key,
            api_version=manifest.api_version,
            origin=manifest.origin,
            policy=match.ref(policy),
            shares=shares,
            replicas=replicas,
            condition=condition,
            rejections=rejections,
            affinity_name=affinity_name,
            requirements=requirements,
            components=request.components,
            each=each,
            losers=asked.losers,
            decision=record,
            why=why or _leaves(asked) or _why(placement, divided=divided),
            overwrite=policy.spec.conflict_resolution == "Overwrite",
            preserve=bool(policy.spec.preserve_resources_on_deletion),
            suspended=_suspended(policy),
            propagates_deps=policy.spec.propagate_deps,
            injected=record.injected,
            stateful=preserve.of_cluster(policy) is not None,
        ),
        problems,
    )


def _settle(
    asked: Asked, result: schedule.Result
) -> tuple[tuple[Share, ...], ScheduledCondition, tuple[Rejection, ...], str, tuple[Problem, ...]]:
    """What holds in the end: the new answer, or the existing copies."""
    policy, manifest, decision = asked.policy, asked.manifest, asked.decision
    if result.shares is not None:
        if result.condition.status:
            return result.shares, result.condition, result.rejections, "", ()
        stay = ", ".join(share.cluster for share in result.shares)
        problem = Problem(
            manifest.origin,
            f"{manifest.key}: {result.condition.message}",
            hint=f"its copies stay in {stay}" if stay else f"it runs nowhere yet; placed by {match.ref(policy)}",
            severity=Severity.WARNING,
        )
        return result.shares, result.condition, result.rejections, "not decided: nothing moves", (problem,)
    existing = decision.shares if decision else ()
    message = f"{manifest.key}: {result.condition.message}"
    if not existing:
        problem = Problem(manifest.origin, message, hint=f"placed by {match.ref(policy)}", severity=Severity.WARNING)
        return (), result.condition, result.rejections, "no cluster fits", (problem,)
    where = ", ".join(share.cluster for share in existing)
    problem = Problem(manifest.origin, message, severity=Severity.WARNING, hint=f"its copies stay in {where}")
    kept = {share.cluster for share in existing}
    rejections = tuple(rejection for rejection in result.rejections if rejection.cluster not in kept)
    return existing, result.condition, rejections, "no cluster fits: existing copies stay", (problem,)


def _suspended(policy: Propagation) -> frozenset[str] | None:
    """Clusters that get no writes; None: all."""
    suspension = policy.spec.suspension
    if suspension is not None and suspension.dispatching:
        return None
    listed = suspension.dispatching_on_clusters if suspension is not None else None
    return frozenset(listed.cluster_names or ()) if listed is not None else frozenset()


def _unknown(
    policy: Propagation,
    losers: tuple[PolicyRef, ...],
    manifest: Manifest,
    decision: Decision | None,
    reason: str,
    *,
    ask_again: bool = False,
    held: str = "",
) -> Bound:
    """Nothing can be decided: the last decision stays."""
    shares = decision.shares if decision else ()
    condition = ScheduledCondition(False, "SchedulerError", reason)
    where = ", ".join(share.cluster for share in shares)
    problem = Problem(manifest.origin, f"{manifest.key}: {reason}", severity=Severity.WARNING,
                      hint=f"its copies stay in {where}" if where else "it runs nowhere yet")  # fmt: skip
    return Bound(
        Binding(
            binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, match.ref(policy), shares,
            decision.replicas if decision else None, condition, losers=losers, decision=decision,
            why="unknown: the last decision stays", held=held,
            overwrite=policy.spec.conflict_resolution == "Overwrite",
            preserve=bool(policy.spec.preserve_resources_on_deletion), suspended=_suspended(policy),
            propagates_deps=policy.spec.propagate_deps,
        ),
        (problem,),
        ask_again,
    )  # fmt: skip


def _record(
    manifest: Manifest,
    policy: Propagation,
    decision: Decision | None,
    binder: Binder,
    *,
    shares: tuple[Share, ...],
    condition: ScheduledCondition,
    affinity: str,
    replicas: int | None,
    components: tuple[Body, ...],
    each: tuple[tuple[str, int], ...],
    scheduled: datetime | None,
    stands: bool,
) -> Decision:
    """What is to be remembered. A decision that stands was not taken now, whatever else is new in its record."""
    placement = binder.schedules.body(policy.spec.placement)
    preserves = bool(policy.spec.preserve_resources_on_deletion)
    reference = match.ref(policy)
    rebalancers = binder.rebalancers.get(manifest.key, ())
    injected = preserve.injected(decision, shares, enabled=_injects(policy, binder))
    if (
        decision is not None
        and decision.undone is None
        and (
            decision.shares == shares
            and decision.condition == condition
            and decision.affinity_name == affinity
            and decision.replicas == replicas
            and decision.components == components
            and decision.each == each
            and decision.policy == reference
            and decision.placement == placement
            and decision.preserve == preserves
            and decision.rebalancers == rebalancers
            and decision.injected == injected
            and not due.rescheduled(decision.reschedule_triggered, decision.last_scheduled)
        )
    ):
        return decision
    known = decision or Decision(manifest.key, manifest.api_version)
    return replace(
        known,
        api_version=manifest.api_version,
        shares=shares,
        affinity_name=affinity,
        policy=reference,
        placement=placement,
        replicas=replicas,
        components=components,
        each=each,
        last_scheduled=scheduled if condition.status else known.last_scheduled,
        condition=condition,
        preserve=preserves,
        rebalancers=rebalancers,
        # Until the next decision that has another reason.
        descheduled=known.descheduled if stands or known.undone is not None else None,
        undone=None,
        injected=injected,
    )


def _injects(policy: Propagation, binder: Binder) -> bool:
    return preserve.preserves(policy) and binder.settings.gate("StatefulFailoverInjection")


def _shared(schedules: Schedules, shares: tuple[Share, ...]) -> tuple[Share, ...]:
    return schedules.shared.setdefault(shares, shares)


def _leaves(asked: Asked) -> str:
    """Why this decision is about leaving a cluster; "" when it is not."""
    if asked.before is None or asked.decision is None:
        return ""
    known = {task.from_cluster for task in asked.before.evictions}
    new = [task for task in asked.decision.evictions if task.from_cluster not in known]
    return "; ".join(f"leaves {task.from_cluster}: {task.raw.get('message')}" for task in new)


def _why(placement: Placement, *, divided: bool) -> str:
    return _HOW[strategy.of(placement)] if divided else "every matching cluster"
