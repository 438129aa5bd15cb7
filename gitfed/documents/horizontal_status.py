"""The status of a FederatedHPA, as a part of its document: that of a HorizontalPodAutoscaler, shortened.

`currentMetrics` has what a person reads of each metric, `scaleEvents` the changes that a policy of the behavior still
counts (Kubernetes keeps them in memory, and forgets them when its controller restarts).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gitfed.documents import lenient
from gitfed.documents.bindings import time_text
from gitfed.model.scaling import (
    AutoscalerCondition,
    ConditionReason,
    ConditionType,
    HorizontalStatus,
    MetricStatus,
    ReplicaChange,
)


def document(status: HorizontalStatus) -> dict[str, Any]:
    members: dict[str, Any] = {
        "currentReplicas": status.current,
        "desiredReplicas": status.desired,
        "observedTime": time_text(status.at),
    }
    if status.last_scale is not None:
        members["lastScaleTime"] = time_text(status.last_scale)
    if status.metrics:
        members["currentMetrics"] = [
            {"type": metric.type, "name": metric.name, "target": metric.target}
            | ({"current": metric.current} if metric.current else {})
            for metric in status.metrics
        ]
    if status.conditions:
        members["conditions"] = [
            {"type": condition.type.value, "status": str(condition.holds), "reason": condition.reason.value}
            | ({"message": condition.message} if condition.message else {})
            for condition in status.conditions
        ]
    if status.changes:
        members["scaleEvents"] = [{"time": time_text(change.at), "change": change.by} for change in status.changes]
    return members


def read(status: Mapping[str, Any]) -> HorizontalStatus | None:
    """None where there is none: of a CronFederatedHPA, or of a FederatedHPA that was not evaluated yet."""
    current, desired = status.get("currentReplicas"), status.get("desiredReplicas")
    at = lenient.time(status.get("observedTime"))
    if not isinstance(current, int) or not isinstance(desired, int) or at is None:
        return None
    return HorizontalStatus(
        current,
        desired,
        at,
        lenient.time(status.get("lastScaleTime")),
        tuple(
            MetricStatus(*(lenient.text(metric.get(name)) for name in ("name", "type", "current", "target")))
            for metric in _items(status.get("currentMetrics"))
        ),
        tuple(condition for item in _items(status.get("conditions")) if (condition := _condition(item)) is not None),
        tuple(
            ReplicaChange(time, event["change"])
            for event in _items(status.get("scaleEvents"))
            if (time := _time(event)) is not None and isinstance(event.get("change"), int)
        ),
    )


def _items(value: object) -> list[Mapping[str, Any]]:
    return [item for item in lenient.items(value) if isinstance(item, Mapping)]


def _time(event: Mapping[str, Any]) -> datetime | None:
    return lenient.time(event.get("time"))


def _condition(item: Mapping[str, Any]) -> AutoscalerCondition | None:
    """None for words of another version."""
    try:
        return AutoscalerCondition(
            ConditionType(lenient.text(item.get("type"))),
            item.get("status") == "True",
            ConditionReason(lenient.text(item.get("reason"))),
            lenient.text(item.get("message")),
        )
    except ValueError:
        return None
