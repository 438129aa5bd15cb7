"""Replicas that a cluster cannot run after all are taken back and placed elsewhere; the test plays the controllers."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml

from tests.e2e.node_facts import DYNAMIC, MERGE, add_node, asking, replicas
from tests.e2e.world import World, cluster, policy, settings

pytestmark = pytest.mark.e2e

APPS = "/apis/apps/v1/namespaces/shop"


def make_pods(world: World, where: str, name: str, *, ready: int, waiting: int) -> None:
    """What the controllers of that cluster would make of our Deployment: one ReplicaSet, some pods without a node."""
    deployment = world.get(where, "Deployment", "shop", name)
    assert deployment is not None
    metadata = deployment["metadata"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": metadata["uid"], "controller": True}
    revision = {"deployment.kubernetes.io/revision": "1"}
    world.ask(where, "PATCH", f"{APPS}/deployments/{name}", {"metadata": {"annotations": revision}}, MERGE)
    template = deployment["spec"]["template"]
    spec = {
        "replicas": deployment["spec"]["replicas"],
        "selector": deployment["spec"]["selector"],
        "template": template,
    }
    made = world.ask(
        where, "POST", f"{APPS}/replicasets",
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec,
         "metadata": {"name": f"{name}-1", "annotations": revision, "ownerReferences": [owner],
                      "labels": template["metadata"]["labels"]}},
    )  # fmt: skip
    status = {"replicas": ready + waiting, "readyReplicas": ready, "observedGeneration": metadata["generation"]}
    world.ask(where, "PATCH", f"{APPS}/deployments/{name}/status", {"status": status}, MERGE)
    mine = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-1", "uid": made["metadata"]["uid"]}
    for number in range(waiting):
        pod = f"{name}-1-{number}"
        world.ask(where, "POST", "/api/v1/namespaces/shop/pods",
                  {"metadata": {"name": pod, "ownerReferences": [{**mine, "controller": True}]},
                   "spec": template["spec"]})  # fmt: skip
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        world.ask(where, "PATCH", f"/api/v1/namespaces/shop/pods/{pod}/status",
                  {"status": {"conditions": [condition]}}, "application/strategic-merge-patch+json")  # fmt: skip


def start(world: World, **scheduling: Any) -> None:
    add_node(world, "m1", "m1-a", "6")
    add_node(world, "m2", "m2-a", "6")
    for where in world.names:
        service_account = {"metadata": {"name": "default"}}
        world.ask(where, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        world.ask(where, "POST", "/api/v1/namespaces/shop/serviceaccounts", service_account)
    world.push(
        {
            "gitfed.json": settings(scheduling=scheduling),
            "clusters/m1.json": cluster("m1"),
            "clusters/m2.json": cluster("m2"),
            "policies/web.json": policy("web", ["m1", "m2"], placement=DYNAMIC),
            "apps/web.json": asking("web", 6, {"cpu": "1"}),
        }
    )
    world.daemon()
    world.until(lambda: replicas(world, "web") == {"m1": 3, "m2": 3}, "half of it in each")


def test_replicas_that_find_no_node_run_in_another_cluster(world: World) -> None:
    start(world, descheduleInterval="1s", unschedulableThreshold="10s")
    make_pods(world, "m1", "web", ready=1, waiting=2)
    world.until(lambda: replicas(world, "web") == {"m1": 1, "m2": 5}, "two replicas moved to where there is room")
    said = "Binding has been descheduled, 2 replica(s) in cluster(m1), 2 total descheduled replica(s)"
    binding = yaml.safe_load(
        world.until(lambda: world.state().get("bindings/shop/web-Deployment.apps.yaml"), "the decision on record")
    )
    assert binding["metadata"]["annotations"]["gitfed.io/descheduled"].endswith(said)
    assert binding["spec"]["clusters"] == [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 5}]
    log = ["git", "-C", str(world.bare), "log", "--format=%B", "gitfed/state"]
    body = subprocess.run(log, capture_output=True, text=True, check=True).stdout
    assert f"Deployment.apps/shop/web: {said}" in body
    assert "(no node for 2 in m1: placed anew by PropagationPolicy/shop/web)" in body
    assert said in world.gitfed("explain", "--repo", str(world.bare), "deploy/shop/web").stdout
    told = world.daemons[0].said("replicas found no node")
    assert [(one["object"], one["what"], one["moved"]) for one in told][:1] == [
        ("Deployment.apps/shop/web", said, True)
    ]
