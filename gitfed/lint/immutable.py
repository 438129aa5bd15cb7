"""Fields that a commit changes and API servers refuse to change: the roll-out would stop there, after the merge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from gitfed.model.base import Body, ObjectKey, Problem, Severity
from gitfed.model.keys import REPLACE_ANNOTATION
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.objects import compare
from gitfed.views import names

_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("apps", "Deployment"): ("spec.selector",),
        ("apps", "ReplicaSet"): ("spec.selector",),
        ("apps", "DaemonSet"): ("spec.selector",),
        ("apps", "StatefulSet"): (
            "spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates",
        ),
        ("batch", "Job"): ("spec.selector", "spec.template", "spec.completionMode"),
        ("", "Secret"): ("type",),
        ("", "PersistentVolumeClaim"): (
            "spec.accessModes", "spec.storageClassName", "spec.volumeMode", "spec.selector", "spec.dataSource",
        ),
        ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
        ("storage.k8s.io", "StorageClass"): ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
        ("scheduling.k8s.io", "PriorityClass"): ("value", "preemptionPolicy"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"): ("spec.scope", "spec.group", "spec.names.kind"),
    }
)  # fmt: skip
_SEALED = ("data", "stringData", "binaryData", "immutable")
"""Of a ConfigMap or Secret with `immutable: true`."""


def changed(base: RepoSnapshot, head: RepoSnapshot) -> Iterator[Problem]:
    """One warning for each object."""
    for key, manifest in head.manifests.items():
        before = base.manifests.get(key)
        if before is None or before.digest == manifest.digest:
            continue
        if compare.annotation(manifest.body, REPLACE_ANNOTATION) == "allowed":
            continue
        fields = [field for field in _fields(key, before.body) if _at(before.body, field) != _at(manifest.body, field)]
        if fields:
            yield Problem(
                manifest.origin,
                f"{names.shown(key)} changes {' and '.join(fields)}, which API servers refuse to change",
                f"give it another name, or annotate it {REPLACE_ANNOTATION}: allowed to have it made anew",
                Severity.WARNING,
            )


def _fields(key: ObjectKey, before: Body) -> tuple[str, ...]:
    sealed = key.group == "" and key.kind in ("ConfigMap", "Secret") and before.get("immutable") is True
    return (*_FIELDS.get((key.group, key.kind), ()), *(_SEALED if sealed else ()))


def _at(body: Body, field: str) -> Any:
    """None and an empty value are the same: a server keeps neither."""
    value: Any = body
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value or None
