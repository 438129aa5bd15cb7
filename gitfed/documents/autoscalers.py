"""What autoscalers decided, as documents: Karmada's `CronFederatedHPA` and `FederatedHPA` with their status.

`autoscalers/<kind>/<namespace>/<name>.yaml` on the state branch. Beyond Karmada's members `status.decided` is what is
in force, which outlives the rule that decided it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gitfed.documents import horizontal_status, lenient
from gitfed.documents.bindings import time_text
from gitfed.errors import InputError
from gitfed.model.base import Body, ObjectKey, group_of
from gitfed.model.declared.autoscaling import API_VERSION
from gitfed.model.scaling import AutoscalerRecord, CronRun, RuleRecord, Scale

DIRECTORY = "autoscalers/"


def path_of(key: ObjectKey) -> str:
    return f"{DIRECTORY}{key.kind.lower()}/{key.namespace}/{key.name}.yaml"


def document(record: AutoscalerRecord) -> Body:
    target = {"kind": record.target.kind, "name": record.target.name}
    if record.target_version:
        target = {"apiVersion": record.target_version, **target}
    status: dict[str, Any] = {}
    if record.decided is not None:
        status["decided"] = _scale(record.decided, "replicas", "minReplicas", "maxReplicas") | {
            name: value
            for name, value in (
                ("rule", record.decided.rule),
                ("time", _text(record.decided.at)),
                ("why", record.decided.why),
            )
            if value
        }
    if record.rules:
        status["executionHistories"] = [_history(rule) for rule in record.rules]
    if record.status is not None:
        status |= horizontal_status.document(record.status)
    spec: dict[str, Any] = {"scaleTargetRef": target}
    if record.status is None:
        spec["rules"] = [dict(rule.rule) for rule in record.rules]
    return {
        "apiVersion": API_VERSION,
        "kind": record.key.kind,
        "metadata": {"name": record.key.name, "namespace": record.key.namespace},
        "spec": spec,
        "status": status,
    }


def record_of(body: Mapping[str, Any]) -> AutoscalerRecord:
    """Raises InputError, naming the member, when the document does not say what a record needs."""
    metadata, spec = lenient.mapping(body.get("metadata"), "metadata"), lenient.mapping(body.get("spec"), "spec")
    target = lenient.mapping(spec.get("scaleTargetRef"), "spec.scaleTargetRef")
    kind, name, namespace = (
        lenient.text(member) for member in (body.get("kind"), metadata.get("name"), metadata.get("namespace"))
    )
    version = lenient.text(target.get("apiVersion"))
    if not kind or not name:
        raise InputError("kind or metadata.name is missing")
    if not lenient.text(target.get("kind")) or not lenient.text(target.get("name")):
        raise InputError("spec.scaleTargetRef needs kind and name")
    status = body.get("status")
    status = status if isinstance(status, Mapping) else {}
    histories = {
        lenient.text(history.get("ruleName")): history
        for history in lenient.items(status.get("executionHistories"))
        if isinstance(history, Mapping)
    }
    return AutoscalerRecord(
        ObjectKey(group_of(API_VERSION), kind, namespace, name),
        ObjectKey(group_of(version), target["kind"], namespace, target["name"]),
        version,
        tuple(
            _rule(rule, histories.get(lenient.text(rule.get("name")), {}))
            for rule in lenient.items(spec.get("rules"))
            if isinstance(rule, Mapping) and lenient.text(rule.get("name"))
        ),
        _decided(status.get("decided")),
        horizontal_status.read(status),
    )


def _history(rule: RuleRecord) -> Body:
    history: dict[str, Any] = {"ruleName": rule.name}
    if rule.next is not None:
        history["nextExecutionTime"] = _text(rule.next)
    if rule.successful:
        history["successfulExecutions"] = [
            _times(run) | _scale(run.applied, "appliedReplicas", "appliedMinReplicas", "appliedMaxReplicas")
            for run in rule.successful
            if run.applied is not None
        ]
    if rule.failed:
        history["failedExecutions"] = [_times(run) | {"message": run.message} for run in rule.failed]
    return history


def _times(run: CronRun) -> dict[str, Any]:
    return {"scheduleTime": _text(run.scheduled), "executionTime": _text(run.executed)}


def _scale(scale: Scale, *names: str) -> dict[str, Any]:
    values = (scale.replicas, scale.min_replicas, scale.max_replicas)
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _rule(rule: Mapping[str, Any], history: Mapping[str, Any]) -> RuleRecord:
    name = lenient.text(rule["name"])
    return RuleRecord(
        name,
        dict(rule),
        lenient.time(history.get("nextExecutionTime")),
        tuple(
            CronRun(
                scheduled, executed, _read(run, "appliedReplicas", "appliedMinReplicas", "appliedMaxReplicas", name)
            )
            for run, scheduled, executed in _runs(history.get("successfulExecutions"))
        ),
        tuple(
            CronRun(scheduled, executed, message=lenient.text(run.get("message")))
            for run, scheduled, executed in _runs(history.get("failedExecutions"))
        ),
    )


def _runs(listed: object) -> list[tuple[Mapping[str, Any], datetime, datetime]]:
    """What has no times was no run."""
    runs = []
    for item in lenient.items(listed):
        if isinstance(item, Mapping):
            scheduled, executed = lenient.time(item.get("scheduleTime")), lenient.time(item.get("executionTime"))
            if scheduled is not None and executed is not None:
                runs.append((item, scheduled, executed))
    return runs


def _read(run: Mapping[str, Any], replicas: str, least: str, most: str, rule: str) -> Scale:
    executed = lenient.time(run.get("executionTime"))
    return Scale(_count(run.get(replicas)), _count(run.get(least)), _count(run.get(most)), rule, executed)


def _decided(decided: object) -> Scale | None:
    if not isinstance(decided, Mapping):
        return None
    replicas, least, most = (_count(decided.get(name)) for name in ("replicas", "minReplicas", "maxReplicas"))
    if replicas is None and least is None and most is None:
        return None
    rule, why = lenient.text(decided.get("rule")), lenient.text(decided.get("why"))
    return Scale(replicas, least, most, rule, lenient.time(decided.get("time")), why)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _text(when: datetime | None) -> str:
    return time_text(when) if when is not None else ""
