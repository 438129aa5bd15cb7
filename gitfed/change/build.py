"""★ The plan: every decision, from two snapshots, the record of past decisions, and the time.

    fail      what leaves clusters that fail, and which old copies may go    (placement.failover)
    place     which policy, which clusters, how many replicas                (placement)
    render    one body for each class of clusters that get the same          (render)
    compare   rendered against live: create, update, delete, keep, skip      (change.compare)
    gate      limits hold what they count, and nothing else                  (change.gate)

`build` is pure: equal inputs give equal plans. What it computed for one template is kept in a `Memo` and used again
while everything that template depends on *is the same object* as before, so a cycle costs what changed. A build with
a memo equals one without: that is a property test, not a hope.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from gitfed.change import bind, compare, dependencies, gate, namespaces_last, order, orders, place, status, turns, waves
from gitfed.change.retain import RetainError
from gitfed.change.schedules import Schedules
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, Commit, Digest, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive, FleetSnapshot, LiveObject, Reach
from gitfed.model.plan import Action, Binding, Change, Plan, RenderedManifest, Totals
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.placement import failover, match, preserve, rebalance
from gitfed.placement.cluster import Candidate
from gitfed.render import manifest as render_manifest
from gitfed.render import namespaces, override
from gitfed.text import canonical

_NOTHING: Mapping[ClusterName, LiveObject] = {}
_FIRST = order.Position(0, 0)


@dataclass(slots=True)
class _Item:
    """What was computed for one template, and from what: the left sides are compared with `is`."""

    manifest: Manifest
    candidates: object
    bound: bind.Bound
    places: object = None
    bodies: Mapping[ClusterName, Body] | None = None
    """Of an object that is another one in each cluster; None for all that come from a template."""
    overrides: object = None
    rendered: tuple[RenderedManifest, ...] = ()
    failed: Mapping[ClusterName, str] = field(default_factory=dict)
    render_problems: tuple[Problem, ...] = ()
    wave: order.Position = _FIRST
    faults: tuple[Problem, ...] = ()
    live: Mapping[ClusterName, LiveObject] | None = None
    live_clusters: object = None
    drift_known: frozenset[ClusterName] | None = None
    needed: Mapping[ClusterName, str] = field(default_factory=dict)
    """Where something that needs it still is."""
    render_again: bool = False
    """A rule gave no answer when this was rendered; it may the next time."""
    changes: tuple[Change, ...] = ()
    unretained: tuple[Problem, ...] = ()
    """Why changes were left out that somebody's rule should have completed."""
    ask_again: bool = False
    """That rule may answer the next time."""
    digest: bytes = b""

    @property
    def binding(self) -> Binding:
        return self.bound.binding


@dataclass(slots=True)
class Memo:
    """What a planner remembers between builds. Give the same memo to consecutive builds of one repository."""

    items: dict[ObjectKey, _Item] = field(default_factory=dict)
    questions: dict[ObjectKey, place.Question] = field(default_factory=dict)
    room: turns.Room = field(default_factory=turns.Room)
    candidates: tuple[Candidate, ...] = ()
    names: frozenset[ClusterName] = frozenset()
    places: tuple[Candidate, ...] = ()
    """The candidates but for what changes when they fail."""
    index: match.Index | None = None
    policies: object = None
    override_index: override.Overrides | None = None
    overrides: object = None
    standing: bind.Standing = field(default_factory=bind.Standing)
    schedules: Schedules = field(default_factory=Schedules)
    settings: object = None
    interpreter: object = None
    live_clusters: Mapping[ClusterName, ClusterLive] = field(default_factory=dict)
    assigned: dict[ObjectKey, Manifest] = field(default_factory=dict)
    references: dependencies.Memory = field(default_factory=dict)
    implied: dict[str, tuple[Manifest, tuple[ClusterName, ...]]] = field(default_factory=dict)
    defined: tuple[object, tuple[Candidate, ...]] | None = None
    """What definitions were asked about, and the clusters with their kinds."""
    collected: status.Memory = field(default_factory=dict)
    """What scripts said of copies that a failover looks at."""
    states: preserve.States = field(default_factory=lambda: preserve.States(_label_value))
    recomputed: int = 0
    """Templates whose binding, rendering or changes the last build had to compute: what a test asserts on."""


