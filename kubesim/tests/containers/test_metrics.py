"""The resource metrics: a share of what runs asks for."""

from __future__ import annotations

from tests.controllers.stage import Stage, workload


def test_pods_and_nodes_use_a_share_of_what_is_requested() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", replicas=2, cpu="500m"))
    stage.pass_time()
    first, _ = stage.api.list("pods.metrics.k8s.io", "default", labels="app=web")
    assert first["containers"] == [{"name": "main", "usage": {"cpu": "300000000n", "memory": "49152Ki"}}]
    assert (first["window"], first["timestamp"]) == ("10s", "2026-01-01T00:00:05Z")
    (node,) = stage.api.list("nodes.metrics.k8s.io")
    assert node["usage"] == {"cpu": "650000000n", "memory": "303104Ki"}
    again = stage.api.get("pods.metrics.k8s.io", "default", first["metadata"]["name"])
    assert again["containers"] == first["containers"]


def test_a_pod_that_does_not_run_uses_nothing() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", image="does-not-exist", replicas=1))
    stage.pass_time()
    assert stage.api.list("pods.metrics.k8s.io") == []
