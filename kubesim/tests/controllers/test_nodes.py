"""What nodes do to the pods on them: addresses, taints, signs of life."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

from kubesim.controllers import nodes
from tests.controllers.stage import Stage, workload

Body = dict[str, Any]
TAINT = {"key": "maintenance", "value": "yes", "effect": "NoExecute"}


def tainted(stage: Stage, name: str) -> None:
    stage.api.patch("nodes", "", name, {"spec": {"taints": [TAINT]}})


def on(stage: Stage, node: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in stage.pods() if pod["spec"].get("nodeName") == node]


def pod(name: str, **spec: Any) -> Body:
    containers = [{"name": "main", "image": "nginx:1"}]
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}


def test_a_pod_has_an_address_of_its_node() -> None:
    stage = Stage(2)
    stage.api.create("deployments.apps", workload("Deployment", replicas=6))
    stage.pass_time()
    ranges = {node["metadata"]["name"]: ip_network(node["spec"]["podCIDR"]) for node in stage.api.list("nodes")}
    hosts = {node["metadata"]["name"]: nodes.address(node) for node in stage.api.list("nodes")}
    pods = stage.pods()
    assert len({one["status"]["podIP"] for one in pods}) == 6
    for one in pods:
        assert ip_address(one["status"]["podIP"]) in ranges[one["spec"]["nodeName"]]
        assert one["status"]["hostIP"] == hosts[one["spec"]["nodeName"]]


def test_a_pod_on_the_network_of_its_node_has_the_address_of_it() -> None:
    stage = Stage(1)
    stage.api.create("pods", pod("a", hostNetwork=True))
    stage.pass_time()
    assert stage.api.get("pods", "default", "a")["status"]["podIP"] == "172.18.0.2"


def test_a_pod_waits_for_an_address_until_one_is_given_back() -> None:
    stage = Stage(1)
    network = {"spec": {"podCIDR": "10.1.0.0/30", "podCIDRs": ["10.1.0.0/30"]}}
    stage.api.delete("nodes", "", "node-0")
    body = nodes.new("small", 0, labels={})
    made = stage.api.create("nodes", {**body, "spec": network["spec"]})
    status = nodes.status("small", 0, stage.cluster.world.now(), cpu="4", memory="8Gi", pods=110)
    stage.api.update("nodes", {**made, "status": status}, subresource="status")
    stage.settle()
    for name in "abc":
        stage.api.create("pods", pod(name))
        stage.pass_time()
    phases = {one["metadata"]["name"]: one["status"]["phase"] for one in stage.pods()}
    assert phases == {"a": "Running", "b": "Running", "c": "Pending"}
    stage.api.delete("pods", "default", "a")
    stage.pass_time(60)
    assert stage.api.get("pods", "default", "c")["status"]["podIP"] == "10.1.0.1"


def test_the_thousandth_node_has_addresses_too() -> None:
    body = nodes.new("n", 999, labels={})
    assert body["spec"]["podCIDR"] == "10.247.231.0/24"
    told = nodes.status("n", 999, "", cpu="1", memory="1Gi", pods=1)
    assert nodes.address({"status": told}) == "172.18.3.233"


def test_a_no_execute_taint_evicts_every_pod_that_does_not_tolerate_it() -> None:
    stage = Stage(2)
    stage.api.create("deployments.apps", workload("Deployment", replicas=4))
    stage.api.create("pods", pod("stays", nodeName="node-0", tolerations=[{"operator": "Exists"}]))
    stage.pass_time()
    assert len(on(stage, "node-0")) >= 2
    tainted(stage, "node-0")
    stage.pass_time()
    assert on(stage, "node-0") == ["stays"]
    assert len(on(stage, "node-1")) == 4


def test_a_pod_that_bears_a_taint_for_a_while_goes_after_it() -> None:
    stage = Stage(1)
    bears = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    stage.api.create("pods", pod("a", tolerations=[bears]))
    stage.pass_time()
    tainted(stage, "node-0")
    stage.pass_time(50)
    assert on(stage, "node-0") == ["a"]
    stage.pass_time(15)
    assert on(stage, "node-0") == []


def test_a_pod_stays_if_the_taint_is_gone_in_time() -> None:
    stage = Stage(1)
    bears = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    stage.api.create("pods", pod("a", tolerations=[bears]))
    stage.pass_time()
    tainted(stage, "node-0")
    stage.pass_time(50)
    stage.api.patch("nodes", "", "node-0", {"spec": {"taints": None}})
    stage.pass_time(20)
    assert on(stage, "node-0") == ["a"]
    tainted(stage, "node-0")
    stage.pass_time(50)
    assert on(stage, "node-0") == ["a"]


def test_an_evicted_pod_says_why_it_goes() -> None:
    stage = Stage(1, stop_seconds=10)
    stage.api.create("pods", pod("a"))
    stage.pass_time()
    tainted(stage, "node-0")
    stage.pass_time(1)
    assert stage.conditions("pods", "a")["DisruptionTarget"] == ("True", "DeletionByTaintManager")


def test_every_ready_node_renews_its_lease() -> None:
    stage = Stage(2, lease_seconds=10)
    leases = "leases.coordination.k8s.io"
    first = stage.api.get(leases, "kube-node-lease", "node-1")["spec"]
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("node-1", 40)
    stage.pass_time(25)
    later = stage.api.get(leases, "kube-node-lease", "node-1")["spec"]
    assert (first["renewTime"], later["renewTime"]) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:20.000000Z")


def test_a_node_that_is_not_ready_renews_no_lease() -> None:
    stage = Stage(1, lease_seconds=10)
    node = stage.api.get("nodes", "", "node-0")
    told = [{**one, "status": "False"} if one["type"] == "Ready" else one for one in node["status"]["conditions"]]
    stage.api.update("nodes", {**node, "status": {**node["status"], "conditions": told}}, subresource="status")
    stage.pass_time(25)
    lease = stage.api.get("leases.coordination.k8s.io", "kube-node-lease", "node-0")
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
