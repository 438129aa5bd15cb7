"""Which object stands in which file.

One object a file, named as people look for it: `shop/deployment-web.yaml`, `policies/shop/web.yaml`,
`clusters/eu-1.yaml`. Policies that have no namespace stand in `policies/` itself, other objects without one in
`cluster-wide/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gitfed.model.base import Body

_POLICIES = frozenset(
    {
        "PropagationPolicy",
        "ClusterPropagationPolicy",
        "OverridePolicy",
        "ClusterOverridePolicy",
        "FederatedResourceQuota",
    }
)
_SHORT = {"OverridePolicy": "-override", "ClusterOverridePolicy": "-override", "FederatedResourceQuota": "-quota"}
_ODD = re.compile(r"[^a-z0-9.-]+")


def files(bodies: Iterable[Body], folder: str = "") -> dict[str, list[Body]]:
    """Every body under its path; two that would share one (kinds of two groups) stand in it together."""
    bodies_by_path: dict[str, list[Body]] = {}
    for body in bodies:
        path = path_of(body)
        bodies_by_path.setdefault(f"{folder.strip('/')}/{path}" if folder.strip("/") else path, []).append(body)
    return dict(sorted(bodies_by_path.items()))


def path_of(body: Body) -> str:
    kind, group = str(body["kind"]), str(body["apiVersion"]).rpartition("/")[0]
    metadata: dict[str, Any] = body["metadata"]
    name, namespace = _part(metadata["name"]), _part(metadata.get("namespace") or "")
    if kind == "Cluster" and group == "cluster.karmada.io":
        return f"clusters/{name}.yaml"
    if kind in _POLICIES and group.endswith("karmada.io"):
        return "/".join(part for part in ("policies", namespace, f"{name}{_SHORT.get(kind, '')}.yaml") if part)
    if kind == "Namespace" and not group:
        return f"{name}/namespace.yaml"
    return f"{namespace or 'cluster-wide'}/{kind.lower()}-{name}.yaml"


def _part(name: object) -> str:
    """What every file system takes. Names of RBAC objects hold colons, and capitals fall together on some."""
    return _ODD.sub("-", str(name).lower()).strip(".-") or "unnamed" if name else ""
