"""One EndpointSlice of a provider, as it stands in the clusters that consume (Karmada: §6: names, labels, annotation).

A slice stays one slice: what Kubernetes divided into slices of at most a thousand endpoints, of one address type each,
arrives so. What only means something in its own cluster is left out: nodes and pods of that name may be others here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.keys import (
    DISPATCH_MANAGER,
    DISPATCHED_BY,
    IMPORT_MANAGER,
    PROVISION_CLUSTER,
    SERVICE_NAME,
    SLICE_MANAGED_BY,
)
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.services.routes import Route


GROUP = "discovery.k8s.io"
KIND = "EndpointSlice"
_LONGEST = 253
_LOCAL = frozenset({"nodeName", "targetRef", "hints", "deprecatedTopology"})
_OTHERS = frozenset({DISPATCH_MANAGER, IMPORT_MANAGER})


@dataclass(frozen=True, slots=True)
class ServiceSlice:
    """What of a slice matters here, whoever wrote it."""

    namespace: str
    name: str
    service: str
    """The Service that it belongs to, by its label."""
    address_type: str
    endpoints: tuple[Body, ...]
    ports: tuple[Body, ...]
    uid: str = ""
    resource_version: str = ""
    manager: str = ""
    provider: ClusterName = ""
    """Of one that was dispatched: where its endpoints are."""
    dispatched_by: str = ""
    """The federation that dispatched it."""
    owner: str = ""
    """The uid of the Service that it goes with."""

    @property
    def addresses(self) -> int:
        return len(self.endpoints)

    @property
    def ready(self) -> int:
        """Endpoints that take traffic; one that says nothing does (Kubernetes)."""
        return sum((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in self.endpoints)


def read(body: Body) -> ServiceSlice:
    """From what an API server says. Of another shape than a slice has: as empty."""
    metadata = body["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return ServiceSlice(
        namespace=str(metadata.get("namespace") or ""),
        name=metadata["name"],
        service=labels.get(SERVICE_NAME, ""),
        address_type=str(body.get("addressType") or ""),
        endpoints=_rows(body.get("endpoints")),
        ports=_rows(body.get("ports")),
        uid=str(metadata.get("uid") or ""),
        resource_version=str(metadata.get("resourceVersion") or ""),
        manager=labels.get(SLICE_MANAGED_BY, ""),
        provider=annotations.get(PROVISION_CLUSTER, ""),
        dispatched_by=labels.get(DISPATCHED_BY, ""),
        owner=_owner(metadata.get("ownerReferences")),
    )


def is_collected(endpoint_slice: ServiceSlice) -> bool:
    """Whether a slice is of its own cluster. What was dispatched goes no further, whoever did that."""
    return not endpoint_slice.provider and not endpoint_slice.dispatched_by and endpoint_slice.manager not in _OTHERS


def is_ours(endpoint_slice: ServiceSlice, federation: str) -> bool:
    """All three: labels of a Service are copied to its slices, annotations are not."""
    return (
        endpoint_slice.dispatched_by == federation
        and endpoint_slice.manager in _OTHERS
        and bool(endpoint_slice.provider)
    )


def name_of(route: Route, provider: ClusterName, name: str) -> str:
    """The reference's; one that would be too long ends in a digest of itself."""
    full = f"imported-{provider}-{name}" if route.is_import else f"{provider}-{name}"
    if len(full) <= _LONGEST:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:10]
    return f"{full[: _LONGEST - 11].rstrip('-.')}-{digest}"


def dispatched(route: Route, provider: ClusterName, endpoint_slice: ServiceSlice) -> ServiceSlice | None:
    """What of it arrives; None where it has none of the ports that are exposed."""
    ports = endpoint_slice.ports
    if route.ports is not None:
        ports = tuple(port for port in ports if str(port.get("name") or "") in route.ports)
        if not ports:
            return None
    endpoints = tuple({k: v for k, v in endpoint.items() if k not in _LOCAL} for endpoint in endpoint_slice.endpoints)
    return ServiceSlice(
        namespace=route.target.namespace,
        name=name_of(route, provider, endpoint_slice.name),
        service=route.target.name,
        address_type=endpoint_slice.address_type,
        endpoints=endpoints,
        ports=ports,
        manager=route.manager,
        provider=provider,
    )


def same(wanted: ServiceSlice, present: ServiceSlice, owner: str) -> bool:
    """Whether what is there is what should be."""
    return (
        (wanted.service, wanted.manager, wanted.provider) == (present.service, present.manager, present.provider)
        and wanted.address_type == present.address_type
        and wanted.endpoints == present.endpoints
        and wanted.ports == present.ports
        and owner == present.owner
    )


def body(wanted: ServiceSlice, federation: str, owner: str, version: str = "") -> dict[str, Any]:
    """As it is sent. `owner`: the uid of the Service in that cluster, with which the slice goes; `version`: of what it
    replaces."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {
            "name": wanted.name,
            "namespace": wanted.namespace,
            "labels": {
                SERVICE_NAME: wanted.service,
                SLICE_MANAGED_BY: wanted.manager,
                DISPATCHED_BY: federation,
            },
            "annotations": {PROVISION_CLUSTER: wanted.provider},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": wanted.service, "uid": owner}],
            **({"resourceVersion": version} if version else {}),
        },
        "addressType": wanted.address_type,
        "endpoints": list(wanted.endpoints),
        "ports": list(wanted.ports),
    }


def key_of(endpoint_slice: ServiceSlice) -> ObjectKey:
    return ObjectKey(GROUP, KIND, endpoint_slice.namespace, endpoint_slice.name)


def target_of(endpoint_slice: ServiceSlice) -> ObjectKey:
    """The Service that a slice belongs to."""
    return ObjectKey("", "Service", endpoint_slice.namespace, endpoint_slice.service)


def _rows(value: object) -> tuple[Body, ...]:
    return tuple(row for row in value if isinstance(row, Mapping)) if isinstance(value, list) else ()


def _owner(references: object) -> str:
    services = [
        owner for owner in _rows(references) if owner.get("kind") == "Service" and owner.get("apiVersion") == "v1"
    ]
    return str(services[0].get("uid") or "") if services else ""