def build(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    *,
    base: Commit | None = None,
    memo: Memo | None = None,
    lazily: bool = False,
) -> Plan:
    """Everything that should be true of the fleet at `repo.commit`, and what to do about it.

    `fleet.live` None gives a plan without changes ("not observed"). `lazily`: a template is rendered when somebody
    looks at it, for who compares two plans and knows where they can differ; what then cannot be rendered is not among
    the problems.
    """
    memo = Memo() if memo is None else memo
    world = replace(_prepare(memo, repo, fleet, decisions, interpreter, now), lazily=lazily)
    memo.questions = place.questions(memo.questions, repo, world.decisions, world.binder)
    bounds, problems, quotas = place.answers(memo.questions, repo, world.binder, memo.room, fleet.facts.taken_at)
    bounds = dependencies.attach(bounds, repo, interpreter, world.decisions, fleet.live, memo.references)
    items: list[_Item] = []
    changing: dict[ObjectKey, frozenset[ClusterName]] = {}
    needed = [key for key, bound in bounds.items() if _is_needed(bound.binding)]
    last = set(needed)
    for key in (*(key for key in bounds if key not in last), *needed):
        # What others may still need has to know what becomes of those.
        items.append(_item(memo, world, repo.manifests[key], bounds[key], changing=changing))
        if needed:
            changing[key] = frozenset(change.cluster for change in items[-1].changes)
    items += [
        _item(memo, world, manifest, bound, bodies)
        for manifest, bound, bodies in place.assigned_quotas(memo.assigned, repo, world.by_name)
    ]
    for manifest, where in _implied_namespaces(memo, world, items):
        items.append(_item(memo, world, manifest, bind.implied(manifest, where)))
    items.sort(key=lambda item: item.manifest.key)
    _forget(memo, {item.manifest.key for item in items})

    changes: list[Change] = []
    problems += [*repo.problems, *decisions.problems, *order.cycles([item.manifest for item in items])]
    for item in items:
        problems.extend(item.faults)
        problems.extend(item.bound.problems)
        problems.extend(item.render_problems)
        problems.extend(item.unretained)
        changes.extend(item.changes)
    if fleet.live is not None:
        changes.extend(_leavers(world, {item.manifest.key for item in items}))
        changes = namespaces_last.hold(changes, fleet.live)
    problems.extend(_lost_clusters(repo, decisions, fleet))
    problems.extend(interpreter.problems())
    problems.extend(_failing(repo, world.step))
    bindings = {item.manifest.key: item.binding for item in items}
    digest = _digest(repo, items, changes)
    changes = orders.suspend(changes, decisions.suspensions)
    gates, changes = gate.hold(changes, bindings, repo=repo, decisions=decisions, live=fleet.live)
    changes = orders.remove(changes, decisions.removals)
    if any(change.waits_for for change in changes) or len({item.wave.wave for item in items} - {order.NO_WAVE}) > 1:
        changes = waves.hold(changes, [_placed(item) for item in items])
    return Plan(
        commit=repo.commit,
        base=base,
        facts=fleet.facts,
        now=now,
        federation=repo.settings.metadata.name,
        bindings=bindings,
        rendered=_OnDemand(world, items) if lazily else {item.manifest.key: item.rendered for item in items},
        changes=tuple(changes) if fleet.live is not None else None,
        gates=(*gates, *gate.quotas(quotas)),
        problems=tuple(sorted(set(problems))),
        totals=totals(changes, of_clusters=len(world.candidates)),
        digest=digest,
        clusters=tuple(candidate.name for candidate in world.candidates),
        notes=_notes(world),
        records=world.step.records,
        outage=world.step.outage,
        said=world.step.said,
        look_again=world.step.look_again,
    )


