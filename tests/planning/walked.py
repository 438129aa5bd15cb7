"""A workload of a walk."""

from __future__ import annotations

import json

from tests.e2e.world import deployment


def workload(name: str, replicas: int) -> str:
    """With requests, so that room counts."""
    found = json.loads(deployment(name, replicas=replicas))
    found["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500m"}}
    return json.dumps(found)
