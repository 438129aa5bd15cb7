"""What one commit changes against another, when both were planned from the same facts and decisions.

`build` answers what is to be done about the clusters; a review happens before anybody looks at one. So the fleet is
taken to be as the base left it, and the same rules (`compare`, `gate`) say what the head would do to that: what is
created, updated, moved or deleted, what stays and why, and which limits hold it. The limits are the base's: a change
under review must not raise its own.

Beside the objects stand their `declared_changes`. Secrets are masked here, where the differences are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey, Problem
from gitfed.model.decisions import Decisions
from gitfed.model.plan import Binding, Change, Gate, Plan, Totals
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build, template_pipeline
from gitfed.planning.objects import redact
from gitfed.planning.ordering import gate, operator_orders
from gitfed.planning.review import affected_objects, declared_changes, leftovers, predict, retained_dependents
from gitfed.planning.review.differing_manifests import DifferingManifests
from gitfed.render import namespaces
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """Replicas of one object that leave some clusters for others."""

    key: ObjectKey
    leaving: tuple[tuple[ClusterName, int], ...]
    arriving: tuple[tuple[ClusterName, int], ...]

    @property
    def replicas(self) -> int:
        return min(sum(count for _, count in self.leaving), sum(count for _, count in self.arriving))


@dataclass(frozen=True, slots=True)
class Review:
    """Equal inputs give equal reviews. `head.changes` is None: what would be changed stands in `changes`."""

    base: Plan
    head: Plan
    declared: tuple[declared_changes.Declaration, ...]
    flows: tuple[Flow, ...]
    changes: tuple[Change, ...]
    """Without field differences: `rendered` has the body, `live` what the base left there."""
    gates: tuple[Gate, ...]
    totals: Totals
    touched: tuple[ObjectKey, ...]
    """Objects whose manifests can differ, sorted; no other needs to be looked at."""
    manifests: DifferingManifests
    hidden: redact.Hidden

    @property
    def empty(self) -> bool:
        """Merging changes nothing: not in a cluster, not in what is declared."""
        return not (self.declared or self.changes or self.flows) and not _placed_otherwise(self.base, self.head)


def with_limits_of(base: RepoSnapshot, head: RepoSnapshot) -> RepoSnapshot:
    """The head as it may be looked at: with the limits of the base."""
    spec = head.settings.spec.model_copy(
        update={name: getattr(base.settings.spec, name) for name in declared_changes.LIMITS}
    )
    settings = head.settings.model_copy(update={"spec": spec})
    return head if settings == head.settings else replace(head, settings=settings.at(head.settings.origin))


def review(
    base_repo: RepoSnapshot,
    head_repo: RepoSnapshot,
    base: Plan,
    head: Plan,
    decisions: Decisions,
    interpreter: Interpreter,
) -> Review:
    """`head_repo` as it stands in its commit; `head` planned `with_limits_of` the base, from `decisions`: those that
    the base leaves behind."""
    hidden = redact.Hidden(_secrets(base_repo, head_repo, base, head))
    base, head = (replace(plan, problems=_without(hidden, plan.problems)) for plan in (base, head))
    limited = with_limits_of(base_repo, head_repo)
    left_over = leftovers.by_earlier(base_repo, base, decisions)
    # These go by what happens to others: namespaces by what is in them, dependencies by who needs them.
    others = {key for key in left_over if namespaces.is_namespace(key) or _is_dependency(base.bindings.get(key))}
    touched = sorted(affected_objects.differing(base_repo, head_repo, base, head) | others)
    manifests = DifferingManifests(base_repo, head_repo, base, head)
    sides = predict.Sides(limited, base, head, decisions, interpreter, left_over, manifests)
    changes = operator_orders.suspend(list(predict.changes(sides, touched)), decisions.suspensions)
    changes = retained_dependents.considered(changes, sides)
    # Everything that we own before the change, for limits that are parts of it.
    owned = sum(len(binding.scheduled.shares) for binding in base.bindings.values())
    recorded, already = replace(decisions, known=True, descends=True), gate.Already(owned=owned)

    def hold(wanted: Sequence[Change]) -> tuple[retained_dependents.Gates, list[Change]]:
        verdict = gate.hold(wanted, head.bindings, repo=limited, decisions=recorded, live=None, already=already)
        return verdict.gates, [*verdict.changes]

    gates, changes = retained_dependents.limited(changes, sides, hold)
    differing = {change.key for change in changes} | _placed_otherwise(base, head)
    base, head = (_with_looked_at(plan, hidden) for plan in (base, head))
    declared = tuple(
        declared_changes.declared(base_repo, head_repo, (base, head), differing, touched, manifests, hidden)
    )
    return Review(
        base=base,
        head=head,
        declared=declared,
        flows=tuple(_flows(base, head)),
        changes=tuple(changes),
        gates=(*gates, *(limit for limit in head.gates if not limit.consent)),
        totals=build.totals(changes, of_clusters=len(head.clusters)),
        touched=tuple(touched),
        manifests=manifests,
        hidden=hidden,
    )


def _with_looked_at(plan: Plan, hidden: redact.Hidden) -> Plan:
    """With what is wrong with manifests that were made when they were looked at."""
    if not isinstance(plan.rendered, template_pipeline.OnDemand) or not plan.rendered.problems:
        return plan
    told = _without(hidden, tuple(plan.rendered.problems))
    return replace(plan, problems=tuple(sorted({*plan.problems, *told})))


def _is_dependency(binding: Binding | None) -> bool:
    return binding is not None and not leftovers.is_orphan(binding)


def _placed_otherwise(base: Plan, head: Plan) -> set[ObjectKey]:
    moved = set()
    for key in base.bindings.keys() | head.bindings.keys():
        old, new = base.bindings.get(key), head.bindings.get(key)
        if old is not new and (old.scheduled.shares if old else ()) != (new.scheduled.shares if new else ()):
            moved.add(key)
    return moved


def _flows(base: Plan, head: Plan) -> Iterator[Flow]:
    """Growing and shrinking moves nothing: only what leaves one cluster and arrives in another."""
    for key, new in head.bindings.items():
        old = base.bindings.get(key)
        if old is None or old is new or old.scheduled.shares == new.scheduled.shares or new.scheduled.replicas is None:
            continue
        before = {share.cluster: share.replicas or 0 for share in old.scheduled.shares}
        after = {share.cluster: share.replicas or 0 for share in new.scheduled.shares}
        names = sorted(before.keys() | after.keys())
        step = {name: after.get(name, 0) - before.get(name, 0) for name in names}
        leaving = tuple((name, -count) for name, count in step.items() if count < 0)
        arriving = tuple((name, count) for name, count in step.items() if count > 0)
        if leaving and arriving:
            yield Flow(key, leaving, arriving)


def _without(hidden: redact.Hidden, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """A message quotes what is wrong, and that may be a secret in the wrong place."""
    return tuple(
        replace(problem, message=hidden.text(problem.message), hint=hidden.text(problem.hint)) for problem in problems
    )


def _secrets(base_repo: RepoSnapshot, head_repo: RepoSnapshot, base: Plan, head: Plan) -> Iterator[Body]:
    """Every Secret as the files have it, and as overrides make it for clusters."""
    for repo in (base_repo, head_repo):
        for key, manifest in repo.manifests.items():
            if key.kind == "Secret" and not key.group:
                yield manifest.body
    for plan in (base, head):
        for key in plan.bindings:
            if key.kind == "Secret" and not key.group:
                for rendered in plan.rendered.get(key, ()):
                    yield rendered.body
