"""What one commit changes against another, when both were planned from the same facts and decisions.

`build` answers what is to be done about the clusters; a review happens before anybody looks at one. So the fleet is
taken to be as the base left it, and the same rules (`compare`, `gate`) say what the head would do to that: what is
created, updated, moved or deleted, what stays and why, and which limits hold it. The limits are the base's: a change
under review must not raise its own.

Beside the objects stand their `causes`. Secrets are masked here, where the differences are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitfed.change import build, causes, compare, extent, gate, order, redact, remove
from gitfed.change.bystanders import NOBODY, Beside
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey, Problem
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive, Health, LiveObject
from gitfed.model.plan import Action, Change, Gate, Plan, RenderedManifest, Totals
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.render import namespaces


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
    declared: tuple[causes.Declaration, ...]
    flows: tuple[Flow, ...]
    changes: tuple[Change, ...]
    """Without field differences: `rendered` has the body, `live` what the base left there."""
    gates: tuple[Gate, ...]
    totals: Totals
    touched: tuple[ObjectKey, ...]
    """Objects whose manifests can differ, sorted; no other needs to be looked at."""
    hidden: redact.Hidden

    @property
    def empty(self) -> bool:
        """Merging changes nothing: not in a cluster, not in what is declared."""
        return not (self.declared or self.changes or self.flows) and not _placed_otherwise(self.base, self.head)


def with_limits_of(base: RepoSnapshot, head: RepoSnapshot) -> RepoSnapshot:
    """The head as it may be looked at: with the limits of the base."""
    spec = head.settings.spec.model_copy(update={name: getattr(base.settings.spec, name) for name in causes.LIMITS})
    settings = head.settings.model_copy(update={"spec": spec})
    return head if settings == head.settings else replace(head, settings=settings.at(head.settings.origin))


def review(
    base_repo: RepoSnapshot,
    head_repo: RepoSnapshot,
    base: Plan,
    head: Plan,
    decisions: Decisions,
    interpreter: Interpreter,
    beside: Beside = NOBODY,
) -> Review:
    """`head_repo` as it stands in its commit; `head` planned `with_limits_of` the base, from `decisions`: those that
    the base leaves behind. `beside`: of templates that neither plan holds."""
    hidden = redact.Hidden(_secrets(base_repo, head_repo, base, head))
    base, head = (replace(plan, problems=_without(hidden, plan.problems)) for plan in (base, head))
    limited = with_limits_of(base_repo, head_repo)
    touched = sorted(extent.differing(base_repo, head_repo, base, head))
    changes = list(_changes(limited, base, head, decisions, interpreter, touched))
    # Everything that we own before the change, for limits that are parts of it.
    owned = sum(len(binding.shares) for binding in base.bindings.values())
    gates, changes = gate.hold(
        changes, head.bindings, repo=limited, decisions=replace(decisions, known=True, descends=True), live=None,
        beside=replace(beside, copies=beside.copies + owned),
    )  # fmt: skip
    changes = _with_what_is_held(changes)
    differing = {change.key for change in changes} | _placed_otherwise(base, head)
    declared = tuple(causes.declared(base_repo, head_repo, base, head, differing, touched, hidden, beside.placed))
    return Review(
        base=base,
        head=head,
        declared=declared,
        flows=tuple(_flows(base, head)),
        changes=tuple(changes),
        gates=(*gates, *(one for one in head.gates if not one.consent)),
        totals=build.totals(changes, of_clusters=len(head.clusters)),
        touched=tuple(touched),
        hidden=hidden,
    )


# -- what would be done to the clusters ---------------------------------------------------------------------------


def by_cluster(classes: tuple[RenderedManifest, ...]) -> dict[ClusterName, RenderedManifest]:
    return {cluster: rendered for rendered in classes for cluster in rendered.clusters}


def _changes(
    repo: RepoSnapshot,
    base: Plan,
    head: Plan,
    decisions: Decisions,
    interpreter: Interpreter,
    touched: Sequence[ObjectKey],
) -> Iterator[Change]:
    clusters = {name: ClusterLive(name, inventory_read=True) for name in head.clusters}
    for key in touched:
        before, after = base.rendered.get(key, ()), head.rendered.get(key, ())
        if before is after or before == after:
            continue
        old, new = by_cluster(before), by_cluster(after)
        live = {name: _live(one, name) for name, one in old.items()}
        if key not in head.bindings:
            yield from _leavers(repo, key, live, clusters, decisions)
            continue
        context = _context(repo, head, key, old, clusters, interpreter)
        suspended = context.binding.suspended
        for name, rendered in new.items():
            if name in old and old[name].digest == rendered.digest:
                continue
            change = _written(context, name, rendered, live.get(name))
            if suspended is None or name in suspended:
                change = replace(change, action=Action.SKIP, reason="suspended by its policy")
            yield change
        placed = {share.cluster for share in context.binding.shares}
        # A replacement is expected to become healthy: a review shows where things end.
        copies = {name: _live(one, name) for name, one in new.items()}
        for name in sorted(old.keys() - new.keys()):
            if name in placed:
                yield compare.unrenderable(context, name, live[name], "cannot be rendered: what is there stays")
            elif name not in clusters:
                yield _undeclared(key, name, live[name], context.manifest.api_version)
            elif unwanted := remove.unwanted(context, name, live[name], copies):
                yield unwanted


def _with_what_is_held(changes: list[Change]) -> list[Change]:
    """A namespace stays where something in it does (`namespaces_last`)."""
    held: dict[tuple[ClusterName, str], ObjectKey] = {}
    for one in changes:
        if one.key.namespace and one.action in (Action.SKIP, Action.KEEP):
            held.setdefault((one.cluster, one.key.namespace), one.key)
    return [
        replace(one, action=Action.KEEP, reason=f"stays until {held[one.cluster, one.key.name]} has left it")
        if one.action is Action.DELETE and namespaces.is_namespace(one.key) and (one.cluster, one.key.name) in held
        else one
        for one in changes
    ]


def _written(
    context: compare.Context, cluster: ClusterName, rendered: RenderedManifest, live: LiveObject | None
) -> Change:
    return Change(
        cluster=cluster,
        key=context.manifest.key,
        api_version=context.manifest.api_version,
        action=Action.CREATE if live is None else Action.UPDATE,
        rendered=rendered,
        live=live,
        wave=context.position.wave,
        order=context.position.order,
    )


def _undeclared(key: ObjectKey, cluster: ClusterName, live: LiveObject, api_version: str) -> Change:
    reason = "the cluster is no longer declared: its objects stay there untouched"
    return Change(cluster, key, api_version, Action.KEEP, reason, live=live)


def _leavers(
    repo: RepoSnapshot,
    key: ObjectKey,
    live: Mapping[ClusterName, LiveObject],
    clusters: Mapping[ClusterName, ClusterLive],
    decisions: Decisions,
) -> Iterator[Change]:
    past = decisions.bindings.get(key)
    for name in sorted(live):
        if name not in clusters:
            yield _undeclared(key, name, live[name], past.api_version if past else "")
            continue
        change = remove.leaver(
            key, name, live[name], clusters[name],
            prune=repo.settings.spec.sync.prune, complete=repo.complete, preserve=past.preserve if past else False,
            api_version=past.api_version if past else "",
        )  # fmt: skip
        if change is not None:
            yield change


def _context(
    repo: RepoSnapshot,
    head: Plan,
    key: ObjectKey,
    old: Mapping[ClusterName, RenderedManifest],
    clusters: Mapping[ClusterName, ClusterLive],
    interpreter: Interpreter,
) -> compare.Context:
    binding = head.bindings[key]
    manifest = repo.manifests.get(key)
    if manifest is None:
        # Not a file's: a namespace that objects need, or a quota for single clusters. Any copy says what it is.
        one = next(iter([*(rendered for rendered in head.rendered.get(key, ())), *old.values()]))
        manifest = Manifest(key, binding.api_version, one.body, binding.origin, one.digest)
    settings = repo.settings.spec.sync
    return compare.Context(
        manifest=manifest,
        binding=binding,
        clusters=clusters,
        position=order.position(manifest),
        depends_on=order.dependencies(manifest),
        interpreter=interpreter,
        self_heal=settings.self_heal,
        prune=settings.prune and repo.complete,
        unsettled=None,
    )


def _live(rendered: RenderedManifest, cluster: ClusterName) -> LiveObject:
    """The object as the base left it: ours, and healthy."""
    return LiveObject(
        rendered.key, cluster, "as-the-base-left-it", "", ours=True, body=rendered.body, matches=rendered.digest,
        health=Health.CURRENT,
        protected=compare.annotation(rendered.body, compare.PRUNE_ANNOTATION) == "disabled",
    )  # fmt: skip


def _placed_otherwise(base: Plan, head: Plan) -> set[ObjectKey]:
    found = set()
    for key in base.bindings.keys() | head.bindings.keys():
        old, new = base.bindings.get(key), head.bindings.get(key)
        if old is not new and (old.shares if old else ()) != (new.shares if new else ()):
            found.add(key)
    return found


def _flows(base: Plan, head: Plan) -> Iterator[Flow]:
    """Growing and shrinking moves nothing: only what leaves one cluster and arrives in another."""
    for key, new in head.bindings.items():
        old = base.bindings.get(key)
        if old is None or old is new or old.shares == new.shares or new.replicas is None:
            continue
        before = {share.cluster: share.replicas or 0 for share in old.shares}
        after = {share.cluster: share.replicas or 0 for share in new.shares}
        names = sorted(before.keys() | after.keys())
        step = {name: after.get(name, 0) - before.get(name, 0) for name in names}
        leaving = tuple((name, -count) for name, count in step.items() if count < 0)
        arriving = tuple((name, count) for name, count in step.items() if count > 0)
        if leaving and arriving:
            yield Flow(key, leaving, arriving)


def _without(hidden: redact.Hidden, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """A message quotes what is wrong, and that may be a secret in the wrong place."""
    return tuple(replace(one, message=hidden.text(one.message), hint=hidden.text(one.hint)) for one in problems)


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
