"""The shop with clusters that agents keep."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.world import gitfed
from tests.e2e.pulled import Pulled
from tests.e2e.world import World

FEDERATION = """
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {name: fleet}
spec: {}
"""


ACCESS = """
apiVersion: gitfed.io/v1alpha1
kind: AccessPolicy
metadata: {name: ann}
spec: {subjects: [{kind: User, name: ann}], allow: [view]}
"""


POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: apps/v1, kind: Deployment}]
  placement: {clusterAffinity: {clusterNames: [m1, m2]}}
"""


def config(name: str, **data: str) -> str:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": data}
    return json.dumps(body)


@pytest.fixture
def pulled(world: World) -> Iterator[Pulled]:
    with contextlib.closing(Pulled(world)) as made:
        yield made


def holds(world: World, cluster: str, name: str, **data: str) -> bool:
    found = world.get(cluster, "ConfigMap", "shop", name)
    return found is not None and found.get("data") == data


def edit(world: World, cluster: str, name: str, **data: str) -> None:
    path = world.path("ConfigMap", "shop", name)
    world.ask(cluster, "PATCH", path, {"data": data}, "application/merge-patch+json")


def listed(pulled: Pulled) -> list[dict[str, Any]]:
    """What `gitfed get agents` tells."""
    config = pulled.world.directory / "hub.conf"
    if not config.exists():
        made = gitfed(
            "kubeconfig", "--admin", "--user", "ann", "--data-dir", pulled.world.data, "--hub-url", pulled.url
        )
        config.write_text(made.out)
    done = gitfed("get", "agents", "-o", "json", "--server", pulled.url, "--kubeconfig", config)
    assert done.code == 0, done.err
    items: list[dict[str, Any]] = json.loads(done.out)["items"]
    return items
