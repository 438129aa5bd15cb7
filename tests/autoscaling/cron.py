"""Cron rules of one autoscaler, and moments at which they are asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gitfed.autoscaling import cron_rules
from gitfed.model.declared.autoscaling import CronFederatedHPA
from gitfed.model.scaling import AutoscalerRecord

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


MINUTE = timedelta(minutes=1)


def rule(name: str = "morning", schedule: str = "0 8 * * *", replicas: int | None = 8, **more: Any) -> dict[str, Any]:
    found = {"name": name, "schedule": schedule, **more}
    return found if replicas is None else {**found, "targetReplicas": replicas}


def declared(*rules: dict[str, Any], name: str = "web", **target: str) -> CronFederatedHPA:
    body = {
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "CronFederatedHPA",
        "metadata": {"name": "hours", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, **target},
            "rules": list(rules),
        },
    }
    return CronFederatedHPA.read(body)


def after(
    one: CronFederatedHPA, record: AutoscalerRecord | None, *times: datetime, refused: str = ""
) -> AutoscalerRecord:
    for now in times:
        record = cron_rules.advance(one, record, now, refused)
    assert record is not None
    return record
