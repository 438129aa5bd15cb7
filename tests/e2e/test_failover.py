"""Clusters that fail, with real programs: servers that are stopped and started, and a daemon that is killed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitfed.cli.demo import flink
from tests.clusters.embedded import EmbeddedServer
from tests.clusters.rest import RefusedError
from tests.e2e.failing import FAST, ONE, SOON, binding, decided, files, log, plain, settled_in_m1
from tests.e2e.shop import image, inventory
from tests.e2e.world import World, settings

pytestmark = pytest.mark.e2e


def plan(world: World) -> str:
    arguments = ("--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json")
    return world.gitfed("plan", *arguments, check=False).stdout


def test_work_leaves_a_cluster_that_dies_and_its_old_copy_goes_when_it_is_back(world: World) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.servers["m1"].kill()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    said = log(world)
    assert "cluster m1 does not answer since " in said
    assert "cluster m1 gets the taint cluster.karmada.io/unreachable:NoExecute (failover)" in said
    assert "Deployment.apps/shop/web leaves m1 (Gracefully, TaintUntolerated: taint" in said
    assert "fromCluster: m1" in binding(world)
    assert "cluster.karmada.io/unreachable" in world.state()["clusters/m1.yaml"]
    daemon.kill()
    again = world.daemon(*FAST)
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
    world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone")
    assert image(world, "web", "m2")
    assert [key for key in inventory(world, "m1") if "web" in key] == []
    assert again.stop() == 0


def test_a_cluster_that_answers_and_is_not_ready_is_left_too(world: World) -> None:
    """What says of itself that it is not ready has another taint than what says nothing."""
    world.servers["m1"].may_ail()
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.servers["m1"].ail()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    said = log(world)
    assert "cluster m1 is not ready since " in said
    assert "cluster m1 gets the taint cluster.karmada.io/not-ready:NoExecute (failover)" in said
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
    world.servers["m1"].heal()
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone")
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    assert image(world, "web", "m2")
    assert daemon.stop() == 0


def test_the_state_of_a_workload_goes_with_it_as_a_label(world: World) -> None:
    rules = {"rules": [{"aliasLabelName": "ready-before", "jsonPath": "{.readyReplicas}"}]}
    quick = {"failover": {**SOON["failover"], "startWithoutConfirmation": True}}
    world.push({**files(failover={"cluster": {"purgeMode": "Directly", "statePreservation": rules}}),
                "gitfed.json": settings(**quick)})  # fmt: skip
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: "ready-before" in binding(world), "its state is written down while all is well")
    world.servers["m1"].kill()
    world.until(lambda: image(world, "web", "m2"), "web in m2")

    def label() -> str | None:
        return (
            ((world.get("m2", "Deployment", "shop", "web") or {}).get("metadata") or {})
            .get("labels", {})
            .get("ready-before")
        )

    assert label() == "2"
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "fromCluster" not in binding(world), "the failover is over")
    world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    assert label() == "2", "as long as the failover stands"
    assert daemon.stop() == 0


def test_a_daemon_that_loses_its_own_network_evicts_nothing(world: World) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    for server in world.servers.values():
        server.kill()
    world.until(lambda: "2 of 2 clusters are not ready, more than 50%" in log(world), "the outage is recorded")
    world.until(
        lambda: (
            world.state()["clusters/m1.yaml"].count("Unknown") and world.state()["clusters/m2.yaml"].count("Unknown")
        ),
        "both are known to be away",
    )
    for server in world.servers.values():
        server.start()
    world.until(lambda: "evictions are possible again" in log(world), "it is over")
    world.until(lambda: world.state()["clusters/m1.yaml"].count("gitfed.io/reach: Ready"), "m1 is ready")
    assert image(world, "web", "m1")
    assert image(world, "web", "m2") is None
    assert "gracefulEvictionTasks" not in binding(world)
    assert daemon.stop() == 0


def test_directly_waits_for_the_confirmed_deletion_across_a_restart(world: World) -> None:
    world.push(files(failover={"cluster": {"purgeMode": "Directly"}}))
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.servers["m1"].kill()
    world.until(lambda: "fromCluster: m1" in binding(world), "it leaves m1")
    daemon.kill()
    world.daemon(*FAST)
    world.until(lambda: "waits for the confirmed deletion" in plan(world), "the plan says what it waits for")
    assert image(world, "web", "m2") is None
    world.servers["m1"].start()
    world.until(lambda: image(world, "web", "m2"), "web starts in m2")
    assert world.get("m1", "Deployment", "shop", "web") is None
    assert "waits no longer for the deletion in m1: its new copy may start" in log(world)


@pytest.mark.parametrize("step", ["noticed", "tainted", "left", "placed", "over", "back"])
def test_kill_9_at_any_step_loses_no_task_and_no_copy(world: World, step: str) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.servers["m1"].kill()
    steps = {
        "noticed": lambda: "gitfed.io/reach: Unknown" in world.state().get("clusters/m1.yaml", ""),
        "tainted": lambda: "unreachable" in world.state().get("clusters/m1.yaml", ""),
        "left": lambda: "fromCluster: m1" in binding(world),
        "placed": lambda: image(world, "web", "m2"),
        "over": lambda: "released" in binding(world),
        "back": lambda: "released" in binding(world),
    }
    if step in ("over", "back"):
        world.until(lambda: image(world, "web", "m2"), "web in m2")
        world.mark_available("m2", "shop", "web")
    world.until(steps[step], step)
    if step == "back":
        world.servers["m1"].start()
    daemon.kill()
    world.daemon(*FAST)
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.mark_available("m2", "shop", "web")
    if step != "back":
        world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
        world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    assert image(world, "web", "m2")
    assert json.dumps(binding(world)).count("fromCluster") == 0


def test_a_rehearsal_foretells_what_the_daemon_then_does(world: World) -> None:
    """The same code takes the decisions: only times differ."""
    world.push(files())
    world.daemon(*FAST)
    settled_in_m1(world)
    arguments = ("simulate", "--repo", str(world.bare), "--fail", "cluster/m1", "--recover", "cluster/m1@1m",
                 "--until", "2m", "--healthy-after", "2s", "--cluster-failure-threshold", "600ms",
                 "--cluster-success-threshold", "600ms", "-o", "json")  # fmt: skip
    told = json.loads(world.gitfed(*arguments).stdout)
    foretold = [plain(one["text"]) for one in told["timeline"] if one["kind"] == "decision"]
    before = len(decided(world))
    world.servers["m1"].kill()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
    world.servers["m1"].start()
    world.until(lambda: "released" not in binding(world), "the old copy is gone")
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone")
    done = [plain(line) for line in decided(world)[before:]]
    # A real server that starts is not ready for a while: of clusters only the way down is the same on all.
    of_work = [line for line in done if not line.startswith("cluster ")]
    assert of_work == [line for line in foretold if not line.startswith("cluster ")]
    until_over = foretold.index("Deployment.apps/shop/web has left m1: its copy there may go") + 1
    assert done[:until_over] == foretold[:until_over]
    assert told["deletedOnRecovery"] == []


FLINK_POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
    "metadata": {"name": "orders", "namespace": "shop"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment"}],
        "placement": ONE,
        "failover": {"cluster": {
            "purgeMode": "Directly",
            "statePreservation": {"rules": [{"aliasLabelName": flink.LABEL, "jsonPath": "{.jobStatus.jobId}"}]},
        }},
    },
}  # fmt: skip
FLINK_JOB = {
    "apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment",
    "metadata": {"name": "orders", "namespace": "shop"},
    "spec": {
        "image": "flink:1.20", "flinkVersion": "v1_20",
        "jobManager": {"replicas": 1, "resource": {"cpu": 1, "memory": "1024m"}},
        "taskManager": {"replicas": 1, "resource": {"cpu": 1, "memory": "1024m"}},
        "job": {"jarURI": "local:///orders.jar", "parallelism": 1, "upgradeMode": "last-state"},
    },
}  # fmt: skip
FLINK_DEFINITIONS = {
    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "definitions"},
    "spec": {"resourceSelectors": [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}]},
}  # fmt: skip


def job(world: World, cluster: str) -> dict[str, Any] | None:
    """The FlinkDeployment as the cluster has it."""
    try:
        found: dict[str, Any] = world.ask(
            cluster, "GET", "/apis/flink.apache.org/v1beta1/namespaces/shop/flinkdeployments/orders"
        )
    except RefusedError:
        return None
    return found


@pytest.mark.parametrize("step", ["dead", "tainted", "left", "started", "over", "back"])
def test_a_job_goes_on_from_its_last_checkpoint_in_another_cluster(world: World, step: str) -> None:
    """The example of Karmada's notes on stateful failover, with a simulated operator and a mutating step. The daemon
    is killed at each step of it: no label is lost, and there are never two jobs."""
    if not isinstance(world.servers["m1"], EmbeddedServer):
        pytest.skip("the simulated operator lives in the embedded clusters")
    for server in world.servers.values():
        flink.Operator(server.cluster.world)
    quick = {"failover": {**SOON["failover"], "startWithoutConfirmation": True}}
    world.push(
        {
            **files(), "gitfed.json": settings(**quick), "crd.json": json.dumps(flink.definition()),
            "policies/flink.json": json.dumps(FLINK_POLICY), "policies/crd.json": json.dumps(FLINK_DEFINITIONS),
            "apps/orders.json": json.dumps(FLINK_JOB),
        }
    )  # fmt: skip
    daemon = world.daemon(*FAST)
    first = world.until(lambda: status(world, "m1").get("jobId"), "it runs")

    def recorded() -> str:
        return world.state().get("bindings/shop/orders-FlinkDeployment.flink.apache.org.yaml", "")

    world.until(lambda: first in recorded(), "its state is written down")
    world.servers["m1"].kill()
    steps = {
        "dead": lambda: True,
        "tainted": lambda: "NoExecute" in world.state().get("clusters/m1.yaml", ""),
        "left": lambda: "fromCluster" in recorded(),
        "started": lambda: job(world, "m2"),
        "over": lambda: "gitfed.io/released" in recorded(),
        "back": lambda: "gitfed.io/released" in recorded(),
    }
    world.until(steps[step], step)
    if step == "back":
        world.servers["m1"].start()
    daemon.kill()
    daemon = world.daemon(*FAST)
    moved = world.until(lambda: job(world, "m2"), "it runs in m2")
    assert moved["metadata"]["labels"][flink.LABEL] == first
    assert moved["spec"]["job"]["initialSavepointPath"] == f"{flink.CHECKPOINTS}/{first}"
    second = world.until(lambda: status(world, "m2").get("upgradeSavepointPath"), "its new job runs")
    assert second == f"{flink.CHECKPOINTS}/{first}"
    world.until(lambda: "fromCluster" not in recorded(), "the failover is over")
    if step != "back":
        world.servers["m1"].start()
    world.until(lambda: job(world, "m1") is None, "the old job is gone")
    world.until(lambda: "released" not in recorded(), "nothing is left to be remembered")
    assert (job(world, "m2") or {})["metadata"]["labels"][flink.LABEL] == first, "as long as the failover stands"
    assert daemon.stop() == 0


def status(world: World, cluster: str) -> dict[str, Any]:
    """What the operator says of the job."""
    return ((job(world, cluster) or {}).get("status") or {}).get("jobStatus") or {}


def test_a_copy_that_falls_ill_leaves_a_cluster_that_is_well(world: World) -> None:
    world.push(
        files(
            propagateDeps=True,
            failover={"application": {"decisionConditions": {"tolerationSeconds": 8}, "purgeMode": "Gracefully"}},
        )
    )
    world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: "unhealthy-since" not in binding(world), "it is well")
    ill = {"status": {"availableReplicas": 0, "readyReplicas": 0, "updatedReplicas": 0, "unavailableReplicas": 2,
                      "conditions": [{"type": "Available", "status": "False"}]}}  # fmt: skip
    world.ask("m1", "PATCH", world.path("Deployment", "shop", "web") + "/status", ill, "application/merge-patch+json")
    world.until(lambda: "unhealthy-since" in binding(world), "that it is ill is written down")
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    assert "Deployment.apps/shop/web leaves m1 (Gracefully, ApplicationFailure: unhealthy since" in log(world)
    assert image(world, "web", "m1"), "the old copy stays until the new one is healthy"
    world.mark_available("m2", "shop", "web")
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    assert "NoExecute" not in world.state()["clusters/m1.yaml"]
