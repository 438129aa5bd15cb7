"""One HorizontalPodAutoscaler in two versions. autoscaling/v1 knows a single target of processor load; everything else
that v2 can say travels in annotations, as JSON, so that nothing is lost on the way there and back.

Kubernetes: conversion functions of autoscaling/v1.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim.kind import Body
from kubesim.kinds import fields

_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_CARRIED: Final = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)
_STATUS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def cpu_metric(percent: int) -> Body:
    """The metric that v1's only target stands for."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _is_cpu(metric: Body) -> bool:
    source = fields.obj(metric, "resource")
    used = fields.obj(source, "target").get("averageUtilization")
    return metric.get("type") == "Resource" and source.get("name") == "cpu" and used is not None


def to_v1(body: Body) -> Body:
    """The stored object (autoscaling/v2) as autoscaling/v1."""
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    metrics, current = fields.items(spec, "metrics"), fields.items(found, "currentMetrics")
    notes: Body = {}
    if others := [metric for metric in metrics if not _is_cpu(metric)]:
        notes[_METRICS] = _json([_old_metric(metric) for metric in others])
    if current:
        notes[_CURRENT] = _json([_old_current(metric) for metric in current])
    if (behavior := spec.get("behavior")) is not None:
        notes[_BEHAVIOR] = _json({"ScaleUp": _go(behavior.get("scaleUp")), "ScaleDown": _go(behavior.get("scaleDown"))})
    if conditions := fields.items(found, "conditions"):
        order = ("type", "status", "lastTransitionTime", "reason", "message")
        notes[_CONDITIONS] = _json([fields.ordered(one, *order) for one in conditions])
    out: Body = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    for metric in metrics:
        if _is_cpu(metric):
            out["targetCPUUtilizationPercentage"] = metric["resource"]["target"]["averageUtilization"]
            break
    status: Body = {key: found[key] for key in _STATUS if key in found}
    for metric in current:
        used = fields.obj(metric, "resource", "current").get("averageUtilization")
        if fields.obj(metric, "resource").get("name") == "cpu" and used is not None:
            status["currentCPUUtilizationPercentage"] = used
    return {
        **body,
        "apiVersion": "autoscaling/v1",
        "metadata": _with_notes(fields.obj(body, "metadata"), notes),
        "spec": out,
        "status": {"currentReplicas": 0, "desiredReplicas": 0, **status},
    }


def to_v2(body: Body) -> Body:
    """An object in autoscaling/v1 as it is stored."""
    meta, spec, found = fields.obj(body, "metadata"), fields.obj(body, "spec"), fields.obj(body, "status")
    notes = fields.obj(meta, "annotations")
    metrics = [_new_metric(one) for one in _read(notes, _METRICS, list)]
    if (percent := spec.get("targetCPUUtilizationPercentage")) is not None:
        metrics.append(cpu_metric(percent))
    out: Body = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    out["metrics"] = metrics or [cpu_metric(80)]
    behavior = _read(notes, _BEHAVIOR, dict)
    if any(behavior.values()):
        sides = {"scaleUp": behavior.get("ScaleUp"), "scaleDown": behavior.get("ScaleDown")}
        out["behavior"] = {side: _json_names(rules) for side, rules in sides.items() if rules is not None}
    status: Body = {key: found[key] for key in _STATUS if key in found and found[key] is not None}
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    current = [_new_current(one) for one in _read(notes, _CURRENT, list)]
    status = {"desiredReplicas": 0, "currentMetrics": current or None, **status}
    if conditions := _read(notes, _CONDITIONS, list):
        status["conditions"] = conditions
    return {
        **body,
        "apiVersion": "autoscaling/v2",
        "metadata": _with_notes(meta, {}),
        "spec": out,
        "status": status,
    }


def has_metrics(body: Body) -> bool:
    """Whether an object of autoscaling/v1 names what it scales by, in an annotation."""
    return bool(_read(fields.obj(body, "metadata", "annotations"), _METRICS, list))