@dataclass(frozen=True, slots=True)
class _World:
    repo: RepoSnapshot
    fleet: FleetSnapshot
    decisions: Decisions
    """After what clusters that fail made of them."""
    step: failover.Step
    interpreter: Interpreter
    now: datetime
    candidates: tuple[Candidate, ...]
    places: tuple[Candidate, ...]
    by_name: Mapping[ClusterName, Candidate]
    policies: match.Index
    overrides: override.Overrides
    live_clusters: Mapping[ClusterName, ClusterLive]
    same_commit: bool
    binder: bind.Binder
    lazily: bool = False

    def settled(self, key: ObjectKey) -> frozenset[ClusterName] | None:
        """Clusters where this commit's version of an object was not written when the roll-out was over; None: anywhere.

        Where it was written, whatever differs now is drift.
        """
        if not self.same_commit:
            return None
        return frozenset(name for name, keys in self.decisions.unfinished.items() if str(key) in keys or "*" in keys)


def _prepare(
    memo: Memo, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions, interpreter: Interpreter, now: datetime
) -> _World:
    """Replace what changed in the memo; keep the old object where the new one is equal, so that `is` holds."""
    if memo.interpreter is not interpreter or memo.settings != repo.settings:
        memo.items.clear()
        memo.questions.clear()
        memo.schedules.clear()
        memo.interpreter, memo.settings = interpreter, repo.settings
    if memo.index is None or memo.policies != repo.propagation:
        memo.index, memo.policies = match.Index(repo.propagation), repo.propagation
        memo.schedules.clear()
    found, capacities = place.candidates(repo, fleet)
    step = failover.step(
        repo, fleet, decisions, {one.name: one for one in found}, memo.states,
        lambda copy: status.collected(copy, interpreter, memo.collected)[:2], now,
    )  # fmt: skip
    found, decisions = place.tainted(found, step.records), step.decisions
    standing = bind.Standing(
        frozenset((one.kind, one.metadata.namespace, one.metadata.name) for one in repo.overrides),
        decisions.suspensions,
    )
    if standing != memo.standing:
        memo.standing = standing
    candidates = _with_definitions(memo, found, repo, decisions, interpreter, now)
    if candidates != memo.candidates:
        memo.candidates = candidates
        memo.schedules.clear()
        names, places = frozenset(one.name for one in candidates), tuple(map(_place, candidates))
        memo.names = memo.names if memo.names == names else names
        memo.places = memo.places if memo.places == places else places
    memo.room.use(capacities, memo.schedules)
    if memo.override_index is None or memo.overrides != repo.overrides:
        memo.override_index, memo.overrides = override.Overrides(repo.overrides), repo.overrides
    live_clusters = fleet.live.clusters if fleet.live is not None else {}
    if live_clusters != memo.live_clusters:
        memo.live_clusters = live_clusters
    memo.recomputed = 0
    return _World(
        repo=repo,
        fleet=fleet,
        decisions=decisions,
        step=step,
        interpreter=interpreter,
        now=now,
        candidates=memo.candidates,
        places=memo.places,
        by_name={candidate.name: candidate for candidate in memo.candidates},
        policies=memo.index,
        overrides=memo.override_index,
        live_clusters=memo.live_clusters,
        same_commit=bool(repo.commit) and decisions.applied_commit == repo.commit,
        binder=bind.Binder(memo.index, memo.candidates, interpreter, memo.schedules, repo.settings, now,
                           rebalance.wanted(repo.rebalancers), step.before, memo.standing, memo.names),
    )  # fmt: skip


def _place(candidate: Candidate) -> Candidate:
    """A cluster as overrides see it: what is rendered for it does not depend on how it is."""
    return replace(candidate, taints=(), apis=None, reach=Reach.READY)


def _with_definitions(
    memo: Memo,
    found: tuple[Candidate, ...],
    repo: RepoSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
) -> tuple[Candidate, ...]:
    """See `place.with_definitions`; done again only when a definition, its decision, a policy or a cluster changed."""
    defining = place.definitions(repo)
    if not defining:
        return found
    assert memo.index is not None
    asked = (found, memo.index, memo.standing, *((one, decisions.bindings.get(one.key)) for one in defining))
    if memo.defined is None or memo.defined[0] != asked:
        binder = bind.Binder(memo.index, found, interpreter, Schedules(), repo.settings, now, standing=memo.standing)
        memo.defined = (asked, place.with_definitions(found, defining, decisions, binder))
    return memo.defined[1]


