"""Federated autoscalers with one metric each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.declared.federated_hpa import FederatedHPA

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


QUEUE = {"type": "External", "external": {"metric": {"name": "jobs"}, "target": {"type": "Value", "value": "100"}}}


def declared(*metrics: Mapping[str, Any], least: int = 1, most: int = 100, **more: Any) -> FederatedHPA:
    return FederatedHPA.read({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": least,
            "maxReplicas": most,
            "metrics": list(metrics or (CPU,)),
            **more,
        },
    })  # fmt: skip
