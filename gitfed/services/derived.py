"""The Service behind a ServiceImport: `derived-NAME`, in every cluster that imports (Karmada: §6).

It selects no pods. Its endpoints are those of the clusters that export the Service of the import's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitfed.model.base import Digest, Kind, ObjectKey
from gitfed.model.declared.services import EXPORT_GROUP
from gitfed.model.repo import Manifest
from gitfed.text import canonical

EXPORT: Final = Kind(EXPORT_GROUP, "ServiceExport")
IMPORT: Final = Kind(EXPORT_GROUP, "ServiceImport")
CLUSTER_SET_IP: Final = "ClusterSetIP"
HEADLESS: Final = "Headless"
_PREFIX = "derived-"
_LONGEST = 63
"""Characters of a Service's name."""


def name_of(service: str) -> str:
    return f"{_PREFIX}{service}"


def key_of(imported: ObjectKey) -> ObjectKey:
    return ObjectKey("", "Service", imported.namespace, name_of(imported.name))


def import_of(service: ObjectKey) -> ObjectKey | None:
    """The ServiceImport behind a Service of such a name."""
    if service[:2] != ("", "Service") or not service.name.startswith(_PREFIX):
        return None
    return ObjectKey(*IMPORT, service.namespace, service.name.removeprefix(_PREFIX))


def imports(manifests: Mapping[ObjectKey, Manifest]) -> Iterator[Manifest]:
    return (manifest for key, manifest in manifests.items() if key[:2] == IMPORT)


def exports(manifests: Mapping[ObjectKey, Manifest]) -> Iterator[Manifest]:
    return (manifest for key, manifest in manifests.items() if key[:2] == EXPORT)


def service(imported: Manifest) -> Manifest | None:
    """The Service that a ServiceImport asks for; None: it asks for none that a cluster would take (`why_none`)."""
    spec = imported.body.get("spec")
    if why_none(imported):
        return None
    assert isinstance(spec, Mapping)
    ports, key = _ports(spec.get("ports")), key_of(imported.key)
    said: dict[str, Any] = {"ports": ports} if ports else {}
    if spec["type"] == HEADLESS:
        said["clusterIP"] = "None"
    for member in ("sessionAffinity", "sessionAffinityConfig", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(member):
            said[member] = spec[member]
    if len(said.get("ipFamilies", ())) > 1:
        said.setdefault("ipFamilyPolicy", "PreferDualStack")
    body = {
        "apiVersion": "v1",
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"type": "ClusterIP", **said},
    }
    return Manifest(key, "v1", body, imported.origin, Digest(canonical.digest(body)))


def why_none(imported: Manifest) -> str:
    """Why no Service comes of a ServiceImport; "" when one does."""
    spec = imported.body.get("spec")
    if not isinstance(spec, Mapping) or spec.get("type") not in (CLUSTER_SET_IP, HEADLESS):
        return f"its type is neither {CLUSTER_SET_IP} nor {HEADLESS}"
    if spec["type"] == CLUSTER_SET_IP and not _ports(spec.get("ports")):
        return "it has no ports"  # an API server takes such a Service only if it is headless
    name = name_of(imported.key.name)
    return f"{name} has {len(name)} characters, at most {_LONGEST} are allowed" if len(name) > _LONGEST else ""


def _ports(declared: object) -> list[dict[str, Any]]:
    """What a ServiceImport and a Service have in common."""
    ports = []
    for port in declared if isinstance(declared, list) else ():
        if isinstance(port, Mapping) and isinstance(port.get("port"), int):
            members = ("name", "protocol", "port", "appProtocol")
            ports.append({member: port[member] for member in members if port.get(member)})
    return ports
