"""Decisions are taken from facts that are written down: what real clusters offer, who can read it, what is kept."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.e2e.node_facts import DYNAMIC, add_node, asking, replicas, shown
from tests.e2e.world import World, cluster, deployment, policy, settings
from tests.support import needs

pytestmark = pytest.mark.e2e


def add_pod(world: World, where: str, name: str, node: str, cpu: str) -> None:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], "nodeName": node}}
    world.ask(where, "POST", "/api/v1/namespaces/default/pods", body)


def branch_facts(world: World, name: str) -> dict[str, Any]:
    text = shown(world, f"gitfed/facts:clusters/{name}.yaml")
    return dict(yaml.safe_load(text)) if text else {}


def start(world: World, *more: tuple[str, str]) -> None:
    add_node(world, "m1", "m1-a", "4")
    add_node(world, "m2", "m2-a", "8", disk="ssd")
    add_node(world, "m2", "m2-b", "5")
    add_pod(world, "m2", "there", "m2-b", "1")
    world.push(
        {
            "gitfed.json": settings(),
            "clusters/m1.json": cluster("m1", region="eu"),
            "clusters/m2.json": cluster("m2", region="us"),
            "policies/web.json": policy("web", ["m1", "m2"], placement=DYNAMIC),
            "apps/web.json": asking("web", 8, {"cpu": "1"}),
            **dict(more),
        }
    )


def test_replicas_are_divided_by_the_capacity_of_nodes_from_published_facts(world: World) -> None:
    start(world, ("apps/fast.json", asking("fast", 3, {"memory": "1Gi"}, nodeSelector={"disk": "ssd"})))
    world.daemon()
    world.until(lambda: replicas(world, "web") == {"m1": 2, "m2": 6}, "two thirds of the replicas where there is room")
    world.until(lambda: replicas(world, "fast") == {"m2": 3}, "a selector that only one node fulfils")
    status = branch_facts(world, "m2")["status"]
    assert status["resourceSummary"]["allocatable"]["cpu"] == "13"
    assert status["resourceSummary"]["allocated"] == {"cpu": "1", "pods": "1"}
    assert sum(item["count"] for item in status["resourceSummary"]["allocatableModelings"]) == 2
    assert {item["name"]: item["free"]["cpu"] for item in status["nodeClasses"]} == {"m2-a": "8", "m2-b": "4"}
    assert status["nodeSummary"] == {"totalNum": 2, "readyNum": 2}

    # The decision names the commit of facts that it was taken from, and it is there.
    body = subprocess.run(
        ["git", "-C", str(world.bare), "log", "--format=%B", "gitfed/state"], capture_output=True, text=True, check=True
    ).stdout
    cited = set(re.findall(r"^Gitfed-Facts: facts branch ([0-9a-f]{40})$", body, re.M))
    assert cited
    for commit in cited:
        assert shown(world, f"{commit}:clusters/m2.yaml")

    # Somebody without any credential decides the same, even if nothing had been decided before.
    nothing = world.directory / "nothing.yaml"
    nothing.write_text("")
    given = ("--repo", str(world.bare), "--decisions", str(nothing), "-o", "json")
    plan = json.loads(world.gitfed("plan", *given).stdout)
    assert plan["facts"]["source"] == "facts branch"
    shares = {
        item["resource"]["name"]: {share["name"]: share["replicas"] for share in item["clusters"]}
        for item in plan["bindings"]
    }
    assert shares["web"] == {"m1": 2, "m2": 6}
    assert shares["fast"] == {"m2": 3}


def test_a_cluster_that_is_away_keeps_its_last_facts_and_is_marked(world: World) -> None:
    start(world)
    daemon = world.daemon()
    world.until(lambda: replicas(world, "web") == {"m1": 2, "m2": 6}, "web in both")
    before = world.until(lambda: branch_facts(world, "m2").get("status"), "facts of m2")
    assert daemon.stop() == 0
    world.servers["m2"].kill()
    world.daemon()
    world.until(lambda: "annotations" in branch_facts(world, "m2")["metadata"], "m2 marked as unknown")
    after = branch_facts(world, "m2")
    assert after["metadata"]["annotations"] == {"gitfed.io/reach": "Unknown"}
    assert {key: value for key, value in after["status"].items() if key != "conditions"} == {
        key: value for key, value in before.items() if key != "conditions"
    }
    ready = next(item for item in after["status"]["conditions"] if item["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ClusterNotReachable")


def test_without_a_policy_that_asks_for_it_no_node_or_pod_is_read(world: World) -> None:
    start(world, ("policies/web.json", policy("web", ["m1", "m2"])))
    world.daemon()
    world.until(lambda: replicas(world, "web") == {"m1": 8, "m2": 8}, "web in both")
    status = world.until(lambda: branch_facts(world, "m2").get("status"), "facts of m2")
    assert "resourceSummary" not in status
    assert "nodeClasses" not in status
    world.push({"policies/web.json": policy("web", ["m1", "m2"], placement=DYNAMIC)})
    world.until(lambda: "resourceSummary" in branch_facts(world, "m2")["status"], "room, once a policy asks for it")
    world.until(lambda: sum(replicas(world, "web").values()) == 8, "replicas divided")


def test_a_quota_inside_a_cluster_limits_what_goes_there(world: World) -> None:
    world.ask("m2", "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    limits = {"metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "3"}}}
    world.ask("m2", "POST", "/api/v1/namespaces/shop/resourcequotas", limits)
    start(world, ("apps/web.json", asking("web", 7, {"cpu": "1"})))
    world.daemon()
    world.until(lambda: replicas(world, "web") == {"m1": 4, "m2": 3}, "three in m2, where nodes have room for twelve")
    assert branch_facts(world, "m2")["status"]["resourceQuotas"] == [
        {"namespace": "shop", "name": "small", "hard": {"cpu": "3"}, "used": {}}
    ]
    told = json.loads(world.gitfed("explain", "--repo", str(world.bare), "deploy/shop/web", "-o", "json").stdout)
    here = next(item for item in told["placement"]["clusters"] if item["name"] == "m2")
    assert {"estimator": "quota shop/small", "replicas": 3, "limitedBy": "cpu"} in here["estimates"]


@needs.pushed("the daemon has no credentials for any pulled cluster")
def test_that_nobody_has_credentials_for_a_cluster_is_no_fact_about_it(world: World) -> None:
    """Nothing is recorded of it, so a plan elsewhere takes it for what it was; with a credential it is used at once."""
    config = yaml.safe_load(world.kubeconfig.read_text())
    without = {**config, "contexts": [one for one in config["contexts"] if one["name"] != "m2"]}
    world.kubeconfig.write_text(json.dumps(without))
    world.push({"gitfed.json": settings(), **{f"clusters/{name}.json": cluster(name) for name in world.names},
                "policies/web.json": policy("web", ["m1", "m2"]), "apps/web.json": deployment("web")})  # fmt: skip
    daemon = world.daemon()
    said = world.until(lambda: daemon.said("cluster cannot be used"), "it is said")[0]
    assert (said["cluster"], "m2" in said["error"]) == ("m2", True)
    world.until(lambda: world.get("m1", "Deployment", "shop", "web"), "the other one is used")
    world.until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "recorded")
    assert branch_facts(world, "m2") == {}
    assert "clusters/m2.yaml" not in world.state()
    for arguments in ([], ["--live", "--kubeconfig", str(world.kubeconfig)]):
        done = world.gitfed("plan", "--repo", str(world.bare), *arguments, "-o", "json", check=False)
        shown = json.loads(done.stdout)
        web = next(one for one in shown["bindings"] if one["resource"]["name"] == "web")
        assert [one["name"] for one in web["clusters"]] == ["m1", "m2"], f"{arguments}: {web['rejected']}"
        assert [one["name"] for one in shown["failover"]["clusters"]] == ["m1"]
    daemon.stop()
    world.kubeconfig.write_text(json.dumps(config))
    world.daemon()
    world.until(lambda: world.get("m2", "Deployment", "shop", "web"), "used as soon as there is a credential")