def _with_notes(meta: Body, notes: Body) -> Body:
    kept = {key: value for key, value in fields.obj(meta, "annotations").items() if key not in _CARRIED}
    merged = {**kept, **notes}
    return {**meta, "annotations": merged} if merged else fields.without(meta, "annotations")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _read(notes: Body, key: str, kind: type) -> Any:
    """What an annotation carries; nothing if a person has broken it."""
    try:
        found = orjson.loads(notes[key]) if key in notes else None
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, kind) else kind()


def _go(rules: Body | None) -> Body | None:
    """Scaling rules under the names they have inside the server."""
    if rules is None:
        return None
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": [
            {"Type": one.get("type"), "Value": one.get("value"), "PeriodSeconds": one.get("periodSeconds")}
            for one in fields.items(rules, "policies")
        ],
        "Tolerance": rules.get("tolerance"),
    }


def _json_names(rules: Body) -> Body:
    out = {key[0].lower() + key[1:]: value for key, value in rules.items() if value is not None}
    if policies := out.get("policies"):
        out["policies"] = [{key[0].lower() + key[1:]: value for key, value in one.items()} for one in policies]
    return out


# Pairs of names: in the old form beside the source, in the new one under `target` (or `current`).
_TARGETS: Final = (
    ("targetAverageUtilization", "averageUtilization"),
    ("targetAverageValue", "averageValue"),
    ("targetValue", "value"),
)
_CURRENTS: Final = (
    ("currentAverageUtilization", "averageUtilization"),
    ("currentAverageValue", "averageValue"),
    ("currentValue", "value"),
)
_KINDS: Final = ("object", "pods", "resource", "containerResource", "external")


def _old_metric(metric: Body) -> Body:
    return _old(metric, "target", _TARGETS)


def _old_current(metric: Body) -> Body:
    return _old(metric, "current", _CURRENTS)


def _old(metric: Body, side: str, pairs: tuple[tuple[str, str], ...]) -> Body:
    kind = next((key for key in _KINDS if metric.get(key) is not None), "")
    source = fields.obj(metric, kind)
    values = fields.obj(source, side)
    amounts = {old: values[new] for old, new in pairs if values.get(new) is not None}
    identity = fields.obj(source, "metric")
    name, selector = identity.get("name"), identity.get("selector")
    out: Body
    if kind == "object":
        average = amounts.pop(pairs[1][0], None)
        described = fields.ordered(fields.obj(source, "describedObject"), "kind", "name", "apiVersion")
        out = {"target": described, "metricName": name, pairs[2][0]: "0", **amounts}
        out |= {"selector": selector} if selector is not None else {}
        out |= {"averageValue": average} if average is not None else {}
    elif kind == "pods":
        out = {"metricName": name, **amounts, **({"selector": selector} if selector is not None else {})}
    elif kind == "external":
        out = {"metricName": name, **({"metricSelector": selector} if selector is not None else {})}
        out |= {old: amounts[old] for old in (pairs[2][0], pairs[1][0]) if old in amounts}
    else:
        out = {"name": source.get("name"), **amounts}
        out |= {"container": source["container"]} if "container" in source else {}
    return {"type": metric.get("type"), kind: out}


def _new_metric(metric: Body) -> Body:
    return _new(metric, "target", _TARGETS)


def _new_current(metric: Body) -> Body:
    return _new(metric, "current", _CURRENTS)


def _new(metric: Body, side: str, pairs: tuple[tuple[str, str], ...]) -> Body:
    kind = next((key for key in _KINDS if metric.get(key) is not None), "")
    source = fields.obj(metric, kind)
    values = {new: source[old] for old, new in pairs if source.get(old) is not None}
    if kind == "object" and source.get("averageValue") is not None:
        values = {"averageValue": source["averageValue"]}
    if side == "target":
        types = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
        found = next((types[key] for key in types if key in values), "")
        values = {"type": found, **values}
    out: Body = {side: values}
    if kind in ("resource", "containerResource"):
        out["name"] = source.get("name")
        out |= {"container": source["container"]} if "container" in source else {}
    else:
        selector = source.get("selector") or source.get("metricSelector")
        out["metric"] = {"name": source.get("metricName"), **({"selector": selector} if selector else {})}
        out |= {"describedObject": source.get("target")} if kind == "object" else {}
    return {"type": metric.get("type"), kind: out}
