"""What would be done to clusters that stand as the base left them: the changes of a review.

`compare` decides about objects that were read from a cluster. A review reads none: what the base renders is taken to
be there, ours and healthy, so that only what means something else is written (`applied`), and so is what `leftovers`
knows of earlier commits. Where a policy lets nothing be written, what is there is not known from Git; then the change
says that it goes as far as it has to.

What stays because something else stays is `retained_dependents`'s question. Which limits hold the changes is `gate`'s,
as always; `review` asks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, Digest, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive, Health, LiveObject
from gitfed.model.plan import Action, Binding, Change, Plan, RenderedManifest, Turn, Write
from gitfed.model.reason import Reason, ReasonCode
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.planning.objects import compare, manifest_diff, prune
from gitfed.planning.ordering import order
from gitfed.planning.review import leftovers
from gitfed.planning.review.differing_manifests import DifferingManifests
from gitfed.render import namespaces
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Sides:
    """What is known when an object is looked at. `decisions`: those that the base leaves behind."""

    repo: RepoSnapshot
    """The head, with the limits of the base."""
    base: Plan
    head: Plan
    decisions: Decisions
    interpreter: Interpreter
    left_over: leftovers.Copies
    manifests: DifferingManifests


def by_cluster(classes: Sequence[RenderedManifest]) -> dict[ClusterName, RenderedManifest]:
    return {cluster: rendered for rendered in classes for cluster in rendered.clusters}


def changes(sides: Sides, touched: Sequence[ObjectKey]) -> Iterator[Change]:
    """In the order of `touched`: the only objects whose manifests can differ."""
    clusters = {name: ClusterLive(name, inventory_read=True) for name in sides.head.clusters}
    for key in touched:
        if not _is_the_same(sides, key):
            yield from _of(sides, key, clusters)


def _is_the_same(sides: Sides, key: ObjectKey) -> bool:
    before, after = _manifests(sides, key)
    if before is not after and before != after:
        return False
    was, will = sides.base.bindings.get(key), sides.head.bindings.get(key)
    if was is None or will is None:
        return key not in sides.left_over
    return was.terms.suspended == will.terms.suspended and (key not in sides.left_over or leftovers.is_orphan(will))


def _manifests(sides: Sides, key: ObjectKey) -> tuple[Sequence[RenderedManifest], Sequence[RenderedManifest]]:
    """(base, head); of an object that earlier commits left somewhere in all clusters, else where they can differ."""
    was, will = sides.base.bindings.get(key), sides.head.bindings.get(key)
    if key in sides.left_over or was is None or will is None or was.terms.suspended != will.terms.suspended:
        return sides.base.rendered.get(key, ()), sides.head.rendered.get(key, ())
    return sides.manifests.of(key)


def _of(sides: Sides, key: ObjectKey, clusters: Mapping[ClusterName, ClusterLive]) -> Iterator[Change]:
    before, after = _manifests(sides, key)
    old = by_cluster(before)
    earlier = sides.left_over.get(key, {})
    live = {**_as_left(before), **earlier}
    was, will = sides.base.bindings.get(key), sides.head.bindings.get(key)
    if will is None:
        for change in _leavers(sides, key, live, clusters):
            yield _if_it_is_there(change, was)
        return
    new = by_cluster(after)
    context = _context(sides, key, [*after, *before], clusters)
    same = _Meaning(sides.interpreter)
    for name in sorted(new):
        rendered = new[name]
        waited, waits = _is_suspended(was, name), _is_suspended(will, name)
        if name in old and (waits or not waited) and same.of(old[name], rendered):
            continue
        change = _written(context, name, rendered, live.get(name))
        if waits:
            change = replace(change, action=Action.SKIP, reason=Reason(ReasonCode.SUSPENDED_BY_POLICY))
        elif name in earlier:
            change = replace(change, reason=Reason(ReasonCode.LEFT_EARLIER))
        elif waited and name in old:
            change = replace(change, reason=Reason(ReasonCode.SUSPENSION_ENDED))
        elif change.action is Action.CREATE and namespaces.is_namespace(key):
            change = replace(change, reason=Reason(ReasonCode.UNLESS_PRESENT))  # somebody's serves as well
        elif change.action is Action.CREATE and was is not None and leftovers.outlives(was):
            change = replace(change, reason=Reason(ReasonCode.UNLESS_LEFT_BEHIND))
        yield change
    placed = context.binding.scheduled.clusters
    # A replacement is expected to become healthy, if it is written: a review shows where things end.
    leaving = sorted(live.keys() - new.keys())
    there = {name for name in new if not _is_suspended(will, name) or (name in old and not _is_suspended(was, name))}
    copies = {name: copy for name, copy in _as_left(after).items() if name in there} if leaving else {}
    for name in leaving:
        if name in earlier and leftovers.is_orphan(will):
            continue  # as before
        if name in placed:
            yield compare.unrenderable(context, name, live[name], "cannot be rendered: what is there stays")
        elif name not in clusters:
            if name not in sides.decisions.cleaned:
                yield _undeclared(key, name, live[name], context.manifest.api_version)
        elif unwanted := prune.unwanted(context, name, live[name], copies):
            yield _if_it_is_there(_in_the_end(unwanted, will), was)


class _Meaning:
    """Whether two manifests of one object mean the same. Most clusters share theirs."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._known: dict[tuple[Digest, Digest], bool] = {}

    def of(self, old: RenderedManifest, new: RenderedManifest) -> bool:
        if old.digest == new.digest:
            return True
        pair = old.digest, new.digest
        if pair not in self._known:
            self._known[pair] = not manifest_diff.differs(old.body, new.body, self._interpreter)
        return self._known[pair]


