"""★ The plan: every decision, from two snapshots, the record of past decisions, and the time.

    scale     which workloads have another number than their template says   (autoscaling)
    fail      what leaves failed clusters, and which old objects may go      (placement.failover)
    place     which policy, which clusters, how many replicas                (placement)
    render    one body for each class of clusters that get the same          (render)
    compare   rendered against live: create, update, delete, keep, skip      (planning.objects)
    gate      limits hold what they count, and nothing else                  (planning.ordering)

`build` is pure: equal inputs give equal plans. What it computed for one template is kept in a `Memo` and used again
while everything that template depends on *is the same object* as before, so a cycle costs what changed. A build with
a memo equals one without: a property test holds that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType

from gitfed.interpret.registry import Interpreter
from gitfed.model import counting
from gitfed.model.base import ClusterName, Digest, ObjectKey, Origin, Problem
from gitfed.model.decisions import Decisions, Share
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Action, Binding, Change, HeldDecision, Plan, Totals
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.placement import damper
from gitfed.placement.capacity import quota
from gitfed.planning import bind, dependencies, notes, place, prefetch, template_pipeline
from gitfed.planning.build_cache import BuildContext, PlanItem, prepare
from gitfed.planning.build_cache import Memo as Memo
from gitfed.planning.context import PlacementResult
from gitfed.planning.lazy_manifests import AT_ONCE
from gitfed.planning.objects import prune
from gitfed.planning.ordering import gate, namespace_deletion, operator_orders, order, waves
from gitfed.render import namespaces
from gitfed.services import derived
from gitfed.text import canonical
from gitfed.text.values import dataclass

_CLUSTER = attrgetter("cluster")
"""A loop in C: a million shares are looked at in every build of a large fleet."""


def build(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    memo: Memo | None = None,
) -> Plan:
    """Everything that should be true of the fleet at `repo.commit`, and what to do about it.

    `fleet.live` None gives a plan without changes ("not observed"). A snapshot of few templates says in its `scope`
    what the others come to. The caller sets the plan's `base` when it knows which commit the plan follows.
    """
    memo = Memo() if memo is None else memo
    world = prepare(memo, repo, fleet, decisions, interpreter, now)
    repo = world.repo  # with the numbers that autoscalers decided
    memo.questions, asked = place.questions(memo.questions, repo, world.decisions, world.binder, memo.count)
    draft = _draft(memo, world, memo.questions, decisions, asked=asked)
    digest = _digest(repo, draft.items, draft.changes)
    draft, verdict, held = _limited(memo, world, draft, decisions)
    items, bindings = draft.items, draft.bindings
    problems = [*draft.problems, *world.numbers.problems, *repo.problems, *decisions.problems]
    problems.extend(order.cycles([item.manifest for item in items if item.depends]))
    for item in items:
        problems.extend(item.faults)
        problems.extend(item.bound.problems)
        problems.extend(item.rendering.problems)
        problems.extend(item.comparison.problems)
    problems.extend(notes.lost_clusters(repo, decisions, fleet))
    problems.extend(interpreter.problems())
    problems.extend(notes.failing(repo, world.step))
    changes = operator_orders.remove(verdict.changes, decisions.removals)
    if (
        any(change.turn.waits_for for change in changes)
        or len({item.wave.wave for item in items} - {order.NO_WAVE}) > 1
    ):
        changes = waves.mark_waiting(changes, [template_pipeline.placed(item) for item in items])
    return Plan(
        commit=repo.commit,
        base=None,
        facts=fleet.facts,
        now=now,
        federation=repo.settings.metadata.name,
        bindings=bindings,
        rendered=template_pipeline.OnDemand(world, items)
        if world.rendering.lazily
        else {item.manifest.key: item.rendering.manifests for item in items},
        changes=tuple(changes) if fleet.live is not None else None,
        gates=(*verdict.gates, *gate.quotas(draft.quotas)),
        problems=tuple(notes.together(problems)),
        totals=totals(changes, of_clusters=len(world.candidates)),
        digest=digest,
        clusters=tuple(candidate.name for candidate in world.candidates),
        notes=notes.notes(world, bindings.values()),
        records=world.step.records,
        outage=world.step.outage,
        said=world.step.said,
        eased=world.step.eased,
        doubtful=world.step.doubtful,
        look_again=min(
            (moment for moment in (world.step.look_again, world.numbers.look_again) if moment is not None), default=None
        ),
        scaling=world.numbers.scaling,
        held_decisions=held,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """Where every template goes, and the changes that follow in the clusters, before limits hold any."""

    items: list[PlanItem]
    """Sorted by key."""
    bindings: Mapping[ObjectKey, Binding]
    changes: list[Change]
    problems: list[Problem]
    quotas: quota.Ledger


def _draft(
    memo: Memo,
    world: BuildContext,
    questions: Mapping[ObjectKey, place.PlacementState],
    decisions: Decisions,
    *,
    asked: Sequence[ObjectKey] = (),
    alike: Mapping[ObjectKey, PlanItem] = MappingProxyType({}),
) -> _Draft:
    """`decisions`: as recorded. `asked`: the templates that are placed again. `alike`: items of another draft of
    this plan; those that are the same in both are not made again."""
    repo, live = world.repo, world.fleet.live
    bounds, problems, quotas = place.answers(questions, repo, world.binder, memo.room, world.fleet.facts.taken_at)
    bounds = dependencies.attach(bounds, repo, world.binder, world.decisions, live, memo.templates.references)
    bounds = _counted(bounds, decisions, world)
    if world.rendering == AT_ONCE:
        prefetch.rendering(((repo.manifests[key], bounds[key].binding) for key in asked), world.interpreter)
    cache = memo if not alike else memo.as_before
    items = _derived(cache, world, bounds, decisions, alike)
    items += [
        template_pipeline.item(cache, world, manifest, bound, bodies, alike=alike.get(manifest.key))
        for manifest, bound, bodies in place.assigned_quotas(memo.templates.assigned, repo, world.by_name)
    ]
    for manifest, bound in place.derived_services(memo.templates.assigned, repo, bounds):
        items.append(template_pipeline.item(cache, world, manifest, bound, alike=alike.get(manifest.key)))
    for manifest, where in _implied_namespaces(cache, world, items):
        bound = bind.implied(manifest, where)
        items.append(template_pipeline.item(cache, world, manifest, bound, alike=alike.get(manifest.key)))
    items.sort(key=lambda item: item.manifest.key)
    bindings = {item.manifest.key: item.bound.binding for item in items}
    _forget(cache, bindings.keys())
    changes = [change for item in items for change in item.comparison.changes]
    if live is not None:
        if sum(map(template_pipeline.is_seen, items)) < len(live.objects):
            changes.extend(_leavers(world, bindings))
        changes = namespace_deletion.hold(changes, live)
    return _Draft(items, bindings, changes, problems, quotas)


def _limited(
    memo: Memo, world: BuildContext, draft: _Draft, decisions: Decisions
) -> tuple[_Draft, gate.GateResult, dict[ObjectKey, HeldDecision]]:
    """The draft with limits applied. Where they hold a decision, the one on record stands: the returned draft follows
    from that, and the changes show what is held beside it.

    Objects that follow a workload that stays, stay too, and may exceed a limit in turn: hence the loop.
    """

    def limit(changes: Sequence[Change], bindings: Mapping[ObjectKey, Binding]) -> gate.GateResult:
        return gate.hold(
            changes, bindings, repo=world.repo, decisions=decisions, live=world.fleet.live, already=already
        )

    already = gate.NOTHING
    changes = operator_orders.suspend(draft.changes, decisions.suspensions)
    verdict = limit(changes, draft.bindings)
    already = gate.Already(touched=gate.touched(changes))
    held: dict[ObjectKey, HeldDecision] = {}
    while new := verdict.undecided.keys() - held.keys():
        held |= {key: HeldDecision(draft.bindings[key], verdict.undecided[key]) for key in new}
        world = replace(world, binder=replace(world.binder, undecided=frozenset(held)))
        questions = place.standing(memo.questions, world.decisions, world.binder)
        draft = _draft(memo, world, questions, decisions, alike={item.manifest.key: item for item in draft.items})
        changes = operator_orders.suspend(draft.changes, decisions.suspensions)
        verdict = gate.together(verdict, limit(changes, draft.bindings), held.keys())
    memo.recomputed += memo.as_before.recomputed
    memo.as_before.recomputed = 0
    if not held:
        memo.nothing_held()
        return draft, verdict, held
    # Changes of deleted templates come last, as in any plan.
    ordered = sorted(verdict.changes, key=lambda change: (change.key not in draft.bindings, change.key))
    return draft, replace(verdict, changes=tuple(ordered)), dict(sorted(held.items()))


def _counted(
    bounds: dict[ObjectKey, PlacementResult], before: Decisions, world: BuildContext
) -> dict[ObjectKey, PlacementResult]:
    """The same; a new decision gets the number of times that it changed lately (`placement.damper`)."""
    news = {}
    for key, bound in bounds.items():
        after, previous = bound.binding.decision, before.bindings.get(key)
        if after is not None and previous is not None and after is not previous:
            decision = damper.counted(previous, after, world.step.inputs, world.now)
            if decision is not after:
                news[key] = replace(bound, binding=replace(bound.binding, decision=decision))
    return {**bounds, **news} if news else bounds


def _derived(
    memo: Memo,
    world: BuildContext,
    bounds: Mapping[ObjectKey, PlacementResult],
    before: Decisions,
    alike: Mapping[ObjectKey, PlanItem],
) -> list[PlanItem]:
    """Every template through render and compare; templates that others need come after those (`dependencies`)."""
    items: list[PlanItem] = []
    owners = dependencies.owners(bounds)
    watched = frozenset().union(*owners.values())
    finished: dict[ObjectKey, frozenset[ClusterName]] = {}
    keys = [*(key for key in bounds if key not in owners), *owners] if owners else bounds
    for key in counting.each(keys, "objects planned", memo.count):
        manifest = world.repo.manifests[key]
        bound = prune.remembered(bounds[key], manifest.body, before.bindings.get(key))
        bound = dependencies.let_go(bound, finished) if key in owners else bound
        item = template_pipeline.item(memo, world, manifest, bound, alike=alike.get(key))
        if key in watched and item.comparison.live is not None:
            finished[key] = dependencies.up_to_date(
                item.rendering.manifests, item.comparison.changes, item.comparison.live
            )
        items.append(item)
    return items


def _implied_namespaces(
    memo: Memo, world: BuildContext, items: Sequence[PlanItem]
) -> list[tuple[Manifest, tuple[ClusterName, ...]]]:
    """Namespaces that objects need but no file declares, and where. The same objects again while nothing changed."""
    left_out = world.repo.scope.content
    origins = dict.fromkeys(left_out, Origin(""))
    targets = {space: set(where) for space, where in left_out.items()}
    alike: dict[str, dict[int, tuple[Share, ...]]] = {}
    for item in items:
        space, shares = item.manifest.key.namespace, item.bound.binding.scheduled.shares
        if space and shares:
            origins.setdefault(space, item.manifest.origin)
            alike.setdefault(space, {})[id(shares)] = shares
    for space, found_there in alike.items():
        targets.setdefault(space, set()).update(*(map(_CLUSTER, shares) for shares in found_there.values()))
    implied = []
    for space in sorted(origins):
        if ObjectKey("", "Namespace", "", space) in world.repo.manifests or namespaces.is_reserved(
            space, world.repo.settings
        ):
            continue
        where = tuple(sorted(targets[space]))
        cached = memo.templates.implied.get(space)
        if cached is None or cached[0].origin != origins[space] or cached[1] != where:
            cached = memo.templates.implied[space] = (namespaces.implied(space, origins[space]), where)
        implied.append(cached)
    return implied


def _forget(memo: Memo, present: Set[ObjectKey]) -> None:
    """Drops the items of templates that are not `present`."""
    if len(memo.items) == len(present):
        return
    for key in memo.items.keys() - present:
        del memo.items[key]


def _leavers(world: BuildContext, bindings: Mapping[ObjectKey, Binding]) -> Iterator[Change]:
    """Objects of ours whose template is gone from the repository."""
    assert world.fleet.live is not None
    for key in sorted(world.fleet.live.objects.keys() - bindings.keys()):
        live = world.fleet.live.objects[key]
        decision = world.decisions.bindings.get(key)
        for name in sorted(live):
            change = prune.leaver(
                live[name],
                world.live_clusters.get(name),
                prune=world.repo.settings.spec.sync.prune,
                unread=_why_kept(world, key) or prune.meant_by(key, bindings),
                past=decision,
            )
            if change is not None:
                yield change


def _why_kept(world: BuildContext, key: ObjectKey) -> str:
    """The Service behind a ServiceImport stands in no file: the file of the import may be the one that is unread."""
    imported = derived.import_of(key)
    return world.repo.why_kept(key) or (world.repo.why_kept(imported) if imported is not None else "")


def totals(changes: Iterable[Change], *, of_clusters: int) -> Totals:
    counts = dict.fromkeys(("create", "update", "move", "delete", "keep", "skip"), 0)
    touched: set[ClusterName] = set()
    for change in changes:
        name = "move" if change.move and change.action is Action.DELETE else change.action.value
        counts[name] += 1
        if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE):
            touched.add(change.cluster)
    return Totals(**counts, clusters=len(touched), of_clusters=of_clusters)


def _digest(repo: RepoSnapshot, items: Sequence[PlanItem], changes: Sequence[Change]) -> Digest:
    """What `apply --confirm` names: commit, decisions, changes. Gates are left out: approving must not change it."""
    total = hashlib.sha256(repo.commit.encode())
    for item in items:
        total.update(item.rendering.digest)
    for change in changes:
        total.update(
            canonical.dumps(
                [
                    change.cluster,
                    list(change.key),
                    change.action.value,
                    str(change.reason),
                    change.write.rendered.digest if change.write.rendered else "",
                ]
            )
        )
    return Digest(total.hexdigest())


def without_changes(plan: Plan) -> Plan:
    """The same plan, as a caller without access to the clusters sees it."""
    return replace(plan, changes=None, totals=Totals(of_clusters=plan.totals.of_clusters))
