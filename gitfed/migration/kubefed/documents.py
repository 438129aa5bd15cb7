"""What an export of a KubeFed host cluster holds, sorted by what it is.

The kinds that stand for others are told by their group and by the FederatedTypeConfigs of the export; without these
KubeFed's own defaults count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from gitfed.migration.report import Code, Finding, subject
from gitfed.model.base import Body
from gitfed.text.values import dataclass

TYPES = "types.kubefed.io"
_CORE = "core.kubefed.io"
_SCHEDULING = "scheduling.kubefed.io"
_DNS = "multiclusterdns.kubefed.io"


class TargetType(NamedTuple):
    """The kind that a Federated kind stands for."""

    api_version: str
    kind: str
    namespaced: bool = True
    propagated: bool = True


_DEFAULTS: dict[str, TargetType] = {
    "FederatedClusterRole": TargetType("rbac.authorization.k8s.io/v1", "ClusterRole", False),
    "FederatedClusterRoleBinding": TargetType("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False),
    "FederatedConfigMap": TargetType("v1", "ConfigMap"),
    "FederatedCustomResourceDefinition": TargetType("apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
    "FederatedDeployment": TargetType("apps/v1", "Deployment"),
    "FederatedIngress": TargetType("networking.k8s.io/v1", "Ingress"),
    "FederatedJob": TargetType("batch/v1", "Job"),
    "FederatedNamespace": TargetType("v1", "Namespace", False),
    "FederatedReplicaSet": TargetType("apps/v1", "ReplicaSet"),
    "FederatedRole": TargetType("rbac.authorization.k8s.io/v1", "Role"),
    "FederatedRoleBinding": TargetType("rbac.authorization.k8s.io/v1", "RoleBinding"),
    "FederatedSecret": TargetType("v1", "Secret"),
    "FederatedService": TargetType("v1", "Service"),
    "FederatedServiceAccount": TargetType("v1", "ServiceAccount"),
    "FederatedStatefulSet": TargetType("apps/v1", "StatefulSet"),
}
"""What KubeFed's chart and `kubefedctl enable` register for the kinds of Kubernetes."""


@dataclass(slots=True)
class Export:
    federated: list[Body] = field(default_factory=list)
    namespaces: dict[str, Body] = field(default_factory=dict)
    """FederatedNamespaces by name."""
    preferences: dict[tuple[str, str, str], Body] = field(default_factory=dict)
    """ReplicaSchedulingPreferences by target kind, namespace and name."""
    clusters: dict[str, Body] = field(default_factory=dict)
    targets: dict[str, TargetType] = field(default_factory=lambda: dict(_DEFAULTS))
    limited: bool = False
    """KubeFed serves one namespace: no FederatedNamespace is needed there."""
    findings: list[Finding] = field(default_factory=list)


def sort(documents: Iterable[Body]) -> Export:
    """What is what. Documents of other groups are counted and left out: KubeFed sends none of them anywhere."""
    export, bodies, others = Export(), [*_unpacked(documents)], list[Body]()
    for body in bodies:
        if body.get("kind") == "FederatedTypeConfig" and _group(body) == _CORE:
            _register(export, _mapping(body.get("spec")))
    for body in bodies:
        group, kind = _group(body), str(body.get("kind") or "")
        metadata = _mapping(body.get("metadata"))
        name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "")
        if not kind or not name:
            continue
        if kind == "KubeFedCluster" and group == _CORE:
            export.clusters[name] = body
        elif kind == "KubeFedConfig" and group == _CORE:
            export.limited = _mapping(body.get("spec")).get("scope") == "Namespaced"
        elif kind == "ReplicaSchedulingPreference" and group == _SCHEDULING:
            export.preferences[str(_mapping(body.get("spec")).get("targetKind") or ""), namespace, name] = body
        elif kind == "FederatedNamespace" and group == TYPES:
            export.namespaces[name] = body
        elif group == TYPES and kind.startswith("Federated") and not kind.endswith("Status"):
            export.federated.append(body)
        elif group == _DNS:
            hint = "external-dns in each cluster, or a global load balancer, publishes names of Services and Ingresses"
            export.findings.append(Finding(Code.NO_EQUIVALENT, subject(body), "no DNS records are made here", hint))
        elif not group.endswith("kubefed.io"):  # the rest of these is what KubeFed noted for itself
            others.append(body)
    for body in others:
        export.findings.append(
            Finding(Code.NOT_FEDERATED, subject(body), "an object of the host cluster, which KubeFed sends nowhere")
        )
    return export


def _register(export: Export, spec: Mapping[str, Any]) -> None:
    federated, target = _mapping(spec.get("federatedType")), _mapping(spec.get("targetType"))
    kind, version = str(target.get("kind") or ""), str(target.get("version") or "")
    if not (federated.get("kind") and kind and version):
        return
    group = str(target.get("group") or "")
    export.targets[str(federated["kind"])] = TargetType(
        f"{group}/{version}" if group else version,
        kind,
        # A FederatedNamespace lies in its own namespace; what it stands for lies in none.
        namespaced=str(target.get("scope") or "Namespaced") == "Namespaced" and kind != "Namespace",
        propagated=spec.get("propagation", "Enabled") != "Disabled",
    )


def _group(body: Body) -> str:
    return str(body.get("apiVersion") or "").rpartition("/")[0]


def _unpacked(documents: Iterable[Body]) -> Iterable[Body]:
    for body in documents:
        if isinstance(body, Mapping) and str(body.get("kind") or "").endswith("List"):
            items = body.get("items")
            yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
        elif isinstance(body, dict):
            yield body


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