def is_of_earlier(change: Change) -> bool:
    """Whether it is about what earlier commits left in the clusters, so that no difference of manifests shows it."""
    writes = change.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
    return writes and (
        change.reason.code is ReasonCode.SUSPENSION_ENDED
        or change.reason.if_present
        or (change.live is not None and change.live.uid == leftovers.AS_LEFT)
    )


def _in_the_end(change: Change, binding: Binding) -> Change:
    """An evicted copy goes when what takes its place is healthy, as a moved one does."""
    task = next((eviction for eviction in binding.evictions if eviction.from_cluster == change.cluster), None)
    if change.reason.code is not ReasonCode.EVICTION_WAITS or task is None or task.suppress_deletion:
        return change
    return replace(change, action=Action.DELETE, reason=Reason(ReasonCode.EVICTED_AFTERWARDS))


def _is_suspended(binding: Binding | None, cluster: ClusterName) -> bool:
    """Whether the policy lets nothing be written there. What is there then, Git alone does not tell."""
    return binding is not None and (binding.terms.suspended is None or cluster in binding.terms.suspended)


def _if_it_is_there(change: Change, was: Binding | None) -> Change:
    if change.action is not Action.DELETE or not _is_suspended(was, change.cluster):
        return change
    return replace(change, reason=replace(change.reason, if_present=True))


def _written(
    context: compare.Context, cluster: ClusterName, rendered: RenderedManifest, live: LiveObject | None
) -> Change:
    return Change(
        cluster=cluster,
        key=context.manifest.key,
        api_version=context.manifest.api_version,
        action=Action.CREATE if live is None else Action.UPDATE,
        live=live,
        write=Write(rendered),
        turn=Turn(context.position.wave, context.position.order),
    )


def _undeclared(key: ObjectKey, cluster: ClusterName, live: LiveObject, api_version: str) -> Change:
    reason = Reason(ReasonCode.CLUSTER_UNDECLARED)
    return Change(cluster, key, api_version, Action.KEEP, reason, live=live)


def _leavers(
    sides: Sides, key: ObjectKey, live: Mapping[ClusterName, LiveObject], clusters: Mapping[ClusterName, ClusterLive]
) -> Iterator[Change]:
    repo, past = sides.repo, sides.decisions.bindings.get(key)
    for name in sorted(live):
        if name not in clusters:
            if name not in sides.decisions.cleaned:
                yield _undeclared(key, name, live[name], past.api_version if past else "")
            continue
        change = prune.leaver(
            live[name],
            clusters[name],
            prune=repo.settings.spec.sync.prune,
            past=past,
            unread=repo.why_kept(key) or prune.meant_by(key, sides.head.bindings),
        )
        if change is not None:
            yield change


def _context(
    sides: Sides,
    key: ObjectKey,
    copies: Sequence[RenderedManifest],
    clusters: Mapping[ClusterName, ClusterLive],
) -> compare.Context:
    repo = sides.repo
    binding = sides.head.bindings[key]
    manifest = repo.manifests.get(key)
    if manifest is None:
        # Not a file's: a namespace that objects need, or a quota for single clusters. Any copy says what it is.
        first = copies[0]
        manifest = Manifest(key, binding.api_version, first.body, binding.origin, first.digest)
    settings = repo.settings.spec.sync
    return compare.Context(
        manifest=manifest,
        binding=binding,
        clusters=clusters,
        position=order.position(manifest),
        depends_on=order.dependencies(manifest),
        interpreter=sides.interpreter,
        repaired=None if settings.self_heal else frozenset(),
        prune=settings.prune,
        unsettled=None,
    )


def _as_left(classes: Sequence[RenderedManifest]) -> dict[ClusterName, LiveObject]:
    """The objects as the base left them: ours, and healthy."""
    copies = {}
    for rendered in classes:
        protected, deletion_protected = prune.is_kept(rendered.body), prune.is_protected(rendered.body)
        for cluster in rendered.clusters:
            copies[cluster] = LiveObject(
                rendered.key,
                cluster,
                "as-the-base-left-it",
                "",
                ours=True,
                body=rendered.body,
                matches=rendered.digest,
                health=Health.CURRENT,
                protected=protected,
                deletion_protected=deletion_protected,
            )
    return copies
