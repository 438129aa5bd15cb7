"""Whether a copy is healthy in Karmada's sense (Karmada: interpreters §4.4). Missing numbers count as 0.

This decides about failover. How far an object has come, in kstatus's words, is `readiness`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitfed.interpret.native import read
from gitfed.model.base import Body


def _rolled_out(body: Body) -> bool:
    if not _observed(body):
        return False
    wanted = read.optional(body, "spec", "replicas")
    updated = read.number(body, "status", "updatedReplicas")
    return (wanted is None or updated >= wanted) and read.number(body, "status", "availableReplicas") >= updated


def _replica_set(body: Body) -> bool:
    wanted = read.optional(body, "spec", "replicas")
    return _observed(body) and (wanted is None or read.number(body, "status", "availableReplicas") >= wanted)


def _daemon_set(body: Body) -> bool:
    updated = read.number(body, "status", "updatedNumberScheduled")
    return (
        _observed(body)
        and updated >= read.number(body, "status", "desiredNumberScheduled")
        and read.number(body, "status", "numberAvailable") >= updated
    )


def _service(body: Body) -> bool:
    return read.text(body, "spec", "type") != "LoadBalancer" or _has_address(body)


def _has_address(body: Body) -> bool:
    entries = read.rows(body, "status", "loadBalancer", "ingress")
    return any(entry.get("hostname") or entry.get("ip") for entry in entries)


def _claim(body: Body) -> bool:
    return read.text(body, "status", "phase") == "Bound"


def _pod(body: Body) -> bool:
    phase = read.text(body, "status", "phase")
    ready = any(
        item.get("type") == "Ready" and item.get("status") == "True" for item in read.rows(body, "status", "conditions")
    )
    return phase == "Succeeded" or (phase == "Running" and ready)


def _budget(body: Body) -> bool:
    return read.number(body, "status", "currentHealthy") >= read.number(body, "status", "desiredHealthy")


def _observed(body: Body) -> bool:
    return read.number(body, "status", "observedGeneration") == read.number(body, "metadata", "generation")


RULES: Mapping[tuple[str, str], Callable[[Body], bool]] = {
    ("apps/v1", "Deployment"): _rolled_out,
    ("apps/v1", "StatefulSet"): _rolled_out,
    ("apps/v1", "ReplicaSet"): _replica_set,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("v1", "Service"): _service,
    ("networking.k8s.io/v1", "Ingress"): _has_address,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "Pod"): _pod,
    ("policy/v1", "PodDisruptionBudget"): _budget,
}
