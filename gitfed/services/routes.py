"""From where to where endpoints go: one route for each MultiClusterService and each ServiceImport that has a source.

A Service is provided where its ServiceExport was placed, or by the clusters that a MultiClusterService names; it is
consumed where its ServiceImport was placed, or by the clusters that it names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.declared.services import MultiClusterService
from gitfed.model.keys import DISPATCH_MANAGER, IMPORT_MANAGER
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.services import derived, placement
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Route:
    by: ObjectKey
    """Who asks for it: a MultiClusterService or a ServiceImport."""
    source: ObjectKey
    """The Service whose slices are collected."""
    target: ObjectKey
    """The Service that gets them."""
    providers: frozenset[ClusterName]
    consumers: frozenset[ClusterName]
    ports: frozenset[str] | None = None
    """Names of the Service's ports; None: all."""

    @property
    def is_import(self) -> bool:
        return self.source != self.target

    @property
    def manager(self) -> str:
        return IMPORT_MANAGER if self.is_import else DISPATCH_MANAGER

    def provides(self, provider: ClusterName, consumer: ClusterName) -> bool:
        """A Service that selects pods has its own endpoints where it consumes; a derived one has none."""
        return provider in self.providers and (self.is_import or provider != consumer)


Placed = Mapping[ObjectKey, Collection[ClusterName]]
"""Where each object goes, by the plan."""


def of(repo: RepoSnapshot, placed: Placed) -> tuple[Route, ...]:
    """Sorted by who asks. A cluster that nobody declares any more has left, unless its file cannot be read."""
    if repo.complete:
        placed = {key: [name for name in names if name in repo.clusters] for key, names in placed.items()}
    return tuple(sorted((*_exposed(repo, placed), *_imported(repo, placed)), key=lambda route: route.by))


def _exposed(repo: RepoSnapshot, placed: Placed) -> Iterator[Route]:
    for declared in placement.acted_on(repo):
        there = set(placed.get(declared.service, ()))
        if not there:
            continue
        providers = there.intersection(declared.providers) if declared.providers else there
        consumers = there.intersection(declared.consumers) if declared.consumers else there
        ports = exposed_ports(declared, repo.manifests.get(declared.service))
        service = declared.service
        yield Route(declared.key, service, service, frozenset(providers), frozenset(consumers), ports)


def _imported(repo: RepoSnapshot, placed: Placed) -> Iterator[Route]:
    for manifest in derived.imports(repo.manifests):
        key = manifest.key
        if derived.service(manifest) is None:
            continue
        exported = ObjectKey(*derived.EXPORT, key.namespace, key.name)
        providers, consumers = set(placed.get(exported, ())), set(placed.get(key, ()))
        if providers and consumers:
            source = ObjectKey("", "Service", key.namespace, key.name)
            yield Route(key, source, derived.key_of(key), frozenset(providers), frozenset(consumers))


def exposed_ports(declared: MultiClusterService, service: Manifest | None) -> frozenset[str] | None:
    """The names by which slices know the ports that are exposed; None: all of them.

    A port that is given by its number has the name that the Service gives to that number.
    """
    if not declared.spec.ports:
        return None
    by_number = {port.get("port"): str(port.get("name") or "") for port in ports_of(service)}
    return frozenset(port.name or by_number.get(port.port, "") for port in declared.spec.ports)


def ports_of(service: Manifest | None) -> list[Mapping[str, Any]]:
    spec = service.body.get("spec") if service is not None else None
    ports = spec.get("ports") if isinstance(spec, Mapping) else None
    return [port for port in ports if isinstance(port, Mapping)] if isinstance(ports, list) else []
