"""A repository with services across clusters, and what clusters have of slices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.model.base import ObjectKey
from gitfed.services.slices import ServiceSlice

NAMESPACE = "shop"
WEB = ObjectKey("", "Service", NAMESPACE, "web")
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "admin", "port": 8080, "protocol": "TCP"}]
EXPORTS = ("multicluster.x-k8s.io/v1alpha1", "ServiceExport")
IMPORTS = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


def document(api_version: str, kind: str, name: str, spec: Mapping[str, Any] | None = None, **metadata: Any) -> str:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE, **metadata}}
    return json.dumps({**body, "spec": spec} if spec is not None else body)


def service(name: str = "web", **spec: Any) -> str:
    return document("v1", "Service", name, {"selector": {"app": name}, "ports": PORTS, **spec})


def multi_cluster_service(
    name: str = "web", *, providers: Iterable[str] = (), consumers: Iterable[str] = (), **spec: Any
) -> str:
    said = {"types": ["CrossCluster"], **spec}
    for member, clusters in (("providerClusters", providers), ("consumerClusters", consumers)):
        if clusters:
            said[member] = [{"name": one} for one in clusters]
    return document("networking.karmada.io/v1alpha1", "MultiClusterService", name, said)


def service_export(name: str = "web") -> str:
    return document(*EXPORTS, name)


def service_import(name: str = "web", type_: str = "ClusterSetIP", **spec: Any) -> str:
    return document(*IMPORTS, name, {"type": type_, "ports": [{"port": 80, "name": "http"}], **spec})


def addresses(*found: str, **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"addresses": [one], "conditions": {"ready": True}, **more} for one in found)


def slice_of(name: str, *found: str, service: str = "web", kind: str = "IPv4") -> ServiceSlice:
    ports = ({"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "admin", "port": 9090, "protocol": "TCP"})
    return ServiceSlice(NAMESPACE, name, service, kind, addresses(*found), ports, uid=f"uid-{name}")
