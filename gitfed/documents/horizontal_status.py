"""The status of a FederatedHPA, as a part of its document: that of a HorizontalPodAutoscaler, shortened.

`currentMetrics` has what a person reads of each metric, `scaleEvents` the changes that a policy of the behavior still
counts (Kubernetes keeps them in memory, and forgets them when its controller is started anew).
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
    found: dict[str, Any] = {
        "currentReplicas": status.current,
        "desiredReplicas": status.desired,
        "observedTime": time_text(status.at),
    }
    if status.last_scale is not None:
        found["lastScaleTime"] = time_text(status.last_scale)
    if status.metrics:
        found["currentMetrics"] = [
            {"type": one.type, "name": one.name, "target": one.target}
            | ({"current": one.current} if one.current else {})
            for one in status.metrics
        ]
    if status.conditions:
        found["conditions"] = [
            {"type": one.type.value, "status": str(one.holds), "reason": one.reason.value}
            | ({"message": one.message} if one.message else {})
            for one in status.conditions
        ]
    if status.changes:
        found["scaleEvents"] = [{"time": time_text(one.at), "change": one.by} for one in status.changes]
    return found


def read(status: Mapping[str, Any]) -> HorizontalStatus | None:
    """None where there is none: of a CronFederatedHPA, or of a FederatedHPA that nobody looked at yet."""
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
            MetricStatus(*(lenient.text(one.get(name)) for name in ("name", "type", "current", "target")))
            for one in _items(status.get("currentMetrics"))
        ),
        tuple(found for one in _items(status.get("conditions")) if (found := _condition(one)) is not None),
        tuple(
            ReplicaChange(time, one["change"])
            for one in _items(status.get("scaleEvents"))
            if (time := _time(one)) is not None and isinstance(one.get("change"), int)
        ),
    )


def _items(found: object) -> list[Mapping[str, Any]]:
    return [one for one in lenient.items(found) if isinstance(one, Mapping)]


def _time(one: Mapping[str, Any]) -> datetime | None:
    return lenient.time(one.get("time"))


def _condition(one: Mapping[str, Any]) -> AutoscalerCondition | None:
    """None for words of another version."""
    try:
        return AutoscalerCondition(
            ConditionType(lenient.text(one.get("type"))),
            one.get("status") == "True",
            ConditionReason(lenient.text(one.get("reason"))),
            lenient.text(one.get("message")),
        )
    except ValueError:
        return None
