"""What stands in clusters of ours although nothing renders it: copies that outlived their policy or their template.

A review sees no cluster, so it goes by the decisions: a template that no policy selects keeps its last one, which names
the clusters where its orphans are; that of a template which is gone is kept as long as a copy may be left
(`gate.decisions_to_record`). What such a copy holds nobody knows from Git: it is as it was when it was written last.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.change import compare, remove
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.render import namespaces

AS_LEFT = "as-it-was-left"
"""The uid of such a copy, as long as nobody has looked at it."""
Copies = Mapping[ObjectKey, Mapping[ClusterName, LiveObject]]


def by_earlier(repo: RepoSnapshot, base: Plan, decisions: Decisions) -> Copies:
    """Of the base `repo`. `decisions`: those that it leaves behind, with those of templates that are gone."""
    found: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
    for key, binding in base.bindings.items():
        decision = _orphaned(binding)
        if decision is not None:
            placed = {name for rendered in base.rendered.get(key, ()) for name in rendered.clusters}
            names = [share.cluster for share in decision.targets if share.cluster not in placed]
            if names:
                found[key] = {name: _copy(repo, key, name) for name in names}
    for key in decisions.bindings.keys() - base.bindings.keys():
        if decisions.bindings[key].targets:
            found[key] = {share.cluster: _copy(repo, key, share.cluster) for share in decisions.bindings[key].targets}
    return _with_namespaces(repo, base, found)


def _with_namespaces(repo: RepoSnapshot, base: Plan, found: dict[ObjectKey, dict[ClusterName, LiveObject]]) -> Copies:
    """What holds something is there too."""
    for key, copies in list(found.items()):
        if not key.namespace or namespaces.is_reserved(key.namespace, repo.settings):
            continue
        space = ObjectKey("", "Namespace", "", key.namespace)
        placed = {name for rendered in base.rendered.get(space, ()) for name in rendered.clusters}
        for name in copies.keys() - placed:
            found.setdefault(space, {})[name] = _copy(repo, space, name)
    return found


def _orphaned(binding: Binding) -> Decision | None:
    return binding.decision if binding.policy is None and not binding.attached else None


def _copy(repo: RepoSnapshot, key: ObjectKey, cluster: ClusterName) -> LiveObject:
    manifest = repo.manifests.get(key)
    return LiveObject(
        key, cluster, AS_LEFT, "", ours=True, health=Health.CURRENT,
        protected=manifest is not None and compare.annotation(manifest.body, compare.PRUNE_ANNOTATION) == "disabled",
        deletion_protected=manifest is not None and remove.is_protected(manifest.body),
    )  # fmt: skip
