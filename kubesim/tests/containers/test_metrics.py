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


def test_the_load_of_a_workload_is_shared_by_its_running_pods() -> None:
    stage = Stage(1)
    body = workload("Deployment", replicas=2, cpu="500m")
    body["metadata"]["annotations"] = {"kubesim/cpu-load": "3"}
    stage.api.create("deployments.apps", body)
    stage.pass_time()
    used = [one["containers"][0]["usage"]["cpu"] for one in stage.api.list("pods.metrics.k8s.io", "default")]
    assert used == ["1500000000n", "1500000000n"]
    (node,) = stage.api.list("nodes.metrics.k8s.io")
    assert node["usage"]["cpu"] == "3050000000n"