class _OnDemand(Mapping[ObjectKey, tuple[RenderedManifest, ...]]):
    """Manifests that are rendered when they are looked at."""

    def __init__(self, world: _World, items: Iterable[_Item]) -> None:
        self._world = world
        # What is asked for is kept, not the item: a later build with the same memo may change that.
        self._asked = {item.manifest.key: (item.manifest, item.binding, item.bodies) for item in items}
        self._known: dict[ObjectKey, tuple[RenderedManifest, ...]] = {}

    def __getitem__(self, key: ObjectKey) -> tuple[RenderedManifest, ...]:
        known = self._known.get(key)
        if known is None:
            world, (manifest, binding, bodies) = self._world, self._asked[key]
            known = self._known[key] = _manifests(world, manifest, binding, bodies).rendered
        return known

    def __contains__(self, key: object) -> bool:
        return key in self._asked

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


def _manifests(
    world: _World, manifest: Manifest, binding: Binding, bodies: Mapping[ClusterName, Body] | None
) -> render_manifest.Rendered:
    federation = world.repo.settings.metadata.name
    if bodies is not None:
        return render_manifest.each(manifest, binding, bodies, federation=federation)
    return render_manifest.render(
        manifest, binding, world.by_name, world.overrides, world.interpreter, federation=federation
    )


def _is_needed(binding: Binding) -> bool:
    return binding.decision is not None and bool(binding.decision.required_by)


def _item(
    memo: Memo,
    world: _World,
    manifest: Manifest,
    bound: bind.Bound,
    bodies: Mapping[ClusterName, Body] | None = None,
    *,
    changing: Mapping[ObjectKey, frozenset[ClusterName]] = MappingProxyType({}),
) -> _Item:
    """One object through render and compare, each step only if something it reads is another object now."""
    known = memo.items.get(manifest.key)
    fresh = (
        known is None
        or known.manifest is not manifest
        or known.candidates is not world.candidates
        or known.bodies != bodies
        or (known.bound is not bound and known.bound != bound)
    )
    if known is not None and fresh and known.manifest is manifest and known.places is world.places and (
        known.bodies == bodies and _alike(known.binding, bound.binding)
    ):  # fmt: skip
        # The same answer from other facts: what was rendered and compared with it still stands.
        known.candidates, known.bound, fresh = world.candidates, bound, False
    if fresh:
        item = _Item(
            manifest=manifest,
            candidates=world.candidates,
            places=world.places,
            bound=bound,
            bodies=bodies,
            wave=order.position(manifest),
            faults=tuple(order.faults(manifest)),
        )
        if known is not None:
            item.rendered = known.rendered
    else:
        assert known is not None
        item = known
        item.bound = bound
    if (item.overrides is not world.overrides or item.render_again) and not world.lazily:
        _render(world, item)
        fresh = True
    live = world.fleet.live.objects.get(manifest.key, _NOTHING) if world.fleet.live is not None else None
    needed = dependencies.still_needed(bound.binding, world.fleet.live, changing)
    if (
        fresh
        or needed != item.needed
        or live is not item.live
        or item.live_clusters is not world.live_clusters
        or item.ask_again
        # Whether a difference is drift matters only where there is one: a push must not compare everything again.
        or (item.changes and item.drift_known != world.settled(manifest.key))
    ):
        item.live, item.live_clusters, item.drift_known = live, world.live_clusters, world.settled(manifest.key)
        item.needed = needed
        item.unretained, item.ask_again = (), False
        item.changes = () if live is None else tuple(_changes(world, item, live))
        memo.recomputed += 1
    memo.items[manifest.key] = item
    return item


def _alike(one: Binding, other: Binding) -> bool:
    """Whether two answers differ at most in what they say of clusters that are not chosen."""
    return one == other or replace(one, rejections=other.rejections) == other


def _render(world: _World, item: _Item) -> None:
    result = _manifests(world, item.manifest, item.binding, item.bodies)
    before = {rendered.digest: rendered for rendered in item.rendered}
    # Keep the old value where it is equal: bodies are shared with whatever compared them before.
    item.rendered = tuple(
        before[new.digest] if new.digest in before and before[new.digest] == new else new for new in result.rendered
    )
    item.failed = result.failed
    item.render_problems = result.problems
    item.render_again = result.ask_again
    item.overrides = world.overrides
    item.digest = _item_digest(item)


