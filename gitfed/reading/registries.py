"""What the ResourceRegistries of a commit select in one cluster: kinds, their namespaces, and where they are copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gitfed.model.base import Kind, group_of
from gitfed.model.declared.cluster import Cluster
from gitfed.model.declared.search import OpenSearchConfig, ResourceRegistry
from gitfed.model.fleet import ClusterFacts
from gitfed.placement.scheduling import affinity, cluster
from gitfed.text.values import dataclass


class Selected(NamedTuple):
    api_version: str
    kind: str

    @property
    def group_kind(self) -> Kind:
        return Kind(group_of(self.api_version), self.kind)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a kind: what all registries that select it want together."""

    namespaces: frozenset[str] | None
    """None: all, and what is in none."""
    store: OpenSearchConfig | None = None
    """Where it is copied to, if one of them names a store."""


def of_cluster(registries: Iterable[ResourceRegistry], declared: Cluster) -> dict[Selected, Extent]:
    """A cluster has one store (Karmada): that of the first registry by name that has one."""
    extents: dict[Selected, Extent] = {}
    about = _about(registries, declared)
    store = next((registry.open_search for registry in about if registry.open_search is not None), None)
    for registry in about:
        for wanted in registry.spec.resource_selectors:
            namespaces = frozenset((wanted.namespace,)) if wanted.namespace else None
            key = Selected(wanted.api_version, wanted.kind)
            before = extents.get(key, Extent(frozenset()))
            both = None if before.namespaces is None or namespaces is None else before.namespaces | namespaces
            extents[key] = Extent(both, before.store or (store if registry.open_search is not None else None))
    return extents


def _about(registries: Iterable[ResourceRegistry], declared: Cluster) -> list[ResourceRegistry]:
    candidate = cluster.candidate(declared, ClusterFacts(declared.metadata.name))
    return [registry for registry in registries if affinity.compile(registry.spec.target_cluster)(candidate)]
