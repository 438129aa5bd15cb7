"""The load that clusters report."""

from __future__ import annotations

import json
from typing import Any


def load(name: str = "load", target: str = "web", **spec: Any) -> str:
    return json.dumps({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
                 "maxReplicas": 10, **spec},
    })  # fmt: skip