def _changes(world: _World, item: _Item, live: Mapping[ClusterName, LiveObject]) -> Iterator[Change]:
    settings = world.repo.settings.spec
    context = compare.Context(
        manifest=item.manifest,
        binding=item.binding,
        clusters=world.live_clusters,
        position=item.wave,
        depends_on=order.dependencies(item.manifest),
        interpreter=world.interpreter,
        self_heal=settings.sync.self_heal,
        prune=settings.sync.prune and world.repo.complete,
        unsettled=world.settled(item.manifest.key),
        needed=item.needed,
    )
    wanted: set[ClusterName] = set()
    for rendered in item.rendered:
        for name in rendered.clusters:
            wanted.add(name)
            try:
                change = compare.wanted(context, rendered, name, live)
            except RetainError as error:
                change = compare.unretained(context, rendered, name, live.get(name), error)
                item.ask_again = item.ask_again or not error.permanent
                if change is not None:
                    _note_unretained(item, error)
            if change is not None:
                yield change
    for name, reason in item.failed.items():
        wanted.add(name)
        yield compare.unrenderable(context, name, live.get(name), reason)
    for name in sorted(live.keys() - wanted):
        change = compare.unwanted(context, name, live[name], live)
        if change is not None:
            yield change


def _note_unretained(item: _Item, error: RetainError) -> None:
    manifest = item.manifest
    message = f"{manifest.key}: what the clusters keep is unknown: {error}"
    problem = Problem(manifest.origin, message, hint="what is there stays as it is", severity=Severity.WARNING)
    item.unretained = (*item.unretained, problem)


def _placed(item: _Item) -> waves.Placed:
    return waves.Placed(
        item.manifest.key,
        item.wave,
        frozenset(name for rendered in item.rendered for name in rendered.clusters),
        item.live or _NOTHING,
        waited_for=compare.annotation(item.manifest.body, "gitfed.io/wait") != "false",
    )


_CLUSTER = attrgetter("cluster")
"""A loop in C: a million shares are looked at in every build of a large fleet."""


def _implied_namespaces(
    memo: Memo, world: _World, items: Sequence[_Item]
) -> list[tuple[Manifest, tuple[ClusterName, ...]]]:
    """Namespaces that objects need but no file declares, and where. The same objects again while nothing changed."""
    origins: dict[str, Origin] = {}
    targets: dict[str, set[ClusterName]] = {}
    for item in items:
        space = item.manifest.key.namespace
        if space and item.binding.shares:
            origins.setdefault(space, item.manifest.origin)
            targets.setdefault(space, set()).update(map(_CLUSTER, item.binding.shares))
    found = []
    for space in sorted(origins):
        if ObjectKey("", "Namespace", "", space) in world.repo.manifests or namespaces.is_reserved(
            space, world.repo.settings
        ):
            continue
        where = tuple(sorted(targets[space]))
        known = memo.implied.get(space)
        if known is None or known[0].origin != origins[space] or known[1] != where:
            known = memo.implied[space] = (namespaces.implied(space, origins[space]), where)
        found.append(known)
    return found


def _forget(memo: Memo, present: set[ObjectKey]) -> None:
    for key in memo.items.keys() - present:
        del memo.items[key]


def _leavers(world: _World, present: set[ObjectKey]) -> Iterator[Change]:
    """Objects of ours whose template is gone from the repository."""
    assert world.fleet.live is not None
    for key in sorted(world.fleet.live.objects.keys() - present):
        live = world.fleet.live.objects[key]
        decision = world.decisions.bindings.get(key)
        for name in sorted(live):
            change = compare.leaver(
                key,
                name,
                live[name],
                world.live_clusters.get(name),
                prune=world.repo.settings.spec.sync.prune,
                complete=world.repo.complete,
                preserve=decision.preserve if decision else False,
                api_version=decision.api_version if decision else "",
            )
            if change is not None:
                yield change


