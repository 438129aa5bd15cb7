"""How urgent a workload is when several want the same room (Karmada: scheduling §1.6).

A policy names a Kubernetes PriorityClass; its value counts. The class is a template of the repository or one of the two
that every cluster has. Cluster-scoped templates never have a priority.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitfed.model.base import ObjectKey
from gitfed.model.repo import Manifest

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Propagation

_ALWAYS_THERE = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def of(policy: Propagation, key: ObjectKey, manifests: Mapping[ObjectKey, Manifest]) -> int:
    """0 when the policy asks for none, or for a class that is not known."""
    return (key.namespace and value(policy, manifests)) or 0


def value(policy: Propagation, manifests: Mapping[ObjectKey, Manifest]) -> int | None:
    """None: the policy names a class that nobody declares."""
    wanted = policy.spec.schedule_priority
    if wanted is None:
        return 0
    name = wanted.priority_class_name
    declared = manifests.get(ObjectKey("scheduling.k8s.io", "PriorityClass", "", name))
    if declared is None:
        return _ALWAYS_THERE.get(name)
    value = declared.body.get("value")
    return value if isinstance(value, int) else 0
