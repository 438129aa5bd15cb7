"""One template through render and compare, each step only if something that it reads is another object now.

Placement is over when this begins (`place`); what concerns all templates together comes after it (`build`). Of a build
without clusters that only compares two plans, manifests are made when somebody looks at them (`OnDemand`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set

from gitfed.model.base import Body, ClusterName, ObjectKey, Problem, Severity
from gitfed.model.decided_objects import DecidedObjects
from gitfed.model.fleet import LiveObject
from gitfed.model.keys import WAIT_ANNOTATION
from gitfed.model.plan import Action, Binding, Change, RenderedManifest, Write
from gitfed.model.reason import Reason, ReasonCode
from gitfed.model.repo import Manifest
from gitfed.planning import dependencies, prefetch, schema_check
from gitfed.planning.build_cache import BuildContext, CompareStage, Memo, PlanItem, RenderStage
from gitfed.planning.context import PlacementResult
from gitfed.planning.objects import compare, prune
from gitfed.planning.objects.availability_floor import Floor
from gitfed.planning.objects.retain import RetainError
from gitfed.planning.ordering import order, waves
from gitfed.render import manifest as render_manifest

_NOTHING: Mapping[ClusterName, LiveObject] = {}


def item(
    memo: Memo,
    world: BuildContext,
    manifest: Manifest,
    bound: PlacementResult,
    bodies: Mapping[ClusterName, Body] | None = None,
    *,
    alike: PlanItem | None = None,
) -> PlanItem:
    """One object through render and compare, each step only if something it reads is another object now.

    `alike`: what another draft of this plan made of it, which is taken where its answer is the same.
    """
    if alike is not None and (alike.bound is bound or alike.bound == bound):
        return alike
    cached = memo.items.get(manifest.key)
    fresh = (
        cached is None
        or cached.manifest is not manifest
        or cached.candidates is not world.candidates
        or cached.bodies != bodies
        or (cached.bound is not bound and cached.bound != bound)
    )
    if (
        cached is not None
        and fresh
        and cached.manifest is manifest
        and cached.places is world.places
        and (cached.bodies == bodies and _alike(cached.bound, bound))
    ):
        # The same answer from other facts: what was rendered and compared with it still stands.
        cached.candidates, cached.bound, fresh = world.candidates, bound, False
    if fresh:
        item = PlanItem(
            manifest=manifest,
            candidates=world.candidates,
            places=world.places,
            bound=bound,
            bodies=bodies,
            wave=order.position(manifest),
            depends=order.depends(manifest),
            faults=tuple(order.faults(manifest)),
        )
        if cached is not None:
            item.rendering.manifests = cached.rendering.manifests
    else:
        assert cached is not None
        item = cached
        item.bound = bound
    if not world.rendering.lazily and _is_rendered_otherwise(world, item.rendering):
        _render(world, item)
        fresh = True
    live = world.fleet.live.objects.get(manifest.key, _NOTHING) if world.fleet.live is not None else None
    if fresh or _compares_otherwise(world, manifest.key, item.comparison, live):
        settled, repaired = world.settled(manifest.key), world.to_repair(manifest.key)
        item.comparison = CompareStage(live, world.live_clusters, settled, repaired)
        item.comparison.changes = () if live is None else tuple(_changes(world, item, live))
        memo.recomputed += 1
    if item is not cached:
        memo.items[manifest.key] = item
    return item


def _is_rendered_otherwise(world: BuildContext, last: RenderStage) -> bool:
    return last.overrides is not world.overrides or last.judge is not world.judge or last.ask_again


def _compares_otherwise(
    world: BuildContext, key: ObjectKey, last: CompareStage, live: Mapping[ClusterName, LiveObject] | None
) -> bool:
    if live is not last.live or last.ask_again:
        return True
    # Where nothing is to be done, it is not because of how the clusters are, and whether a difference is drift matters
    # only where there is one: a push must not compare everything again.
    return bool(last.changes) and (
        last.live_clusters is not world.live_clusters
        or last.drift_known != world.settled(key)
        or last.repaired != world.to_repair(key)
    )


def is_seen(item: PlanItem) -> bool:
    """Whether what is known of the clusters has an entry for it."""
    return item.comparison.live is not None and item.comparison.live is not _NOTHING


def _alike(bound: PlacementResult, other: PlacementResult) -> bool:
    """Whether two answers differ at most in what they say of clusters that are not chosen."""
    if bound is other or bound.essence is other.essence:
        return True
    return bound.binding.with_rejections(other.binding.reasons.rejections) == other.binding


def _render(world: BuildContext, item: PlanItem) -> None:
    stage = item.rendering
    stage.overrides, stage.judge = world.overrides, world.judge
    if world.rendering.outlines is not None and item.bodies is None:
        stage.manifests, stage.problems = world.rendering.outlines.of(item.manifest, item.binding), ()
        return
    result = _manifests(world, item.manifest, item.binding, item.bodies)
    before = {rendered.digest: rendered for rendered in stage.manifests}
    # Keep the old value where it is equal: bodies are shared with whatever compared them before.
    stage.manifests = tuple(
        before[new.digest] if new.digest in before and before[new.digest] == new else new for new in result.rendered
    )
    stage.failed, stage.problems, stage.ask_again = result.failed, result.problems, result.ask_again
    stage.digest = _item_digest(item)


def _render_context(world: BuildContext) -> render_manifest.RenderContext:
    return render_manifest.RenderContext(
        world.by_name, world.overrides, world.interpreter, world.repo.settings.metadata.name
    )


def _part(
    world: BuildContext, manifest: Manifest, binding: Binding, part: render_manifest.ShareGroup
) -> render_manifest.Rendered:
    result = render_manifest.of_parts(manifest, binding, [part], _render_context(world))
    return schema_check.checked(world.judge, manifest, result, world.by_name, world.overrides)


def _manifests(
    world: BuildContext, manifest: Manifest, binding: Binding, bodies: Mapping[ClusterName, Body] | None
) -> render_manifest.Rendered:
    federation = world.repo.settings.metadata.name
    if bodies is not None:
        return render_manifest.each(manifest, binding, bodies, federation=federation)
    if not binding.scheduled.shares:
        return render_manifest.Rendered(problems=schema_check.unplaced(world.judge, manifest))
    result = render_manifest.render(manifest, binding, _render_context(world))
    return schema_check.checked(world.judge, manifest, result, world.by_name, world.overrides)


def _changes(world: BuildContext, item: PlanItem, live: Mapping[ClusterName, LiveObject]) -> Iterator[Change]:
    # Copies that are nearly all as they were decided know which are not: nothing is to be done about the others.
    doubtful = live.unlike(item.rendering.manifests) if isinstance(live, DecidedObjects) else None
    if doubtful is not None and not doubtful:
        return
    settings = world.repo.settings.spec
    waits = compare.annotation(item.manifest.body, WAIT_ANNOTATION) != "false"
    context = compare.Context(
        manifest=item.manifest,
        binding=item.binding,
        clusters=world.live_clusters,
        position=item.wave,
        depends_on=order.dependencies(item.manifest),
        interpreter=world.interpreter,
        repaired=item.comparison.repaired,
        prune=settings.sync.prune,
        unsettled=world.settled(item.manifest.key),
        needed=dependencies.still_needed(item.binding),
        floor=Floor(item.binding, item.rendering.manifests, live, world.interpreter, functools.partial(_exact, world))
        if waits
        else None,
    )
    wanted: set[ClusterName] = set()
    prefetch.comparing(item.rendering.manifests, live, world.interpreter)
    for rendered in item.rendering.manifests:
        for name in rendered.clusters:
            if doubtful is None or name in doubtful:
                wanted.add(name)
                change = _wanted(world, item, context, rendered, name, live)
                if change is not None:
                    yield change
    for name, reason in item.rendering.failed.items():
        wanted.add(name)
        yield compare.unrenderable(context, name, live.get(name), reason)
    present = live.keys() if doubtful is None else {name for name in doubtful if name in live}
    unwanted = sorted(present - wanted)
    placed = item.binding.scheduled.clusters if unwanted else frozenset()
    for name in unwanted:
        if name in placed:
            # Decided, and no longer declared: the decision is held because the cluster's file cannot be used.
            unusable = Reason(ReasonCode.REPOSITORY_INCOMPLETE, detail=f"no file that can be used declares {name}")
            yield compare.make(context, name, Action.KEEP, unusable, Write(), live[name])
            continue
        change = prune.unwanted(context, name, live[name], live)
        if change is not None and change.reason.code is ReasonCode.REPLACEMENT_AWAITED:
            change = _reduced(world, item, context, live[name]) or change
        if change is not None:
            yield change


def _wanted(
    world: BuildContext,
    item: PlanItem,
    context: compare.Context,
    rendered: RenderedManifest,
    name: ClusterName,
    live: Mapping[ClusterName, LiveObject],
) -> Change | None:
    copy = live.get(name)
    if world.rendering.outlines is not None and world.rendering.outlines.is_outline(rendered):
        made = world.rendering.outlines.made(rendered.digest, name, functools.partial(_part, world))
        item.rendering.problems = (*item.rendering.problems, *made.problems)
        if not made.rendered:
            return compare.unrenderable(context, name, copy, made.failed[name]) if made.failed else None
        rendered = made.rendered[0]
        if copy is not None:
            copy = world.rendering.outlines.as_made(copy, functools.partial(_part, world))
    try:
        return compare.wanted(context, rendered, name, copy)
    except RetainError as error:
        change = compare.unretained(context, rendered, name, copy, error)
        item.comparison.ask_again = item.comparison.ask_again or not error.permanent
        if change is not None:
            _note_unretained(item, error)
        return change


def _exact(world: BuildContext, rendered: RenderedManifest, name: ClusterName) -> RenderedManifest | None:
    """The manifest of a class in one cluster, where manifests are made when they matter."""
    if world.rendering.outlines is None or not world.rendering.outlines.is_outline(rendered):
        return rendered
    return next(
        iter(world.rendering.outlines.made(rendered.digest, name, functools.partial(_part, world)).rendered), None
    )


def _reduced(world: BuildContext, item: PlanItem, context: compare.Context, copy: LiveObject) -> Change | None:
    """A copy that leaves, with as many replicas as it has to keep; None: with all that it has."""
    kept = context.floor.kept_of(copy.cluster) if context.floor is not None else None
    had = copy.entry.replicas if copy.entry is not None else None
    if context.floor is None or not kept or not had or kept >= had:
        return None
    made = [
        _part(world, item.manifest, item.binding, render_manifest.ShareGroup(count, None, (), (copy.cluster,))).rendered
        for count in (had, kept)
    ]
    if not all(made):
        return None
    if world.rendering.outlines is not None:
        copy = world.rendering.outlines.as_made(copy, functools.partial(_part, world))
    try:
        return compare.reduced(context, made[0][0], made[1][0], copy, context.floor.reason(kept))
    except RetainError:
        return None


def _note_unretained(item: PlanItem, error: RetainError) -> None:
    manifest = item.manifest
    message = f"{manifest.key}: what the clusters keep is unknown: {error}"
    problem = Problem(manifest.origin, message, "what is there stays as it is", Severity.WARNING, error.cause)
    item.comparison.problems = (*item.comparison.problems, problem)


def placed(item: PlanItem) -> waves.Placed:
    return waves.Placed(
        item.manifest.key,
        item.wave,
        frozenset(name for rendered in item.rendering.manifests for name in rendered.clusters),
        item.comparison.live or _NOTHING,
        waited_for=compare.annotation(item.manifest.body, WAIT_ANNOTATION) != "false",
    )


def _item_digest(item: PlanItem) -> bytes:
    """Over the decision and the rendering of one template."""
    parts = [str(item.manifest.key), *(f"{share.cluster}={share.replicas}" for share in item.binding.scheduled.shares)]
    parts += [f"{rendered.digest}:{','.join(rendered.clusters)}" for rendered in item.rendering.manifests]
    return hashlib.sha256("\n".join(parts).encode()).digest()


class OnDemand(Mapping[ObjectKey, tuple[RenderedManifest, ...]]):
    """Manifests that are rendered when they are looked at."""

    def __init__(self, world: BuildContext, items: Iterable[PlanItem]) -> None:
        self._world = world
        # What is asked for is kept, not the item: a later build with the same memo may change that.
        self._asked = {item.manifest.key: (item.manifest, item.binding, item.bodies) for item in items}
        self._known: dict[ObjectKey, tuple[RenderedManifest, ...]] = {}
        self.problems: list[Problem] = []
        """Of those that were looked at."""

    def __getitem__(self, key: ObjectKey) -> tuple[RenderedManifest, ...]:
        rendered = self._known.get(key)
        if rendered is None:
            world, (manifest, binding, bodies) = self._world, self._asked[key]
            result = _manifests(world, manifest, binding, bodies)
            self.problems += result.problems
            rendered = self._known[key] = result.rendered
        return rendered

    def within(self, key: ObjectKey, clusters: Set[ClusterName]) -> tuple[RenderedManifest, ...]:
        """The manifests of a template in these clusters alone, not kept."""
        world, (manifest, binding, _) = self._world, self._asked[key]
        wanted = [
            part._replace(clusters=names)
            for part in render_manifest.parts(manifest, binding)
            if (names := tuple(name for name in part.clusters if name in clusters))
        ]
        result = render_manifest.of_parts(manifest, binding, wanted, _render_context(world))
        result = schema_check.checked(world.judge, manifest, result, world.by_name, world.overrides)
        self.problems += result.problems
        return result.rendered

    def unlike(self, other: OnDemand, namespace: str) -> Iterator[ClusterName]:
        """Clusters where a template of this namespace can get other manifests from other clusters and overrides."""
        mine, theirs = self._world, other._world
        for name in mine.by_name.keys() | theirs.by_name.keys():
            if mine.judge is not theirs.judge or mine.by_name.get(name) != theirs.by_name.get(name):
                yield name
        for rule in mine.overrides.rules_unlike(theirs.overrides, namespace):
            yield from (name for world in (mine, theirs) for name, place in world.by_name.items() if rule.hits(place))

    def __contains__(self, key: object) -> bool:
        return key in self._asked

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)
