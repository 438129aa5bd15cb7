"""DaemonSets. Kubernetes: ValidateDaemonSet, SetDefaults_DaemonSet."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind
from kubesim.kinds import counts, fields, pod_defaults, pod_spec, preparation, selectors, table, workloads
from kubesim.kinds.fields import Errors
from kubesim.kinds.pod_warnings import template_warnings

_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def _daemon_default(body: Body) -> Body:
    # The count of template changes is a field inside the server and an annotation outside, present on every body.
    if _TEMPLATE_GENERATION not in fields.obj(body, "metadata", "annotations"):
        body = _with_template_generation(body, 0)
    return pod_defaults.within(body, "spec", _daemon_spec)


def _with_template_generation(body: Body, number: int) -> Body:
    notes = {**fields.obj(body, "metadata", "annotations"), _TEMPLATE_GENERATION: str(number)}
    return fields.with_path(body, ("metadata", "annotations"), notes)


def _template_generation(body: Body) -> int:
    text = fields.obj(body, "metadata", "annotations").get(_TEMPLATE_GENERATION, "0")
    return int(text) if text.lstrip("-").isdigit() else 0


def _daemon_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(spec, updateStrategy={}, revisionHistoryLimit=10)
    spec = pod_defaults.within(spec, "updateStrategy", _daemon_strategy)
    return pod_defaults.within(spec, "template", pod_defaults.template)


def _daemon_strategy(strategy: Body) -> Body:
    strategy = pod_defaults.fill(strategy, type="RollingUpdate")
    if strategy["type"] != "RollingUpdate":
        # Limits that nothing asks for are none.
        return pod_defaults.within(
            strategy, "rollingUpdate", lambda rolling: pod_defaults.fill(rolling, maxUnavailable=0, maxSurge=0)
        )
    strategy = pod_defaults.fill(strategy, rollingUpdate={})
    return pod_defaults.within(
        strategy, "rollingUpdate", lambda rolling: pod_defaults.fill(rolling, maxUnavailable=1, maxSurge=0)
    )


_NO_DAEMONS: Final = {
    "currentNumberScheduled": 0,
    "numberMisscheduled": 0,
    "desiredNumberScheduled": 0,
    "numberReady": 0,
}


def _daemon_create(body: Body, ctx: Context) -> Body:
    body = preparation.new_status(body, _NO_DAEMONS)
    return body if _template_generation(body) >= 1 else _with_template_generation(body, 1)


def _daemon_update(new: Body, old: Body, ctx: Context) -> Body:
    changed = fields.obj(new, "spec").get("template") != fields.obj(old, "spec").get("template")
    number = _template_generation(old) + changed
    new = preparation.old_status(new, old)
    return new if _template_generation(new) == number else _with_template_generation(new, number)


def _validate_daemon(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    selector, labels = spec.get("selector"), fields.obj(spec, "template", "metadata").get("labels")
    errors = selectors.validate(selector, "spec.selector")
    if selectors.is_sound(selector) and not selectors.matches(selector, labels or {}):
        errors += fields.invalid("spec.template.metadata.labels", fields.sorted_map(labels), workloads.UNMATCHED)
    if selector is not None and selectors.is_empty(selector):
        errors += fields.invalid("spec.selector", {}, "empty selector is invalid for daemonset")
    errors += pod_spec.validate_template(fields.obj(spec, "template"), "spec.template")
    errors += workloads.always_restarts(spec, "spec", "DaemonSet")
    errors += fields.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += _validate_daemon_strategy(fields.obj(spec, "updateStrategy"))
    return errors + fields.non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _validate_daemon_strategy(strategy: Body) -> Errors:
    kind, rolling = fields.text(strategy, "type"), strategy.get("rollingUpdate")
    where = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": rolling and counts.shown(rolling)}
        return fields.unsupported("spec.updateStrategy", shown, "RollingUpdate", "OnDelete")
    if rolling is None:
        return fields.required(where)
    errors: Errors = []
    for check in (counts.number_or_percent, counts.at_most_all):
        for key in ("maxUnavailable", "maxSurge"):
            errors += check(rolling.get(key), f"{where}.{key}")
    away, surge = not counts.is_zero(rolling.get("maxUnavailable")), not counts.is_zero(rolling.get("maxSurge"))
    if away and surge:
        errors += fields.invalid(
            f"{where}.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero"
        )
    if not away and not surge:
        errors += fields.required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    return errors


def _validate_daemon_status(new: Body, old: Body) -> Errors:
    status = fields.obj(new, "status")
    keys = (
        *_NO_DAEMONS,
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    errors = fields.joined(fields.non_negative(f"status.{key}", status.get(key)) for key in keys)
    return errors + counts.not_decremented(status, fields.obj(old, "status"))


def _daemon_row(body: Body, now: datetime) -> list[Any]:
    status = fields.obj(body, "status")
    keys = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        table.name(body),
        *(workloads.number(status, key) for key in keys),
        selectors.labels_text(fields.obj(body, "spec", "template", "spec", "nodeSelector")),
        table.created(body, now),
        *workloads.row_tail(body),
    ]


DAEMON_SET: Final = Kind(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    short_names=("ds",),
    categories=("all",),
    subresources=(workloads.STATUS,),
    has_generation=True,
    default=_daemon_default,
    prepare_create=_daemon_create,
    prepare_update=_daemon_update,
    prepare_status=preparation.only_status,
    reset_fields={"": (("status",),), "status": (("spec",),)},
    validate=_validate_daemon,
    validate_update=workloads.fixed_selector,
    validate_status=_validate_daemon_status,
    update_first=True,
    warnings=template_warnings,
    columns=table.columns(
        "Name",
        "Desired:integer",
        "Current:integer",
        "Ready:integer",
        "Up-to-date:integer",
        "Available:integer",
        "Node Selector",
        "Age",
        "Containers*",
        "Images*",
        "Selector*",
    ),
    row=_daemon_row,
)
