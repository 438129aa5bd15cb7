"""One template → its Binding: policy, replicas, clusters, reasons, and what is to be remembered.

This is where the pure packages meet: `placement.match` says whose template it is, the interpreter how many replicas
it wants, `placement.schedule` where they go. Two rules are ours and stand here: nothing fits → existing copies stay,
said loudly; and a decision that says the same as before *is* the one before, so that nothing is written for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gitfed.interpret import defaults
from gitfed.interpret.registry import Interpreter, Unknown
from gitfed.model.base import Body, Problem, Severity
from gitfed.model.decisions import Decision, PolicyRef, Rejection, ScheduledCondition, Share
from gitfed.model.declared.policy import Placement
from gitfed.model.plan import Binding
from gitfed.model.repo import Manifest
from gitfed.placement import divide, due, match, schedule, strategy
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
_STANDS = "the decision stands: a divided workload moves only when its placement or replicas change"


class _Question(NamedTuple):
    """Everything a schedule depends on beside the candidates. Equal questions share one answer, and its memory."""

    placement: int
    api_version: str
    kind: str
    replicas: int
    is_workload: bool
    previous: tuple[Share, ...]
    evicting: frozenset[str]
    observed: str
    descending: bool
    fresh: bool
    requirements: str
    """Digest of what one replica needs, where room decides; else "": then it does not matter."""


@dataclass(slots=True)
class Schedules:
    """Answers already given for the present policies and candidates; and applied placements, parsed."""

    answers: dict[_Question, schedule.Result] = field(default_factory=dict)
    _placements: dict[int, tuple[Body, Placement | None]] = field(default_factory=dict)
    _bodies: dict[int, tuple[Placement, Body]] = field(default_factory=dict)
    shared: dict[tuple[Share, ...], tuple[Share, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def clear(self) -> None:
        self.answers.clear()
        self._bodies.clear()
        self._placements.clear()
        self.shared.clear()
        self.names = frozenset()

    def applied(self, body: Body | None) -> Placement | None:
        """A recorded placement as a model; None when it cannot be read (counts as changed)."""
        if body is None:
            return None
        known = self._placements.get(id(body))
        if known is None or known[0] is not body:
            known = self._placements[id(body)] = (body, _read_placement(body))
        return known[1]

    def body(self, placement: Placement) -> Body:
        """A placement as it is recorded."""
        known = self._bodies.get(id(placement))
        if known is None or known[0] is not placement:
            text = placement.model_dump(mode="json", by_alias=True, exclude_none=True)
            known = self._bodies[id(placement)] = (placement, text)
        return known[1]


@dataclass(frozen=True, slots=True)
class Binder:
    """What all templates of one build have in common."""

    policies: match.Index
    candidates: tuple[Candidate, ...]
    interpreter: Interpreter
    schedules: Schedules
    settings: Federation
    now: datetime


@dataclass(frozen=True, slots=True)
class Bound:
    binding: Binding
    problems: tuple[Problem, ...] = ()


def bind(manifest: Manifest, decision: Decision | None, binder: Binder) -> Bound:
    """Where a template goes. `decision` is what was decided before, None the first time."""
    identity = binding_id(manifest.key)
    if namespaces.propagates(manifest, binder.settings):
        shares = _shared(binder.schedules, tuple(Share(candidate.name) for candidate in binder.candidates))
        return Bound(
            Binding(identity, manifest.key, manifest.api_version, manifest.origin, EVERYWHERE, shares, None, None,
                    why="every cluster")
        )  # fmt: skip
    found = binder.policies.best(manifest)
    if found.policy is None:
        return Bound(
            Binding(
                identity, manifest.key, manifest.api_version, manifest.origin, None, (), None, None,
                decision=decision, why="no policy selects it",
            )
        )  # fmt: skip
    return _bind_by(found.policy, found.losers, manifest, decision, binder)


def implied(manifest: Manifest, clusters: tuple[str, ...]) -> Bound:
    """A Namespace that no file declares, in the clusters that get something inside it."""
    shares = tuple(Share(name) for name in clusters)
    return Bound(
        Binding(
            binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, IMPLIED, shares, None, None,
            why="where its content goes",
        )
    )  # fmt: skip


def _bind_by(
    policy: Propagation, losers: tuple[PolicyRef, ...], manifest: Manifest, decision: Decision | None, binder: Binder
) -> Bound:
    placement = policy.spec.placement
    answer = binder.interpreter.replicas(defaults.filled_in(manifest.body))
    if isinstance(answer, Unknown):
        return _unknown(policy, losers, manifest, decision, answer.reason)
    replicas, requirements = answer.value
    is_workload = replicas > 0 or requirements is not None
    uid = (manifest.body.get("metadata") or {}).get("uid") or binding_id(manifest.key)
    previous = decision.shares if decision else ()
    evicting = frozenset(task.from_cluster for task in decision.evictions) if decision else frozenset()
    fresh = bool(decision and due.rescheduled(decision.reschedule_triggered, decision.last_scheduled))
    by_room = strategy.spreads(placement) or strategy.of(placement) in (
        strategy.Strategy.DYNAMIC,
        strategy.Strategy.AGGREGATED,
    )
    question = _Question(
        id(placement), manifest.api_version, manifest.key.kind, replicas, is_workload, previous, evicting,
        decision.affinity_name if decision else "", divide.names_descend(uid), fresh,
        canonical.digest(requirements) if is_workload and by_room else "",
    )  # fmt: skip
    result = binder.schedules.answers.get(question)
    if result is None:
        result = schedule.schedule(
            schedule.Request(
                placement=placement,
                api_version=manifest.api_version,
                kind=manifest.key.kind,
                replicas=replicas,
                is_workload=is_workload,
                requirements=requirements,
                previous=previous,
                evicting=evicting,
                observed_affinity=question.observed,
                uid=uid,
                fresh=fresh,
                empty_propagation=binder.settings.spec.scheduling.empty_workload_propagation,
            ),
            binder.candidates,
        )
        binder.schedules.answers[question] = result
    shares, condition, rejections, why, problems = _settle(
        policy, manifest, decision, result, binder, replicas=replicas, is_workload=is_workload
    )
    divided = is_workload and placement.replica_scheduling is not None
    shares = _shared(binder.schedules, shares)
    record = _record(
        manifest, policy, decision, binder,
        shares=shares, condition=condition, affinity=result.affinity_name, replicas=replicas if is_workload else None,
    )  # fmt: skip
    suspension = policy.spec.suspension
    suspended: frozenset[str] | None = frozenset()
    if suspension is not None and suspension.dispatching:
        suspended = None
    elif suspension is not None and suspension.dispatching_on_clusters is not None:
        suspended = frozenset(suspension.dispatching_on_clusters.cluster_names or ())
    return Bound(
        Binding(
            id=binding_id(manifest.key),
            key=manifest.key,
            api_version=manifest.api_version,
            origin=manifest.origin,
            policy=match.ref(policy),
            shares=shares,
            replicas=replicas if is_workload else None,
            condition=condition,
            rejections=rejections,
            affinity_name=result.affinity_name,
            requirements=requirements,
            losers=losers,
            decision=record,
            why=why or _why(placement, divided=divided),
            overwrite=policy.spec.conflict_resolution == "Overwrite",
            preserve=bool(policy.spec.preserve_resources_on_deletion),
            suspended=suspended,
        ),
        problems,
    )


def _settle(
    policy: Propagation,
    manifest: Manifest,
    decision: Decision | None,
    result: schedule.Result,
    binder: Binder,
    *,
    replicas: int,
    is_workload: bool,
) -> tuple[tuple[Share, ...], ScheduledCondition, tuple[Rejection, ...], str, tuple[Problem, ...]]:
    """What holds in the end: the new answer, the standing decision, or the existing copies."""
    placement = policy.spec.placement
    if decision is not None and decision.condition is not None and decision.condition.status:
        names = binder.schedules.names or frozenset(candidate.name for candidate in binder.candidates)
        binder.schedules.names = names
        reason = due.why(
            placement, binder.schedules.applied(decision.placement), decision,
            replicas=replicas, is_workload=is_workload, clusters=names,
        )  # fmt: skip
        if reason is None:
            kept = {share.cluster for share in decision.shares}
            known = {rejection.cluster: rejection for rejection in result.rejections}
            rejections = tuple(known.get(name) or Rejection(name, _STANDS) for name in sorted(names - kept))
            return decision.shares, decision.condition, rejections, "", ()
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


def _unknown(
    policy: Propagation, losers: tuple[PolicyRef, ...], manifest: Manifest, decision: Decision | None, reason: str
) -> Bound:
    """The interpreter could not answer: the last decision stays."""
    shares = decision.shares if decision else ()
    condition = ScheduledCondition(False, "SchedulerError", reason)
    return Bound(
        Binding(
            binding_id(manifest.key), manifest.key, manifest.api_version, manifest.origin, match.ref(policy), shares,
            decision.replicas if decision else None, condition, losers=losers, decision=decision,
            why="unknown: the last decision stays",
        )
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
) -> Decision:
    placement = binder.schedules.body(policy.spec.placement)
    preserve = bool(policy.spec.preserve_resources_on_deletion)
    reference = match.ref(policy)
    if decision is not None and (
        decision.shares == shares
        and decision.condition == condition
        and decision.affinity_name == affinity
        and decision.replicas == replicas
        and decision.policy == reference
        and decision.placement == placement
        and decision.preserve == preserve
        and not due.rescheduled(decision.reschedule_triggered, decision.last_scheduled)
    ):
        return decision
    return Decision(
        key=manifest.key,
        api_version=manifest.api_version,
        shares=shares,
        affinity_name=affinity,
        policy=reference,
        placement=placement,
        evictions=decision.evictions if decision else (),
        replicas=replicas,
        last_scheduled=binder.now if condition.status else (decision.last_scheduled if decision else None),
        reschedule_triggered=decision.reschedule_triggered if decision else None,
        condition=condition,
        preserve=preserve,
        raw=decision.raw if decision else None,
    )


def _shared(schedules: Schedules, shares: tuple[Share, ...]) -> tuple[Share, ...]:
    return schedules.shared.setdefault(shares, shares)


def _why(placement: Placement, *, divided: bool) -> str:
    if not divided:
        return "every matching cluster"
    how = strategy.of(placement)
    return "copied to each cluster" if how is strategy.Strategy.DUPLICATED else f"divided by {how.value}"


def _read_placement(body: Body) -> Placement | None:
    try:
        return Placement.model_validate(body)
    except ValueError:  # pydantic's ValidationError is one
        return None
