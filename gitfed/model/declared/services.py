"""The kinds of networking.karmada.io: services and ingresses of several clusters (Karmada: other capabilities, §6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from gitfed.model.base import ObjectKey
from gitfed.model.declared import names
from gitfed.model.declared.shape import Declared, Finding, Meaningless, Part, Required, Text, warning

GROUP = "networking.karmada.io"
API_VERSION = f"{GROUP}/v1alpha1"
EXPORT_GROUP = "multicluster.x-k8s.io"
"""Of ServiceExport and ServiceImport, which are templates: their objects go to clusters too."""
CROSS_CLUSTER = "CrossCluster"
KIND = "MultiClusterService"
GATE = KIND
"""The feature gate, as the reference calls it."""

_OLDER = "Karmada has deprecated it, and reads it no more"
_NEWER = "use providerClusters and consumerClusters"
_OUTSIDE = Meaningless("it is for the controllers outside that carry it out", silent=True)
_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_Port = Annotated[StrictInt, Field(ge=1, le=65535)]


class ExposurePort(Part):
    name: Text = ""
    port: _Port


class ClusterSelector(Part):
    name: Required


class ExposureRange(Part):
    cluster_names: Annotated[tuple[Text, ...], Meaningless(_OLDER, silent=True)] = ()


class MultiClusterServiceSpec(Part):
    types: tuple[Literal["CrossCluster", "LoadBalancer"], ...]
    ports: tuple[ExposurePort, ...] = ()
    """None: all of the Service."""
    range: Annotated[ExposureRange | None, Meaningless(_OLDER, _NEWER)] = None
    service_provision_clusters: Annotated[tuple[Text, ...], Meaningless(_OLDER, _NEWER)] = ()
    service_consumption_clusters: Annotated[tuple[Text, ...], Meaningless(_OLDER, _NEWER)] = ()
    provider_clusters: tuple[ClusterSelector, ...] = ()
    """None: all clusters."""
    consumer_clusters: tuple[ClusterSelector, ...] = ()
    """None: all clusters."""


class MultiClusterService(Declared):
    """The Service of its name and namespace, reached from other clusters than those where its pods run."""

    kind: Literal["MultiClusterService"]
    spec: MultiClusterServiceSpec

    @property
    def service(self) -> ObjectKey:
        return ObjectKey("", "Service", self.metadata.namespace, self.metadata.name)

    @property
    def crosses_clusters(self) -> bool:
        return CROSS_CLUSTER in self.spec.types

    @property
    def providers(self) -> tuple[str, ...]:
        """By name; none: all clusters."""
        return tuple(selector.name for selector in self.spec.provider_clusters)

    @property
    def consumers(self) -> tuple[str, ...]:
        """By name; none: all clusters."""
        return tuple(selector.name for selector in self.spec.consumer_clusters)

    def findings(self) -> Iterator[Finding]:
        spec, name = self.spec, self.metadata.name
        if len(name) > 63 or not _SERVICE_NAME.fullmatch(name):
            message = f"the name {name} is no name of a Service"
            hint = "at most 63 lowercase letters, digits and -, beginning with a letter"
            yield Finding(("metadata", "name"), message, hint)
        if len(set(spec.types)) > 1:
            yield Finding(("spec", "types"), "types names more than one type", "CrossCluster or LoadBalancer")
        if not spec.types:
            yield warning(("spec", "types"), "types is empty: nothing is done", "CrossCluster")
        if "LoadBalancer" in spec.types:
            hint = "gitfed does CrossCluster"
            yield warning(("spec", "types"), "the type LoadBalancer is left to controllers outside of gitfed", hint)
        yield from _ports(spec.ports)
        yield from spec.without_effect(("spec",))


def _ports(ports: tuple[ExposurePort, ...]) -> Iterator[Finding]:
    seen: set[str] = set()
    numbers: set[int] = set()
    for i, port in enumerate(ports):
        where = ("spec", "ports", i)
        if port.name and (why := names.why_not_dns_label(port.name)):
            yield Finding((*where, "name"), f"the name {port.name} {why}")
        if port.name and port.name in seen:
            yield Finding((*where, "name"), f"the port {port.name} stands twice", "each needs its own name")
        elif port.port in numbers and not port.name:
            yield warning((*where, "port"), f"the port {port.port} stands twice", "leave one")
        seen.add(port.name)
        numbers.add(port.port)


class BackendPort(Part):
    name: Text = ""
    number: _Port | None = None


class BackendService(Part):
    name: Required
    port: BackendPort = Field(default_factory=BackendPort)


class BackendResource(Part):
    api_group: Annotated[Text, _OUTSIDE] = ""
    kind: Required
    name: Required


class IngressBackend(Part):
    service: BackendService | None = None
    resource: BackendResource | None = None


class HttpPath(Part):
    path: Text = ""
    path_type: Literal["Exact", "Prefix", "ImplementationSpecific"]
    backend: IngressBackend


class HttpRule(Part):
    paths: Annotated[tuple[HttpPath, ...], Field(min_length=1)]


class IngressRule(Part):
    host: Text = ""
    http: HttpRule | None = None


class IngressTls(Part):
    hosts: Annotated[tuple[Text, ...], _OUTSIDE] = ()
    secret_name: Annotated[Text, _OUTSIDE] = ""


class IngressSpec(Part):
    """Kubernetes' own."""

    ingress_class_name: Annotated[Text | None, _OUTSIDE] = None
    default_backend: IngressBackend | None = None
    tls: Annotated[tuple[IngressTls, ...], _OUTSIDE] = ()
    rules: tuple[IngressRule, ...] = ()


class MultiClusterIngress(Declared):
    """An Ingress in front of Services of several clusters, for controllers outside of gitfed."""

    kind: Literal["MultiClusterIngress"]
    spec: IngressSpec = Field(default_factory=IngressSpec)

    def backends(self) -> Iterator[tuple[tuple[str | int, ...], IngressBackend]]:
        """(path, backend), in the order of the file."""
        if self.spec.default_backend is not None:
            yield ("spec", "defaultBackend"), self.spec.default_backend
        for i, rule in enumerate(self.spec.rules):
            for j, path in enumerate(rule.http.paths if rule.http is not None else ()):
                yield ("spec", "rules", i, "http", "paths", j, "backend"), path.backend

    def findings(self) -> Iterator[Finding]:
        if self.spec.default_backend is None and not self.spec.rules:
            yield Finding(("spec",), "neither defaultBackend nor rules is given", "one of them is needed")
        for where, backend in self.backends():
            yield from _backend(where, backend)
        for i, rule in enumerate(self.spec.rules):
            host = rule.host.removeprefix("*.")
            if host and (why := names.why_not_dns_subdomain(host)):
                yield Finding(("spec", "rules", i, "host"), f"the host {rule.host} {why}")
            for j, path in enumerate(rule.http.paths if rule.http is not None else ()):
                if path.path_type != "ImplementationSpecific" and not path.path.startswith("/"):
                    at = ("spec", "rules", i, "http", "paths", j, "path")
                    yield Finding(at, f"the path {path.path!r} does not begin with /")


def _backend(where: tuple[str | int, ...], backend: IngressBackend) -> Iterator[Finding]:
    if (backend.service is None) is (backend.resource is None):
        yield Finding(where, "a backend is either a service or a resource")
    elif backend.service is not None and (not backend.service.port.name) is (backend.service.port.number is None):
        yield Finding((*where, "service", "port"), "a port is given by its name or by its number")
