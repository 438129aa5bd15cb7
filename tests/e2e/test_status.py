"""Status back: what the clusters report, in listings, in the log and on the state branch."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.e2e.shop import BASE, image
from tests.e2e.world import World, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e


def binding(world: World) -> dict[str, Any]:
    text = world.state().get("bindings/shop/web-Deployment.apps.yaml", "{}")
    return dict(yaml.safe_load(text))


def test_the_state_of_every_copy_comes_back(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.mark_available("m1", "shop", "web")

    def healthy() -> Any:
        done = world.gitfed("get", "bindings", "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json")
        item = next(i for i in json.loads(done.stdout)["items"] if i["resource"]["kind"] == "Deployment")
        found = [one["health"] for one in item["status"]["aggregatedStatus"]]
        return item["status"] if found == ["Healthy", "Unhealthy"] else None

    status = world.until(healthy, "m1 healthy, m2 not yet")
    assert [one["applied"] for one in status["aggregatedStatus"]] == [True, True]
    assert status["conditions"][0]["reason"] == "FullyAppliedSuccess"
    assert status["templateStatus"]["availableReplicas"] == 2
    assert status["templateStatus"]["replicas"] == 2
    wide = world.gitfed("get", "bindings", "--live", "--kubeconfig", str(world.kubeconfig), "-o", "wide").stdout
    row = next(line for line in wide.splitlines() if "Deploy/web" in line)
    assert "2/2" in row
    assert "1/2" in row
    assert "m2: created 0 of 2 replicas" in row

    recorded = world.until(lambda: binding(world).get("status", {}).get("aggregatedStatus"), "on the state branch")
    assert [(one["clusterName"], one["applied"]) for one in recorded] == [("m1", True), ("m2", True)]
    assert {one["type"] for one in binding(world)["status"]["conditions"]} == {"Scheduled", "FullyApplied"}
    later = world.gitfed("get", "bindings", "--repo", str(world.bare), "-o", "json").stdout
    item = next(i for i in json.loads(later)["items"] if i["resource"]["kind"] == "Deployment")
    assert item["status"]["aggregatedStatus"] == recorded

    # A restart says nothing again.
    assert [line["object"] for line in daemon.said("binding applied")].count("Deployment.apps/shop/web") == 1
    daemon.stop()
    again = world.daemon()
    world.until(lambda: again.said("gitfed runs"), "the second process")
    world.push({"apps/new.json": deployment("new")})
    world.until(
        lambda: any(line["object"] == "Deployment.apps/shop/new" for line in again.said("binding applied")), "a new one"
    )
    assert [line["object"] for line in again.said("binding applied")] == ["Deployment.apps/shop/new"]


def test_a_copy_that_the_cluster_refuses_says_why(world: World) -> None:
    world.push({**BASE, "apps/conf.json": config_map("conf", {"not a key": "1"}),
                "policies/conf.json": policy("conf", ["m1"], (("v1", "ConfigMap"),))})  # fmt: skip
    daemon = world.daemon()
    said = world.until(lambda: daemon.said("binding not applied"), "the log says so")
    assert said[0]["object"] == "ConfigMap/shop/conf"
    assert said[0]["error"].startswith("0 of 1 copies are applied; m1: ")
    assert said[0]["reason"] == "FullyAppliedFailed"

    def recorded() -> Any:
        status = yaml.safe_load(world.state().get("bindings/shop/conf-ConfigMap.core.yaml", "{}")).get("status", {})
        items = status.get("aggregatedStatus") or [{}]
        return "not a key" in items[0].get("appliedMessage", "")

    world.until(recorded, "the refusal on the state branch")


def test_what_does_not_become_healthy_in_time_is_said_once(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(sync={"healthTimeout": "2s"})})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    said = world.until(lambda: daemon.said("binding not healthy in time"), "said")
    assert [line["object"] for line in said] == ["Deployment.apps/shop/web"]


def test_what_happened_is_told_in_the_reference_s_words(world: World) -> None:
    world.push(BASE)
    world.daemon()
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")

    def events(*arguments: str) -> list[tuple[str, str, str]]:
        world.git("fetch", "-q", "origin", "+gitfed/state:refs/heads/gitfed/state")
        found = json.loads(world.gitfed("get", "events", *arguments, "-o", "json").stdout)
        assert found["schema"] == "gitfed.io/events/v1"
        return [(one["type"], one["reason"], one["message"]) for one in found["items"]]

    placed = ("Normal", "ScheduleBindingSucceed", "placed on m1=2, m2=2")
    world.until(lambda: placed in events("deploy/shop/web"), "where it goes")
    world.until(lambda: ("Normal", "SyncSucceed", "applied in m1") in events("-c", "m1"), "that it is there")
    world.push({"policies/web.json": policy("web", ["m2"])})
    world.until(lambda: events("deploy/shop/web")[0][:2] == ("Normal", "ScheduleBindingSucceed"), "a move, on top")
    assert "placed on m2=2" in events()[0][2]
    assert not [one for one in events() if one[1] == "SyncFailed"], "a cluster that was not read yet failed at nothing"
