"""LimitRanges: what they may say, and what they do to Pods and claims.

`apply` and `complaints` are what admission calls; they know nothing of the server. Kubernetes: ValidateLimitRange
and the LimitRanger admission plugin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubesim.kind import Body, Kind
from kubesim.kinds import fields, formats, pod_defaults, preparation, resource_rules, resources, table
from kubesim.kinds.fields import Errors

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_SIDES: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
NOTE: Final = "kubernetes.io/limit-ranger"


def _default(body: Body) -> Body:
    def one(limit: Body) -> Body:
        for side in _SIDES:
            amounts = limit.get(side)
            if amounts and (rounded := resources.rounded(amounts)) is not amounts:
                limit = {**limit, side: rounded}
        if limit.get("type") != "Container":
            return limit
        default = {**fields.obj(limit, "max"), **fields.obj(limit, "default")}
        request = {**fields.obj(limit, "min"), **default, **fields.obj(limit, "defaultRequest")}
        filled = {"default": default, "defaultRequest": request}
        changed = {key: value for key, value in filled.items() if value and limit.get(key) != value}
        return {**limit, **changed} if changed else limit

    return pod_defaults.within(body, "spec", lambda spec: pod_defaults.each(spec, "limits", one))


def _stored(body: Body) -> Body:
    return pod_defaults.within(body, "spec", lambda spec: preparation.stored_lists(spec, "limits"))


def _validate(body: Body) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, limit in enumerate(fields.items(body, "spec", "limits")):
        path, kind = f"spec.limits[{at}]", fields.text(limit, "type")
        found = fields.invalid(f"{path}.type", kind, *formats.qualified_name(kind))
        if not found and "/" not in kind and kind not in _TYPES:
            text = "must be a standard limit type or fully qualified"
            found = fields.invalid(f"{path}.type", kind, text)
        errors += found + (fields.duplicate(f"{path}.type", kind) if kind in seen else [])
        seen.add(kind)
        errors += _names(limit, kind, path) + _order(limit, path)
    return errors


def _names(limit: Body, kind: str, path: str) -> Errors:
    check = resource_rules.container_resource if kind in ("Pod", "Container") else resource_rules.resource_name
    errors: Errors = []
    for side in ("max", "min", "default", "defaultRequest"):
        amounts = fields.obj(limit, side)
        if kind == "Pod" and side.startswith("default"):
            errors += fields.forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'") if amounts else []
            continue
        for name in sorted(amounts):
            errors += check(name, f"{path}.{side}[{name}]")
    if kind == "PersistentVolumeClaim" and not ({"storage"} & {*fields.obj(limit, "min"), *fields.obj(limit, "max")}):
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors += fields.required(f"{path}.limits", text)
    for name in sorted(fields.obj(limit, "maxLimitRequestRatio")):
        errors += check(name, f"{path}.maxLimitRequestRatio[{name}]")
    return errors


def _order(limit: Body, path: str) -> Errors:
    """Minimum, default request, default and maximum must not cross."""
    rules = (
        ("min", "max", "min", "min value {0} is greater than max value {1}"),
        ("min", "defaultRequest", "defaultRequest", "min value {0} is greater than default request value {1}"),
        ("defaultRequest", "max", "defaultRequest", "default request value {0} is greater than max value {1}"),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "default request value {0} is greater than default limit value {1}",
        ),
        ("min", "default", "default", "min value {0} is greater than default value {1}"),
        ("default", "max", "default", "default value {0} is greater than max value {1}"),
    )
    # Two of the texts quote another amount than the one at their path.
    quoted = {("min", "default"): "min", ("default", "max"): "max"}
    errors: Errors = []
    for name in sorted({name for side in _SIDES for name in fields.obj(limit, side)}):
        for small, large, where, text in rules:
            left, right = fields.obj(limit, small).get(name), fields.obj(limit, large).get(name)
            if left is None or right is None or resources.value(left) <= resources.value(right):
                continue
            shown = fields.obj(limit, quoted.get((small, large), where))[name]
            errors += fields.invalid(f"{path}.{where}[{name}]", shown, text.format(left, right))
        ratio = fields.obj(limit, "maxLimitRequestRatio").get(name)
        if ratio is not None and resources.value(ratio) < 1:
            errors += fields.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1")
        low, high = fields.obj(limit, "min").get(name), fields.obj(limit, "max").get(name)
        if ratio is not None and low is not None and high is not None and resources.value(low):
            most = resources.value(high) / resources.value(low)
            if resources.value(ratio) > most:
                text = f"ratio {ratio} is greater than max/min = {float(most):f}"
                errors += fields.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, text)
    return errors


LIMIT_RANGE: Final = Kind(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    short_names=("limits",),
    allow_create_on_update=True,
    default=_default,
    prepare_create=lambda body, ctx: _stored(body),
    prepare_update=lambda new, old, ctx: _stored(new),
    validate=_validate,
    columns=table.columns("Name", "Created At:date"),
    row=lambda body, now: [table.name(body), fields.text(fields.obj(body, "metadata"), "creationTimestamp")],
)


def apply(pod: Body, ranges: Iterable[Body]) -> Body:
    """The Pod with the defaults of all ranges of its namespace, and a note of what was set."""
    for one in ranges:
        pod = _apply(pod, one)
    return pod


def _apply(pod: Body, one: Body) -> Body:
    limits: Body = {}
    requests: Body = {}
    for limit in fields.items(one, "spec", "limits"):
        if limit.get("type") == "Container":
            requests |= fields.obj(limit, "defaultRequest")
            limits |= fields.obj(limit, "default")
    notes: list[str] = []
    spec = fields.obj(pod, "spec")
    for key, prefix in (("containers", "container"), ("initContainers", "init container")):
        if found := fields.items(spec, key):
            spec = {**spec, key: [_filled(container, requests, limits, prefix, notes) for container in found]}
    if not notes:
        return pod
    pod = {**pod, "spec": spec}
    kept = fields.obj(pod, "metadata", "annotations")
    return fields.with_path(
        pod, ("metadata", "annotations"), {**kept, NOTE: "LimitRanger plugin set: " + "; ".join(notes)}
    )


def _filled(container: Body, requests: Body, limits: Body, prefix: str, notes: list[str]) -> Body:
    found = fields.obj(container, "resources")
    changed: Body = {}
    for side, defaults, word in (("requests", requests, "request"), ("limits", limits, "limit")):
        own = fields.obj(found, side)
        missing = {name: value for name, value in defaults.items() if name not in own}
        if missing:
            changed[side] = {**own, **missing}
            notes.append(f"{', '.join(sorted(missing))} {word} for {prefix} {container.get('name', '')}")
    return {**container, "resources": {**found, **changed}} if changed else container


def complaints(resource: str, body: Body, ranges: Iterable[Body]) -> list[str]:
    """Why the first range that refuses a Pod (`pods`) or claim (`persistentvolumeclaims`) does; texts of a 403."""
    for one in ranges:
        if found := _complaints(resource, body, one):
            return list(dict.fromkeys(found))
    return []


def _complaints(resource: str, body: Body, one: Body) -> list[str]:
    found: list[str] = []
    for limit in fields.items(one, "spec", "limits"):
        kind = limit.get("type")
        if resource == "pods" and kind == "Container":
            spec = fields.obj(body, "spec")
            for container in (*fields.items(spec, "containers"), *fields.items(spec, "initContainers")):
                found += _bounds(limit, "Container", fields.obj(container, "resources"))
        elif resource == "pods" and kind == "Pod":
            spec = fields.obj(body, "spec")
            total = {side: resources.of_pod_in_all(spec, side) for side in ("requests", "limits")}
            found += _bounds(limit, "Pod", total)
        elif resource == "persistentvolumeclaims" and kind == "PersistentVolumeClaim":
            found += _claim_bounds(limit, fields.obj(body, "spec", "resources"))
    return found


def _bounds(limit: Body, kind: str, found: Body) -> list[str]:
    requests, limits = fields.obj(found, "requests"), fields.obj(found, "limits")
    out: list[str] = []
    for name, bound in sorted(fields.obj(limit, "min").items()):
        text = f"minimum {name} usage per {kind} is {bound}"
        out += _bound(text, bound, (requests.get(name), "request"), (limits.get(name), "limit"), low=True)
    for name, bound in sorted(fields.obj(limit, "max").items()):
        text = f"maximum {name} usage per {kind} is {bound}"
        out += _bound(text, bound, (limits.get(name), "limit"), (requests.get(name), "request"), low=False)
    for name, bound in sorted(fields.obj(limit, "maxLimitRequestRatio").items()):
        out += _ratio(
            f"{name} max limit to request ratio per {kind} is {bound}", bound, requests.get(name), limits.get(name)
        )
    return out


def _bound(
    text: str, bound: str, main: tuple[str | None, str], other: tuple[str | None, str], *, low: bool
) -> list[str]:
    amount, word = main
    if amount is None:
        return [f"{text}.  No {word} is specified"]
    for value, name in (main, other):
        if value is None:
            continue
        beyond = resources.value(value) - resources.value(bound)
        if (beyond < 0) if low else (beyond > 0):
            return [f"{text}, but {name} is {value}"]
    return []


def _ratio(text: str, bound: str, request: str | None, limit: str | None) -> list[str]:
    for amount, word in ((request, "request"), (limit, "limit")):
        if amount is None or not resources.value(amount):
            return [f"{text}, but no {word} is specified or {word} is 0"]
    ratio = resources.value(limit or "0") / resources.value(request or "1")
    return [f"{text}, but provided ratio is {float(ratio):f}"] if ratio > resources.value(bound) else []


def _claim_bounds(limit: Body, found: Body) -> list[str]:
    requests, limits = fields.obj(found, "requests"), fields.obj(found, "limits")
    out: list[str] = []
    for name, bound in sorted(fields.obj(limit, "min").items()):
        text = f"minimum {name} usage per PersistentVolumeClaim is {bound}"
        out += _bound(text, bound, (requests.get(name), "request"), (limits.get(name), "limit"), low=True)
    for name, bound in sorted(fields.obj(limit, "max").items()):
        text = f"maximum {name} usage per PersistentVolumeClaim is {bound}"
        out += _bound(text, bound, (requests.get(name), "request"), (None, "limit"), low=False)
    return out
