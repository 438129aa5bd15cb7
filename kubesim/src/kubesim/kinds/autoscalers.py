"""HorizontalPodAutoscalers: stored in autoscaling/v2, seen also in autoscaling/v1 (`autoscaler_views`).

Kubernetes: SetDefaults_HorizontalPodAutoscaler, ValidateHorizontalPodAutoscaler.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind, Subresource
from kubesim.kinds import (
    autoscaler_views,
    fields,
    formats,
    pod_defaults,
    preparation,
    references,
    resource_rules,
    resources,
    table,
)
from kubesim.kinds.fields import Errors

_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES: Final = tuple(sorted(_SOURCES))
_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Final = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


def _default(body: Body) -> Body:
    return pod_defaults.within(body, "spec", _default_spec)


def _default_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec = {**spec, "metrics": [autoscaler_views.cpu_metric(80)]}
    return pod_defaults.within(spec, "behavior", _behavior)


def _behavior(behavior: Body) -> Body:
    def filled(side: str, rules: Body) -> Body:
        found = fields.obj(behavior, side)
        return found if all(found.get(key) is not None for key in rules) else {**rules, **found}

    up, down = filled("scaleUp", _UP), filled("scaleDown", _DOWN)
    return (
        behavior
        if (up, down) == (behavior.get("scaleUp"), behavior.get("scaleDown"))
        else {
            **behavior,
            "scaleUp": up,
            "scaleDown": down,
        }
    )


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    errors: Errors = []
    if low is not None and low < 1:
        errors += fields.invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high == 0:
        errors += fields.required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 0:
        errors += fields.invalid("spec.maxReplicas", high, "must be greater than or equal to 1")
    if low is not None and high < low:
        errors += fields.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    errors += _reference(fields.obj(spec, "scaleTargetRef"), "spec.scaleTargetRef", grouped=True)
    metrics = fields.items(spec, "metrics")
    for at, metric in enumerate(metrics):
        errors += _metric(metric, f"spec.metrics[{at}]")
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors += fields.forbidden("spec.metrics", text)
    for side in ("scaleUp", "scaleDown"):
        errors += _rules(fields.obj(spec, "behavior").get(side), f"spec.behavior.{side}")
    return errors


def _reference(ref: Body, path: str, *, grouped: bool = False) -> Errors:
    errors = references.kind_and_name(ref, path)
    version = fields.text(ref, "apiVersion")
    if version.count("/") > 1:
        errors += fields.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif grouped and "/" not in version:
        errors += fields.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")
    return errors


def _metric(metric: Body, path: str) -> Errors:
    kind = fields.text(metric, "type")
    errors: Errors = []
    if not kind:
        errors += fields.required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        errors += fields.unsupported(f"{path}.type", kind, *_TYPES)
    present = [key for key in _SOURCES.values() if metric.get(key) is not None]
    if present:
        errors += _source(metric[present[0]], present[0], f"{path}.{present[0]}")
    expected = _SOURCES.get(kind)
    if expected is None:
        errors += fields.unsupported(f"{path}.type", kind, *_TYPES)
    elif expected not in present:
        errors += fields.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for key in present:
            if key != expected:
                errors += fields.forbidden(f"{path}.{key}", "must populate the given metric source only")
    return errors


def _source(source: Body, kind: str, path: str) -> Errors:
    target = fields.obj(source, "target")
    where = f"{path}.target"
    errors: Errors = []
    if kind == "object":
        errors += _reference(fields.obj(source, "describedObject"), f"{path}.describedObject")
    if kind in ("resource", "containerResource"):
        errors += _resource(source, kind, path)
    else:
        name = fields.text(fields.obj(source, "metric"), "name")
        if name:
            errors += fields.invalid(f"{path}.metric.name", name, *formats.path_segment(name))
        else:
            errors += fields.required(f"{path}.metric.name", "must specify a metric name")
    errors += _target(target, where)
    value, average, used = (target.get(key) for key in ("value", "averageValue", "averageUtilization"))
    if kind == "object" and value is None and average is None:
        errors += fields.required(f"{where}.averageValue", "must set either a target value or averageValue")
    if kind == "external":
        if value is None and average is None:
            text = "must set either a target value for metric or a per-pod target"
            errors += fields.required(f"{where}.averageValue", text)
        if value is not None and average is not None:
            text = "may not set both a target value for metric and a per-pod target"
            errors += fields.forbidden(f"{where}.value", text)
    if kind == "pods" and average is None:
        errors += fields.required(f"{where}.averageValue", "must specify a positive target averageValue")
    if kind in ("resource", "containerResource"):
        if used is None and average is None:
            text = "must set either a target raw value or a target utilization"
            errors += fields.required(f"{where}.averageUtilization", text)
        if used is not None and average is not None:
            text = "may not set both a target raw value and a target utilization"
            errors += fields.forbidden(f"{where}.averageValue", text)
    return errors


def _resource(source: Body, kind: str, path: str) -> Errors:
    name, container = fields.text(source, "name"), fields.text(source, "container")
    errors = [] if name else fields.required(f"{path}.name", "must specify a resource name")
    if kind == "resource":
        return errors
    errors += resource_rules.container_resource(name, f"{path}.name") if name else []
    if not container:
        return errors + fields.required(f"{path}.container", "must specify a container")
    return errors + fields.invalid(f"{path}.container", container, *formats.dns_label(container))


def _target(target: Body, path: str) -> Errors:
    kind = fields.text(target, "type")
    errors = [] if kind else fields.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors += fields.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        if (amount := target.get(key)) is not None and resources.value(amount) <= 0:
            errors += fields.invalid(f"{path}.{key}", amount, "must be positive")
    used = target.get("averageUtilization")
    if used is not None and used < 1:
        errors += fields.invalid(f"{path}.averageUtilization", used, "must be greater than 0")
    return errors


def _rules(rules: Body | None, path: str) -> Errors:
    if rules is None:
        return []
    seconds, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    where = f"{path}.stabilizationWindowSeconds"
    errors: Errors = []
    if seconds is not None and seconds < 0:
        errors += fields.invalid(where, seconds, "must be greater than or equal to zero")
    if seconds is not None and seconds > 3600:
        errors += fields.invalid(where, seconds, "must be less than or equal to 3600")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        errors += fields.unsupported(f"{path}.selectPolicy", select, "Disabled", "Max", "Min")
    policies = fields.items(rules, "policies")
    errors += [] if policies else fields.required(f"{path}.policies", "must specify at least one Policy")
    for at, policy in enumerate(policies):
        here, kind = f"{path}.policies[{at}]", fields.text(policy, "type")
        if kind not in ("Pods", "Percent"):
            errors += fields.unsupported(f"{here}.type", kind, "Percent", "Pods")
        for key in ("value", "periodSeconds"):
            number = policy.get(key) or 0
            errors += fields.invalid(f"{here}.{key}", number, "must be greater than zero") if number <= 0 else []
        period = policy.get("periodSeconds") or 0
        if period > 1800:
            errors += fields.invalid(f"{here}.periodSeconds", period, "must be less than or equal to 1800")
    tolerance = rules.get("tolerance")
    if tolerance is not None and resources.value(tolerance) < 0:
        errors += fields.invalid(f"{path}.tolerance", tolerance, fields.NEGATIVE)
    return errors


def _validate_status(new: Body, old: Body) -> Errors:
    return fields.joined(
        fields.non_negative(f"status.{key}", fields.obj(new, "status").get(key))
        for key in ("currentReplicas", "desiredReplicas")
    )


def _row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    target = fields.obj(spec, "scaleTargetRef")
    low = spec.get("minReplicas")
    return [
        table.name(body),
        f"{fields.text(target, 'kind')}/{fields.text(target, 'name')}",
        _targets(fields.items(spec, "metrics"), fields.items(found, "currentMetrics")),
        "<unset>" if low is None else str(low),
        spec.get("maxReplicas") or 0,
        found.get("currentReplicas") or 0,
        table.created(body, now),
    ]


def _targets(metrics: list[Body], current: list[Body]) -> str:
    shown = [_one_target(metric, current[at] if at < len(current) else {}) for at, metric in enumerate(metrics)]
    if not shown:
        return table.NONE
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _one_target(metric: Body, status: Body) -> str:
    kind = _SOURCES.get(fields.text(metric, "type"))
    if kind is None:
        return "<unknown type>"
    source = fields.obj(metric, kind)
    target, now = fields.obj(source, "target"), fields.obj(status, kind, "current")
    average = target.get("averageValue")
    if kind in ("resource", "containerResource"):
        name = fields.text(source, "name")
        if average is not None:
            return f"{name}: {now.get('averageValue', table.UNKNOWN)}/{average}"
        used, wanted = now.get("averageUtilization"), target.get("averageUtilization")
        left = table.UNKNOWN if used is None else f"{used}%"
        return f"{name}: {left}/" + ("<auto>" if wanted is None else f"{wanted}%")
    if average is not None:
        left = now.get("averageValue", table.UNKNOWN)
        return f"{left}/{average}" + ("" if kind == "pods" else " (avg)")
    return f"{now.get('value', table.UNKNOWN)}/{target.get('value', '0')}"


_COLUMNS: Final = table.columns("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age")
_NEW: Final = {"desiredReplicas": 0, "currentMetrics": None}

AUTOSCALER: Final = Kind(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=(Subresource(name="status"),),
    default=_default,
    validate=_validate,
    validate_status=_validate_status,
    columns=_COLUMNS,
    row=_row,
    **preparation.keeping(_NEW, generation=False),
)


def _default_v1(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", lambda spec: pod_defaults.fill(spec, minReplicas=1))
    if autoscaler_views.has_metrics(body):
        return body
    return pod_defaults.within(body, "spec", lambda spec: pod_defaults.fill(spec, targetCPUUtilizationPercentage=80))


AUTOSCALER_V1: Final = Kind(
    group="autoscaling",
    version="v1",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=(Subresource(name="status"),),
    storage_version="autoscaling/v2",
    to_storage=autoscaler_views.to_v2,
    from_storage=autoscaler_views.to_v1,
    default=_default_v1,
    validate=lambda body: _validate(autoscaler_views.to_v2(body)),
    validate_status=_validate_status,
    columns=_COLUMNS,
    row=lambda body, now: _row(autoscaler_views.to_v2(body), now),
    **preparation.keeping({"currentReplicas": 0, "desiredReplicas": 0}, generation=False),
)
