"""Pods get nodes within what nodes have; where nothing fits they say why and wait."""

from __future__ import annotations

from tests.controllers.stage import Body, Stage, workload


def create(stage: Stage, name: str = "web", *, cpu: str = "100m", replicas: int = 1, **pod: object) -> None:
    body = workload("Deployment", name, cpu=cpu, replicas=replicas)
    body["spec"]["template"]["spec"] |= pod
    stage.api.create("deployments.apps", body)
    stage.pass_time()


def placed(stage: Stage) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in stage.pods())


def scheduled(pod: Body) -> tuple[str, str, str]:
    (found,) = (one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled")
    return found["status"], found.get("reason", ""), found.get("message", "")


def test_pods_spread_evenly() -> None:
    stage = Stage()
    create(stage, replicas=6)
    assert placed(stage) == ["node-0", "node-0", "node-1", "node-1", "node-2", "node-2"]


def test_a_node_takes_no_more_than_it_has() -> None:
    stage = Stage(2, cpu="1")
    create(stage, cpu="600m", replicas=3)
    assert placed(stage) == ["", "node-0", "node-1"]
    (waiting,) = (pod for pod in stage.pods() if not pod["spec"].get("nodeName"))
    assert scheduled(waiting) == (
        "False",
        "Unschedulable",
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims "
        "found for incoming pod.",
    )
    assert waiting["status"]["phase"] == "Pending"


def test_a_waiting_pod_is_placed_when_room_is_made() -> None:
    stage = Stage(1, cpu="1")
    create(stage, cpu="900m")
    create(stage, "late", cpu="900m")
    assert placed(stage) == ["", "node-0"]
    stage.api.delete("deployments.apps", "default", "web")
    stage.pass_time()
    assert placed(stage) == ["node-0"]


def test_a_waiting_pod_is_placed_when_a_node_comes() -> None:
    stage = Stage(1, cpu="1")
    create(stage, cpu="2")
    stage.add_node(7, cpu="4", memory="8Gi", pods=110)
    stage.pass_time()
    assert placed(stage) == ["node-7"]


def test_nodes_hold_so_many_pods() -> None:
    stage = Stage(1, pods=2)
    create(stage, replicas=3)
    assert placed(stage) == ["", "node-0", "node-0"]


def test_selectors_affinity_and_taints_are_obeyed() -> None:
    stage = Stage()
    stage.api.patch("nodes", "", "node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    stage.api.patch("nodes", "", "node-2", {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}})
    create(stage, nodeSelector={"disk": "ssd"}, replicas=2)
    assert placed(stage) == ["node-1", "node-1"]
    create(stage, "gpu", nodeSelector={"kubernetes.io/hostname": "node-2"})
    (pod,) = stage.pods(app="gpu")
    assert scheduled(pod)[2].startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s) {gpu: }, 2 node(s) didn't match"
    )
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    create(stage, "fits", affinity={"nodeAffinity": required}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert [one["spec"]["nodeName"] for one in stage.pods(app="fits")] == ["node-2"]


def test_a_node_that_is_not_ready_takes_nothing() -> None:
    stage = Stage(1)
    node = stage.api.get("nodes", "", "node-0")
    conditions = [{**one, "status": "False"} if one["type"] == "Ready" else one for one in node["status"]["conditions"]]
    stage.api.update("nodes", {**node, "status": {**node["status"], "conditions": conditions}}, subresource="status")
    create(stage)
    assert placed(stage) == [""]
    (pod,) = stage.pods()
    assert scheduled(pod)[2] == "no nodes available to schedule pods"
    assert stage.api.get("nodes", "", "node-0")["spec"]["taints"][0]["key"] == "node.kubernetes.io/not-ready"


def test_services_and_ingresses_get_addresses_and_endpoints() -> None:
    stage = Stage()
    create(stage, replicas=2)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    stage.api.create("services", service)
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"defaultBackend": backend},
    }
    stage.api.create("ingresses.networking.k8s.io", ingress)
    stage.pass_time()
    addresses = [
        stage.api.get(resource, "default", "web")["status"]["loadBalancer"]["ingress"][0]["ip"]
        for resource in ("services", "ingresses.networking.k8s.io")
    ]
    assert len(set(addresses)) == 2
    (found,) = [
        one
        for one in stage.api.list("endpointslices.discovery.k8s.io", "default")
        if one["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
    ]
    ready = {one["addresses"][0]: one["conditions"]["ready"] for one in found["endpoints"]}
    assert ready == {pod["status"]["podIP"]: True for pod in stage.pods()}
    assert found["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]


def test_a_budget_tells_how_many_pods_may_go() -> None:
    stage = Stage()
    create(stage, replicas=3)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
    }
    stage.api.create("poddisruptionbudgets.policy", budget)
    stage.settle()
    status = stage.api.get("poddisruptionbudgets.policy", "default", "web")["status"]
    counts = [status[name] for name in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")]
    assert counts == [3, 3, 2, 1]
    stage.api.delete("pods", "default", stage.pods()[0]["metadata"]["name"])
    stage.settle()
    assert stage.api.get("poddisruptionbudgets.policy", "default", "web")["status"]["disruptionsAllowed"] == 0
    stage.pass_time()
    assert stage.api.get("poddisruptionbudgets.policy", "default", "web")["status"]["disruptionsAllowed"] == 1


def test_a_quota_gives_back_what_was_taken_away() -> None:
    stage = Stage()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": {"pods": "2", "requests.cpu": "1"}},
    }
    stage.api.create("resourcequotas", quota)
    create(stage, replicas=3)
    assert len(stage.pods()) == 2
    assert stage.api.get("resourcequotas", "default", "few")["status"]["used"] == {"pods": "2", "requests.cpu": "200m"}
    failure = stage.conditions("deployments.apps", "web")["ReplicaFailure"]
    assert failure == ("True", "FailedCreate"), "the Deployment says why a pod is missing"
    stage.api.delete("deployments.apps", "default", "web")
    stage.pass_time()
    assert stage.api.get("resourcequotas", "default", "few")["status"]["used"] == {"pods": "0", "requests.cpu": "0"}


def test_slices_of_another_manager_are_left_alone() -> None:
    stage = Stage()
    create(stage, replicas=1)
    metadata = {"name": "web", "namespace": "default"}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    stage.api.create("services", {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    labels = {"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "somebody"}
    theirs = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a-theirs", "namespace": "default", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.7"]}],
        "ports": [],
    }
    stage.api.create("endpointslices.discovery.k8s.io", theirs)
    stage.pass_time()
    found = stage.api.list("endpointslices.discovery.k8s.io", "default")
    of_web = [one for one in found if one["metadata"]["labels"]["kubernetes.io/service-name"] == "web"]
    assert len(of_web) == 2
    [kept] = [one for one in of_web if one["metadata"]["name"] == "a-theirs"]
    assert [one["addresses"] for one in kept["endpoints"]] == [["192.0.2.7"]]
