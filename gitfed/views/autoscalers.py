"""Autoscalers, what they decided, and when they decide next: `gitfed.io/autoscalers/v1`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from gitfed.documents.bindings import time_text
from gitfed.model.base import ObjectKey
from gitfed.model.declared.autoscaling import CronFederatedHPA
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.scaling import CronRun, RuleRecord, Scale, Scaled
from gitfed.views.value import ResourceRef, Time, View, resource

SCHEMA: Literal["gitfed.io/autoscalers/v1"] = "gitfed.io/autoscalers/v1"


class ScaleView(View):
    """What was decided; null where it says nothing about that."""

    replicas: int | None
    minReplicas: int | None
    maxReplicas: int | None
    rule: str
    at: Time | None
    why: str
    """What the number follows from; "" where a rule says it."""


class RunView(View):
    """One execution of a rule."""

    scheduleTime: Time
    executionTime: Time
    message: str
    """Why it failed; "" when it did not."""


class CronRuleView(View):
    """A rule, and when it runs."""

    name: str
    schedule: str
    timeZone: str
    """"" is UTC."""
    suspended: bool
    replicas: int | None
    minReplicas: int | None
    maxReplicas: int | None
    next: Time | None
    """null: it is suspended, or nothing was decided for it yet."""
    last: RunView | None
    """The last that was carried out, or failed."""


class MetricView(View):
    """A metric of a FederatedHPA, as it was when its number was decided last."""

    name: str
    type: str
    current: str
    """"" while it is not known."""
    target: str


class AutoscalerConditionView(View):
    """A condition of a FederatedHPA, in Kubernetes' words."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str


class AutoscalerView(View):
    """What decides the number of a workload's replicas, beside its template."""

    kind: str
    namespace: str
    name: str
    target: ResourceRef
    decided: ScaleView | None
    """null: the template's own number counts."""
    declared: int | None
    """What the template says; null where nothing is decided beside it."""
    rules: list[CronRuleView]
    """Of a CronFederatedHPA."""
    minReplicas: int | None
    """Of a FederatedHPA."""
    maxReplicas: int | None
    metrics: list[MetricView]
    conditions: list[AutoscalerConditionView]
    origin: str


class AutoscalerList(View):
    """Autoscalers, by namespace."""

    schema: Literal["gitfed.io/autoscalers/v1"]
    items: list[AutoscalerView]


class ScaledView(View):
    """Who decided the number of a workload's replicas."""

    kind: str
    namespace: str
    name: str
    rule: str
    at: Time | None
    replicas: int
    why: str
    """What the number follows from; "" where a rule says it."""
    declared: int | None
    """What the template says: where it starts from."""


def items(repo: RepoSnapshot, plan: Plan, namespace: str = "") -> Iterator[AutoscalerView]:
    for declared in sorted(repo.autoscalers, key=lambda autoscaler: autoscaler.key):
        if namespace in ("", declared.metadata.namespace):
            yield _cron(declared, plan) if isinstance(declared, CronFederatedHPA) else _federated(declared, plan)


def scaled(plan: Plan, key: ObjectKey) -> ScaledView | None:
    in_force: Scaled | None = plan.scaling.scaled.get(key)
    if in_force is None:
        return None
    return {
        "kind": in_force.by.kind,
        "namespace": in_force.by.namespace,
        "name": in_force.by.name,
        "rule": in_force.rule,
        "at": _time(in_force.at),
        "replicas": in_force.replicas,
        "why": in_force.why,
        "declared": in_force.declared,
    }


def _cron(declared: CronFederatedHPA, plan: Plan) -> AutoscalerView:
    record = plan.scaling.records.get(declared.key)
    records = {rule.name: rule for rule in record.rules} if record is not None else {}
    target = declared.target
    in_force = plan.scaling.scaled.get(target)
    return {
        "kind": declared.kind,
        "namespace": declared.metadata.namespace,
        "name": declared.metadata.name,
        "target": resource(target, declared.spec.scale_target_ref.api_version),
        "decided": _scale(record.decided) if record is not None and record.decided is not None else None,
        "declared": in_force.declared if in_force is not None else None,
        "rules": [
            {
                "name": rule.name,
                "schedule": rule.schedule,
                "timeZone": rule.time_zone or "",
                "suspended": rule.suspend,
                "replicas": rule.target_replicas,
                "minReplicas": rule.target_min_replicas,
                "maxReplicas": rule.target_max_replicas,
                "next": _time(records[rule.name].next) if rule.name in records else None,
                "last": _last(records.get(rule.name)),
            }
            for rule in declared.spec.rules
        ],
        "minReplicas": None,
        "maxReplicas": None,
        "metrics": [],
        "conditions": [],
        "origin": str(declared.origin),
    }


def _federated(declared: FederatedHPA, plan: Plan) -> AutoscalerView:
    record = plan.scaling.records.get(declared.key)
    status = record.status if record is not None else None
    in_force = plan.scaling.scaled.get(declared.target)
    current = {metric.name: metric.current for metric in status.metrics} if status is not None else {}
    return {
        "kind": declared.kind,
        "namespace": declared.metadata.namespace,
        "name": declared.metadata.name,
        "target": resource(declared.target, declared.spec.scale_target_ref.api_version),
        "decided": _scale(record.decided) if record is not None and record.decided is not None else None,
        "declared": in_force.declared if in_force is not None else None,
        "rules": [],
        "minReplicas": declared.spec.min_replicas,
        "maxReplicas": declared.spec.max_replicas,
        "metrics": [
            {"name": str(metric), "type": metric.type, "current": current.get(str(metric), ""), "target": metric.wanted}
            for metric in declared.metrics
        ],
        "conditions": [
            {
                "type": condition.type.value,
                "status": "True" if condition.holds else "False",
                "reason": condition.reason.value,
                "message": condition.message,
            }
            for condition in (status.conditions if status is not None else ())
        ],
        "origin": str(declared.origin),
    }


def _last(record: RuleRecord | None) -> RunView | None:
    runs = [*record.successful, *record.failed] if record is not None else []
    last: CronRun | None = max(runs, key=lambda run: (run.executed, run.scheduled), default=None)
    if last is None:
        return None
    return {
        "scheduleTime": time_text(last.scheduled),
        "executionTime": time_text(last.executed),
        "message": last.message,
    }


def _scale(scale: Scale) -> ScaleView:
    return {
        "replicas": scale.replicas,
        "minReplicas": scale.min_replicas,
        "maxReplicas": scale.max_replicas,
        "rule": scale.rule,
        "at": _time(scale.at),
        "why": scale.why,
    }


def _time(when: datetime | None) -> str | None:
    return time_text(when) if when is not None else None
