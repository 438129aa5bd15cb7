"""Times of day."""

from __future__ import annotations

import json
from typing import Any


def hours(
    *rules: tuple[str, str, int], name: str = "hours", target: str = "web", kind: str = "Deployment", **more: Any
) -> str:
    return json.dumps({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "CronFederatedHPA",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target},
            "rules": [{"name": rule, "schedule": when, "targetReplicas": count, **more} for rule, when, count in rules],
        },
    })  # fmt: skip
