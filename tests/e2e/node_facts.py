"""Fleets whose nodes have a capacity, and workloads that ask for some of it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.e2e.world import World, deployment

DYNAMIC = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}


MERGE = "application/merge-patch+json"


def add_node(world: World, where: str, name: str, cpu: str, **labels: str) -> None:
    world.ask(where, "POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    # Whoever registers a node is expected to take this mark away when it is ready.
    world.ask(where, "PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    world.ask(where, "PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)


def asking(name: str, replicas: int, requests: dict[str, str], **spec: Any) -> str:
    body = json.loads(deployment(name, replicas=replicas))
    pod = body["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": requests}
    pod.update(spec)
    return json.dumps(body)


def shown(world: World, what: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(world.bare), "show", what], capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout


def replicas(world: World, name: str) -> dict[str, int]:
    found = {}
    for where in world.names:
        body = world.get(where, "Deployment", "shop", name)
        if body is not None:
            found[where] = body["spec"]["replicas"]
    return found
