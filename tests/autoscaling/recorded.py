"""Cases that the reference's calculator was asked, as questions to ours. Times are seconds before now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitfed.autoscaling import proposal, stabilization
from gitfed.model.declared.federated_hpa import Behavior, Metric
from gitfed.model.load import ClusterLoad, PodLoad, Reading, Sample
from gitfed.model.scaling import ReplicaChange

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
Answer = Mapping[str, Any]
CASES = Path(__file__).parent / "recorded.jsonl"


def cases() -> Iterator[dict[str, Any]]:
    with CASES.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def ago(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


def run(case: Mapping[str, Any]) -> Answer:
    return _normalized(case) if case["kind"] == "normalize" else _proposed(case)


def told(answer: Mapping[str, Any]) -> Answer:
    """What counts of the reference's answer; that it has none, but not in which words."""
    if "error" in answer:
        return {"error": True}
    found = {name: answer[name] for name in ("replicas", "usage", "utilization", "conditions") if name in answer}
    if "conditions" in found:
        found.pop("usage", None)
    return found


def _proposed(case: Mapping[str, Any]) -> Answer:
    kind, target, resource = case["kind"], case["target"], case["resource"]
    unasked = any(request is None for pod in case["pods"] for request in pod["req"])
    reading = Reading(
        {name: Sample(one["v"], ago(one["ago"]), one["window"]) for name, one in case["metrics"].items()},
        {pod["name"]: sum(request or 0 for request in pod["req"]) for pod in case["pods"]},
        case["usage"],
        NOW,
        invalid="no request" if unasked and kind == "utilization" else "",
    )
    pods = tuple(
        PodLoad(
            pod["name"],
            pod["phase"],
            pod["leaving"],
            pod["ready"],
            ago(pod["since"]) if pod["ready"] else None,
            ago(pod["started"]) if pod["started"] is not None else None,
        )
        for pod in case["pods"]
    )
    load = ClusterLoad(case["spec"], case["status"], pods, (reading,))
    present = proposal.Present(case["current"], case["spec"], case["status"])
    found = proposal.propose(_metric(kind, target, resource), 0, [load], present, NOW)
    if isinstance(found, proposal.NoProposal):
        return {"error": True}
    answer = {"replicas": found.replicas, "usage": found.value if found.value is not None else found.average}
    return answer if found.utilization is None else {**answer, "utilization": found.utilization}


def _metric(kind: str, target: int, resource: str) -> Metric:
    amount = f"{target}m"
    named = {"metric": {"name": "m"}}
    of = {"describedObject": {"kind": "Ingress", "name": "web"}}
    body: dict[str, Any] = {
        "utilization": {
            "type": "Resource",
            "resource": {"name": resource, "target": {"type": "Utilization", "averageUtilization": target}},
        },
        "raw": {
            "type": "Resource",
            "resource": {"name": resource, "target": {"type": "AverageValue", "averageValue": amount}},
        },
        "pods": {"type": "Pods", "pods": {**named, "target": {"type": "AverageValue", "averageValue": amount}}},
        "object": {"type": "Object", "object": {**named, **of, "target": {"type": "Value", "value": amount}}},
        "average": {
            "type": "Object",
            "object": {**named, **of, "target": {"type": "AverageValue", "averageValue": amount}},
        },
    }[kind]
    return Metric.model_validate(body)


def _normalized(case: Mapping[str, Any]) -> Answer:
    proposed = tuple((ago(one["ago"]), one["n"]) for one in case["recs"])
    changes = [ReplicaChange(ago(one["ago"]), one["n"]) for one in case["ups"]]
    changes += [ReplicaChange(ago(one["ago"]), -one["n"]) for one in case["downs"]]
    found = stabilization.allowed(
        case["desired"],
        case["current"],
        stabilization.Bounds(case["min"], case["max"]),
        Behavior.model_validate(case["behavior"]) if case["behavior"] is not None else None,
        stabilization.Past(proposed, tuple(changes)),
        NOW,
    )
    conditions = [f"{one.type} {one.holds} {one.reason}" for one in found.conditions]
    return {"replicas": found.replicas, "conditions": conditions}
