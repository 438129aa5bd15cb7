"""Deployments, ReplicaSets and the old ReplicationControllers, which are ReplicaSets with a plain map for a selector.

Kubernetes: ValidateDeployment, ValidateReplicaSet, ValidateReplicationController, SetDefaults_Deployment.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind, Scale
from kubesim.kinds import counts, fields, pod_defaults, preparation, table, workloads
from kubesim.kinds.fields import Errors
from kubesim.kinds.pod_warnings import name_in_pods, template_warnings

# Deployments


def _deployment_default(body: Body) -> Body:
    return pod_defaults.within(body, "spec", _deployment_spec)


def _deployment_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(spec, replicas=1, strategy={}, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    spec = pod_defaults.within(spec, "strategy", _rolling)
    return pod_defaults.within(spec, "template", pod_defaults.template)


def _rolling(strategy: Body) -> Body:
    strategy = pod_defaults.fill(strategy, type="RollingUpdate")
    if strategy["type"] != "RollingUpdate":
        return strategy
    strategy = pod_defaults.fill(strategy, rollingUpdate={})
    return pod_defaults.within(
        strategy, "rollingUpdate", lambda rolling: pod_defaults.fill(rolling, maxUnavailable="25%", maxSurge="25%")
    )


def _validate_deployment(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = fields.non_negative("spec.replicas", spec.get("replicas"))
    errors += (
        workloads.selector(spec, "deployment")
        + workloads.template(spec)
        + workloads.always_restarts(spec, "spec", "ReplicaSet")
    )
    errors += _deployment_strategy(fields.obj(spec, "strategy"))
    errors += fields.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += fields.non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    errors += fields.non_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= workloads.number(spec, "minReadySeconds"):
        errors += fields.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    return errors


def _deployment_strategy(strategy: Body) -> Errors:
    kind, rolling = fields.text(strategy, "type"), strategy.get("rollingUpdate")
    where = "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is None:
            return []
        return fields.forbidden(where, "may not be specified when strategy `type` is 'Recreate'")
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": rolling and counts.shown(rolling)}
        return fields.unsupported("spec.strategy", shown, "Recreate", "RollingUpdate")
    if rolling is None:
        return fields.required(where, "this should be defaulted and never be nil")
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = counts.number_or_percent(unavailable, f"{where}.maxUnavailable")
    errors += counts.number_or_percent(surge, f"{where}.maxSurge")
    if counts.is_zero(unavailable) and counts.is_zero(surge):
        errors += fields.invalid(f"{where}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    return errors + counts.at_most_all(unavailable, f"{where}.maxUnavailable")


def _deployment_moves(new: Body, old: Body) -> bool:
    notes = fields.obj(new, "metadata").get("annotations") or {}
    return bool(new.get("spec") != old.get("spec")) or notes != (fields.obj(old, "metadata").get("annotations") or {})


def _validate_deployment_status(new: Body, old: Body) -> Errors:
    status = fields.obj(new, "status")
    errors = counts.replicas(status, "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    return errors + counts.not_decremented(status, fields.obj(old, "status"))


def _deployment_row(body: Body, now: datetime) -> list[Any]:
    status = fields.obj(body, "status")
    return [
        table.name(body),
        f"{workloads.number(status, 'readyReplicas')}/{workloads.number(body, 'spec', 'replicas')}",
        workloads.number(status, "updatedReplicas"),
        workloads.number(status, "availableReplicas"),
        table.created(body, now),
        *workloads.row_tail(body),
    ]


def _name_warnings(body: Body, old: Body | None) -> list[str]:
    return [*([] if old else name_in_pods(body)), *template_warnings(body, old)]


DEPLOYMENT: Final = Kind(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    short_names=("deploy",),
    categories=("all",),
    subresources=(workloads.SCALE, workloads.STATUS),
    scale=Scale(),
    generation_moves=_deployment_moves,
    default=_deployment_default,
    validate=_validate_deployment,
    validate_update=workloads.fixed_selector,
    validate_status=_validate_deployment_status,
    warnings=_name_warnings,
    columns=table.columns("Name", "Ready", "Up-to-date", "Available", "Age", "Containers*", "Images*", "Selector*"),
    row=_deployment_row,
    **preparation.keeping({}, labels_too=True),
)


# ReplicaSets


def _replicas_default(body: Body) -> Body:
    def spec_default(spec: Body) -> Body:
        spec = pod_defaults.fill(spec, replicas=1)
        return pod_defaults.within(spec, "template", pod_defaults.template)

    return pod_defaults.within(body, "spec", spec_default)


def _validate_replica_set(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = fields.non_negative("spec.replicas", spec.get("replicas"))
    errors += fields.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    return (
        errors
        + workloads.selector(spec, "deployment")
        + workloads.template(spec)
        + workloads.always_restarts(spec, "spec", "ReplicaSet")
    )


def _validate_replica_set_status(new: Body, old: Body) -> Errors:
    return counts.replicas(fields.obj(new, "status"), "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def _replica_set_row(body: Body, now: datetime) -> list[Any]:
    status = fields.obj(body, "status")
    return [
        table.name(body),
        workloads.number(body, "spec", "replicas"),
        workloads.number(status, "replicas"),
        workloads.number(status, "readyReplicas"),
        table.created(body, now),
        *workloads.row_tail(body),
    ]


_SET_COLUMNS: Final = ("Name", "Desired:integer", "Current:integer", "Ready:integer", "Age", "Containers*", "Images*")

REPLICA_SET: Final = Kind(
    group="apps",
    version="v1",
    kind="ReplicaSet",
    plural="replicasets",
    short_names=("rs",),
    categories=("all",),
    subresources=(workloads.SCALE, workloads.STATUS),
    scale=Scale(),
    default=_replicas_default,
    validate=_validate_replica_set,
    validate_update=workloads.fixed_selector,
    validate_status=_validate_replica_set_status,
    warnings=_name_warnings,
    columns=table.columns(*_SET_COLUMNS, "Selector*"),
    row=_replica_set_row,
    **preparation.keeping({"replicas": 0}),
)
