"""Short ways to write policies, templates and clusters in tests."""

from __future__ import annotations

from typing import Any

from gitfed.model.base import Digest, Origin, key_of
from gitfed.model.declared.policy import Placement, Propagation
from gitfed.model.fleet import ApiEnablements
from gitfed.model.repo import Manifest
from gitfed.placement.scheduling.cluster import Candidate

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}


def template(
    name: str = "web", namespace: str = "shop", labels: dict[str, str] | None = None, **members: Any
) -> Manifest:
    metadata: dict[str, Any] = {"name": name, "labels": labels or {}}
    if namespace:
        metadata["namespace"] = namespace
    body = {**DEPLOYMENT, "metadata": metadata, **members}
    return Manifest(key_of(body), body["apiVersion"], body, Origin(f"{name}.yaml", 1), Digest(name))


def policy(
    name: str,
    *selectors: dict[str, Any],
    namespace: str = "shop",
    cluster_wide: bool = False,
    priority: int = 0,
    placement: dict[str, Any] | None = None,
) -> Propagation:
    metadata = {"name": name} if cluster_wide else {"name": name, "namespace": namespace}
    return Propagation.read(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "ClusterPropagationPolicy" if cluster_wide else "PropagationPolicy",
            "metadata": metadata,
            "spec": {
                "resourceSelectors": [{**DEPLOYMENT, **selector} for selector in selectors or ({},)],
                "priority": priority,
                "placement": placement or {},
            },
        }
    )


def placement(**members: Any) -> Placement:
    return Placement.model_validate(members)


def clusters(*names: str, **members: Any) -> list[Candidate]:
    return [Candidate(name, **members) for name in names]


def serving(*kinds: str) -> ApiEnablements:
    return ApiEnablements(frozenset(("apps/v1", kind) for kind in kinds))
