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
        status["executionHistories"] = [_history(one) for one in record.rules]
    if record.status is not None:
        status |= horizontal_status.document(record.status)
    spec: dict[str, Any] = {"scaleTargetRef": target}
    if record.status is None:
        spec["rules"] = [dict(one.rule) for one in record.rules]
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
        lenient.text(one) for one in (body.get("kind"), metadata.get("name"), metadata.get("namespace"))
    )
    version = lenient.text(target.get("apiVersion"))
    if not kind or not name:
        raise InputError("kind or metadata.name is missing")
    if not lenient.text(target.get("kind")) or not lenient.text(target.get("name")):
        raise InputError("spec.scaleTargetRef needs kind and name")
    status = body.get("status")
    status = status if isinstance(status, Mapping) else {}
    histories = {
        lenient.text(one.get("ruleName")): one
        for one in lenient.items(status.get("executionHistories"))
        if isinstance(one, Mapping)
    }
    return AutoscalerRecord(
        ObjectKey(group_of(API_VERSION), kind, namespace, name),
        ObjectKey(group_of(version), target["kind"], namespace, target["name"]),
        version,
        tuple(
            _rule(one, histories.get(lenient.text(one.get("name")), {}))
            for one in lenient.items(spec.get("rules"))
            if isinstance(one, Mapping) and lenient.text(one.get("name"))
        ),
        _decided(status.get("decided")),
        horizontal_status.read(status),
    )


def _history(one: RuleRecord) -> Body:
    found: dict[str, Any] = {"ruleName": one.name}
    if one.next is not None:
        found["nextExecutionTime"] = _text(one.next)
    if one.successful:
        found["successfulExecutions"] = [
            _times(run) | _scale(run.applied, "appliedReplicas", "appliedMinReplicas", "appliedMaxReplicas")
            for run in one.successful
            if run.applied is not None
        ]
    if one.failed:
        found["failedExecutions"] = [_times(run) | {"message": run.message} for run in one.failed]
    return found


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
                scheduled, executed, _read(one, "appliedReplicas", "appliedMinReplicas", "appliedMaxReplicas", name)
            )
            for one, scheduled, executed in _runs(history.get("successfulExecutions"))
        ),
        tuple(
            CronRun(scheduled, executed, message=lenient.text(one.get("message")))
            for one, scheduled, executed in _runs(history.get("failedExecutions"))
        ),
    )


def _runs(found: object) -> list[tuple[Mapping[str, Any], datetime, datetime]]:
    """What has no times was no run."""
    runs = []
    for one in lenient.items(found):
        if isinstance(one, Mapping):
            scheduled, executed = lenient.time(one.get("scheduleTime")), lenient.time(one.get("executionTime"))
            if scheduled is not None and executed is not None:
                runs.append((one, scheduled, executed))
    return runs


def _read(one: Mapping[str, Any], replicas: str, least: str, most: str, rule: str) -> Scale:
    executed = lenient.time(one.get("executionTime"))
    return Scale(_count(one.get(replicas)), _count(one.get(least)), _count(one.get(most)), rule, executed)


def _decided(found: object) -> Scale | None:
    if not isinstance(found, Mapping):
        return None
    replicas, least, most = (_count(found.get(name)) for name in ("replicas", "minReplicas", "maxReplicas"))
    if replicas is None and least is None and most is None:
        return None
    rule, why = lenient.text(found.get("rule")), lenient.text(found.get("why"))
    return Scale(replicas, least, most, rule, lenient.time(found.get("time")), why)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _text(when: datetime | None) -> str:
    return time_text(when) if when is not None else ""
