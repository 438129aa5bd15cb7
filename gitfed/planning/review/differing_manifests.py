"""The manifests of both sides of a review, made only where they can differ.

A rule of an override reaches a few clusters of every template: ten thousand templates in a hundred clusters are not
rendered twice to find five of these. What can differ is told by clusters, and generously: one that is named for nothing
is rendered for nothing, one that is missed would hide a change.
"""

from __future__ import annotations

from typing import TypeAlias

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Plan, RenderedManifest
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.review import affected_objects
from gitfed.planning.template_pipeline import OnDemand

Classes: TypeAlias = tuple[RenderedManifest, ...]


class DifferingManifests:
    """By object, what both plans render for clusters where that can differ."""

    def __init__(self, base_repo: RepoSnapshot, head_repo: RepoSnapshot, base: Plan, head: Plan) -> None:
        self._base, self._head = base, head
        self._templates = base_repo.manifests, head_repo.manifests
        self._kinds = affected_objects.kinds_of_scripts(base_repo, head_repo)
        self._alike = affected_objects.renders_alike(base_repo, head_repo)
        self._by_namespace: dict[str, frozenset[ClusterName]] = {}
        self._known: dict[ObjectKey, tuple[Classes, Classes]] = {}

    def of(self, key: ObjectKey) -> tuple[Classes, Classes]:
        """(base, head). The same clusters are left out of both."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._of(key)
        return known

    def _of(self, key: ObjectKey) -> tuple[Classes, Classes]:
        base, head = self._base.rendered, self._head.rendered
        if isinstance(base, OnDemand) and isinstance(head, OnDemand) and self._differs_by_overrides(key):
            where = self._clusters(key.namespace, base, head)
            before, after = base.within(key, where), head.within(key, where)
            if _places(before) == _places(after):
                return before, after
            # An override fails on one side alone: then it is told beside clusters where it does not.
        return base.get(key, ()), head.get(key, ())

    def _differs_by_overrides(self, key: ObjectKey) -> bool:
        """Whether nothing but overrides, and the clusters that they aim at, can make its manifests differ."""
        older, newer = (templates.get(key) for templates in self._templates)
        was, will = self._base.bindings.get(key), self._head.bindings.get(key)
        return (
            self._alike
            and older is not None
            and older is newer
            and was is not None
            and will is not None
            and not affected_objects.placed_otherwise(was, will)
            and (will.api_version, key.kind) not in self._kinds
        )

    def _clusters(self, namespace: str, base: OnDemand, head: OnDemand) -> frozenset[ClusterName]:
        where = self._by_namespace.get(namespace)
        if where is None:
            where = self._by_namespace[namespace] = frozenset(base.unlike(head, namespace))
        return where


def _places(classes: Classes) -> set[ClusterName]:
    return {name for rendered in classes for name in rendered.clusters}