def _lost_clusters(repo: RepoSnapshot, decisions: Decisions, fleet: FleetSnapshot) -> Iterator[Problem]:
    """A cluster whose file went away keeps its objects; that must be said."""
    declared = {*repo.clusters, *fleet.clusters}
    held = {name: count for name, count in decisions.holdings.items() if name not in declared}
    lost: dict[ClusterName, int] = {}
    for decision in decisions.bindings.values():
        if declared.issuperset(map(_CLUSTER, decision.targets)):
            continue
        for share in decision.targets:
            if share.cluster not in declared:
                lost[share.cluster] = lost.get(share.cluster, 0) + 1
    for name, count in sorted({**lost, **held}.items()):
        yield Problem(
            repo.settings.origin,
            f"cluster {name} is no longer declared: {count} object{'s' if count != 1 else ''} stay there untouched",
            hint="declare it again, or delete there what bears our label; declared by another name, it needs nothing",
            severity=Severity.WARNING,
        )


def _failing(repo: RepoSnapshot, step: failover.Step) -> Iterator[Problem]:
    """What a failover has to say of workloads; and that we may be cut off."""
    for key, texts in step.problems.items():
        manifest = repo.manifests.get(key)
        if manifest is None:
            continue
        for text in texts:
            yield Problem(manifest.origin, f"{key}: {text}", severity=Severity.WARNING)
    if step.cut_off:
        away = [name for name, record in step.records.items() if record.reach is not Reach.READY]
        message = f"{len(away)} of {len(repo.clusters)} clusters are not ready: nothing is evicted from them"
        hint = "we are probably cut off; failover.maxUnreachablePercent"
        yield Problem(repo.settings.origin, message, hint, Severity.WARNING)


def totals(changes: Iterable[Change], *, of_clusters: int) -> Totals:
    counts = dict.fromkeys(("create", "update", "move", "delete", "keep", "skip"), 0)
    touched: set[ClusterName] = set()
    for change in changes:
        name = "move" if change.move and change.action is Action.DELETE else change.action.value
        counts[name] += 1
        if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE):
            touched.add(change.cluster)
    return Totals(**counts, clusters=len(touched), of_clusters=of_clusters)


def _label_value(text: str, document: Any) -> str:
    """`jsonpath.label_value`, whose parser is imported by those who preserve state, and not at every start."""
    from gitfed.text import jsonpath

    return jsonpath.label_value(text, document)


def _notes(world: _World) -> tuple[str, ...]:
    notes = []
    if world.fleet.facts.source == "assumed":
        notes.append("No facts: declared clusters are assumed Ready, with every API and unknown capacity.")
    else:
        assumed = [name for name, facts in world.fleet.clusters.items() if facts.assumed]
        if assumed:
            notes.append(f"No facts of {', '.join(sorted(assumed))}: assumed Ready with every API.")
    if world.fleet.live is None:
        notes.append("Clusters not observed: changes are unknown.")
    else:
        for name, state in sorted(world.live_clusters.items()):
            if not state.inventory_read:
                notes.append(f"Cluster {name} could not be read: {state.error or 'unknown'}. Its objects are kept.")
    for one in world.decisions.suspensions:
        notes.append(f"{one.of} is {one}.")
    return tuple(notes)


def _item_digest(item: _Item) -> bytes:
    """Over the decision and the rendering of one template."""
    parts = [str(item.manifest.key), *(f"{share.cluster}={share.replicas}" for share in item.binding.shares)]
    parts += [f"{rendered.digest}:{','.join(rendered.clusters)}" for rendered in item.rendered]
    return hashlib.sha256("\n".join(parts).encode()).digest()


def _digest(repo: RepoSnapshot, items: Sequence[_Item], changes: Sequence[Change]) -> Digest:
    """What `apply --confirm` names: commit, decisions, changes. Gates are left out: approving must not change it."""
    total = hashlib.sha256(repo.commit.encode())
    for item in items:
        total.update(item.digest)
    for change in changes:
        total.update(
            canonical.dumps([change.cluster, list(change.key), change.action.value, change.reason,
                             change.rendered.digest if change.rendered else ""])
        )  # fmt: skip
    return Digest(total.hexdigest())


def without_changes(plan: Plan) -> Plan:
    """The same plan as seen by somebody who cannot read the clusters."""
    return replace(plan, changes=None, totals=Totals(of_clusters=plan.totals.of_clusters))
