"""What stands in clusters of ours although nothing renders it: copies that outlived their policy or their template,
and what such a copy needs.

A review sees no cluster, so it goes by the decisions: a template that no policy selects keeps its last one, which names
the clusters where its orphans are; that of a template which is gone is kept as long as a copy may be left
(`gate.decisions_to_record`). What such a copy holds nobody knows from Git: it is as it was when it was written last.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.objects import prune
from gitfed.render import namespaces

AS_LEFT = "as-it-was-left"
"""The uid of such a copy, as long as nobody has looked at it."""
Copies = Mapping[ObjectKey, Mapping[ClusterName, LiveObject]]


def by_earlier(repo: RepoSnapshot, base: Plan, decisions: Decisions) -> Copies:
    """Of the base `repo`. `decisions`: those that it leaves behind, with those of templates that are gone."""
    objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
    for key, binding in base.bindings.items():
        if is_orphan(binding) and binding.decision is not None:
            placed = _placed(base, key)
            names = [share.cluster for share in binding.decision.targets if share.cluster not in placed]
            if names:
                objects[key] = {name: _copy(repo, key, name) for name in names}
    for key in decisions.bindings.keys() - base.bindings.keys():
        if decisions.bindings[key].targets:
            objects[key] = {share.cluster: _copy(repo, key, share.cluster) for share in decisions.bindings[key].targets}
    for key, binding in base.bindings.items():
        if where := _needed(binding, base, objects):  # few are: manifests are made when somebody looks at them
            for name in sorted(where - _placed(base, key)):
                objects.setdefault(key, {})[name] = _copy(repo, key, name)
    return _with_namespaces(repo, base, objects)


def is_orphan(binding: Binding) -> bool:
    """No policy selects its template: its copies stay as they are."""
    return binding.scheduled.policy is None and not binding.attached


def _placed(plan: Plan, key: ObjectKey) -> set[ClusterName]:
    return {name for rendered in plan.rendered.get(key, ()) for name in rendered.clusters}


def _needed(binding: Binding, base: Plan, earlier: Copies) -> set[ClusterName]:
    """Clusters that it left, but where a copy stays as it is that may refer to it.

    A plan that sees the clusters names every copy (`dependencies.still_needed`). Most of those go or are written soon,
    and then so does what they needed; a review says where that ends.
    """
    required = binding.decision.ownership.required_by if binding.decision is not None else ()
    return {
        name
        for requirement in required
        for name in requirement.still_in
        if stays_as_it_is(requirement.owner, name, base, base, earlier)
    }


def stays_as_it_is(owner: ObjectKey, cluster: ClusterName, plan: Plan, base: Plan, earlier: Copies) -> bool:
    """Whether a copy that may be there is not written by `plan`, and not deleted."""
    binding = plan.bindings.get(owner)
    if binding is None:
        was = base.bindings.get(owner)
        return owner in earlier if was is None else outlives(was)
    if is_orphan(binding) or binding.terms.suspended is None:
        return True
    where = binding.scheduled.clusters
    if cluster in where:
        return cluster in binding.terms.suspended
    # What left a cluster stays there until what takes its place is healthy, and what is suspended never is.
    return outlives(binding) or not binding.terms.suspended.isdisjoint(where)


def outlives(binding: Binding) -> bool:
    """Whether its copies stay where it does not go any more."""
    return binding.terms.preserve or (binding.decision is not None and binding.decision.ownership.kept)


def _with_namespaces(repo: RepoSnapshot, base: Plan, objects: dict[ObjectKey, dict[ClusterName, LiveObject]]) -> Copies:
    """What holds something is there too."""
    for key, copies in list(objects.items()):
        if not key.namespace or namespaces.is_reserved(key.namespace, repo.settings):
            continue
        space = ObjectKey("", "Namespace", "", key.namespace)
        for name in copies.keys() - _placed(base, space):
            objects.setdefault(space, {})[name] = _copy(repo, space, name)
    return objects


def _copy(repo: RepoSnapshot, key: ObjectKey, cluster: ClusterName) -> LiveObject:
    manifest = repo.manifests.get(key)
    return LiveObject(
        key,
        cluster,
        AS_LEFT,
        "",
        ours=True,
        health=Health.CURRENT,
        protected=manifest is not None and prune.is_kept(manifest.body),
        deletion_protected=manifest is not None and prune.is_protected(manifest.body),
    )
