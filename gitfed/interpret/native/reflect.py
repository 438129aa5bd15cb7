"""What of a copy's status is collected (Karmada: interpreters §4.6, column "Reflected").

Numbers that are zero are left out, as Kubernetes' own encoding does, except those that it always writes. The kinds
with generations also report the generation of the copy and of the template it came from, which is stamped on it:
only with both can a roll-up say whether a copy is up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.model.keys import GENERATION

COUNTERS: Mapping[str, Mapping[str, bool]] = {
    "Deployment": {
        "replicas": False,
        "updatedReplicas": False,
        "readyReplicas": False,
        "availableReplicas": False,
        "unavailableReplicas": False,
    },
    "ReplicaSet": {"replicas": True, "readyReplicas": False, "availableReplicas": False},
    "DaemonSet": {
        "currentNumberScheduled": True,
        "desiredNumberScheduled": True,
        "updatedNumberScheduled": False,
        "numberMisscheduled": True,
        "numberReady": True,
        "numberAvailable": False,
        "numberUnavailable": False,
    },
    "StatefulSet": {
        "replicas": True,
        "availableReplicas": True,
        "currentReplicas": False,
        "readyReplicas": False,
        "updatedReplicas": False,
    },
    "PodDisruptionBudget": {
        "disruptionsAllowed": True,
        "expectedPods": True,
        "desiredHealthy": True,
        "currentHealthy": True,
    },
    "HorizontalPodAutoscaler": {"currentReplicas": False, "desiredReplicas": True},
}
"""Counters of each kind; True: written even when zero."""


def counters(kind: str, values: Mapping[str, int]) -> dict[str, int]:
    """The members of a status that hold these counters."""
    return {name: values[name] for name, always in COUNTERS[kind].items() if values[name] or always}


def _with_generation(body: Body) -> Body | None:
    kind, status = body["kind"], body.get("status")
    if status is None:
        return None
    values = {name: read.number(body, "status", name) for name in COUNTERS[kind]}
    observed = 0 if kind == "StatefulSet" else read.number(body, "status", "observedGeneration")
    stamped = read.table(body, "metadata", "annotations").get(GENERATION)
    try:
        template = int(str(stamped))
    except ValueError as error:
        raise InterpretError(f"annotation {GENERATION} is no number: {stamped!r}") from error
    generations = {
        "generation": read.number(body, "metadata", "generation"),
        "resourceTemplateGeneration": template,
        "observedGeneration": observed,
    }
    return {**counters(kind, values), **{name: value for name, value in generations.items() if value}} or None


def _service(body: Body) -> Body | None:
    if body.get("status") is None or read.text(body, "spec", "type") != "LoadBalancer":
        return None
    return {"loadBalancer": read.table(body, "status", "loadBalancer")}


def _job(body: Body) -> Body | None:
    if body.get("status") is None:
        return None
    result: dict[str, Any] = {}
    for name in ("active", "succeeded", "failed"):
        if count := read.number(body, "status", name):
            result[name] = count
    for name in ("conditions", "startTime", "completionTime"):
        if value := read.table(body, "status").get(name):
            result[name] = value
    return result


def _budget(body: Body) -> Body | None:
    if body.get("status") is None:
        return None
    values = {name: read.number(body, "status", name) for name in COUNTERS["PodDisruptionBudget"]}
    result: dict[str, Any] = counters("PodDisruptionBudget", values)
    if disrupted := read.table(body, "status", "disruptedPods"):
        result["disruptedPods"] = disrupted
    return result


def _autoscaler(body: Body) -> Body | None:
    if body.get("status") is None:
        return None
    values = {name: read.number(body, "status", name) for name in COUNTERS["HorizontalPodAutoscaler"]}
    return {**counters("HorizontalPodAutoscaler", values), "currentMetrics": None}


RULES: Mapping[tuple[str, str], Callable[[Body], Body | None]] = {
    ("apps/v1", "Deployment"): _with_generation,
    ("apps/v1", "ReplicaSet"): _with_generation,
    ("apps/v1", "DaemonSet"): _with_generation,
    ("apps/v1", "StatefulSet"): _with_generation,
    ("v1", "Service"): _service,
    ("batch/v1", "Job"): _job,
    ("policy/v1", "PodDisruptionBudget"): _budget,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _autoscaler,
}
