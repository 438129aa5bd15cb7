"""Clusters that the daemon cannot reach: their agents dial out to its hub, and do the same there."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gitfed as gitfed_package
from gitfed.agent_protocol import frames
from tests.clusters.cable import Cables
from tests.e2e.failing import ONE, SOON, binding, log, settled_in_m1
from tests.e2e.pulled import Pulled
from tests.e2e.pulled_shop import ACCESS, FEDERATION, POLICY, config, edit, holds, listed
from tests.e2e.pulled_shop import pulled as pulled
from tests.e2e.shop import image, inventory
from tests.e2e.world import World, deployment, policy, settings
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]


def test_a_push_arrives_drift_is_repaired_without_the_hub_and_nothing_is_doubled(pulled: Pulled) -> None:
    world = pulled.world
    agents = {name: pulled.agent(name) for name in world.names}
    daemon = pulled.daemon()
    world.push(
        {"federation.yaml": FEDERATION, "policy.yaml": POLICY, **pulled.clusters(), "a.json": config("a", x="1"),
         "ann.yaml": ACCESS}
    )  # fmt: skip
    for name in world.names:
        world.until(lambda name=name: holds(world, name, "a", x="1"), f"the object in {name}")
    world.until(lambda: world.state()["state.yaml"].count("outcome: applied") == 2, "the roll-out recorded")
    edit(world, "m1", "a", x="2")
    world.until(lambda: holds(world, "m1", "a", x="1"), "drift repaired")
    told = listed(pulled)
    assert [(one["cluster"], one["state"], one["connections"], one["protocol"]) for one in told] == [
        ("m1", "Connected", 1, frames.NEWEST),
        ("m2", "Connected", 1, frames.NEWEST),
    ]
    assert {one["program"] for one in told} == {f"gitfed {gitfed_package.__version__}"}
    assert all(one["certificateEnds"] > one["lastHeard"] >= one["connectedSince"] for one in told)
    world.until(
        lambda: all(one["slice"]["held"] == one["slice"]["wanted"] > 0 for one in listed(pulled)), "all is held"
    )
    daemon.kill()
    edit(world, "m2", "a", x="3")
    world.until(lambda: holds(world, "m2", "a", x="1"), "drift repaired without the hub")
    before = world.versions("ConfigMap", "shop", "a")
    again = pulled.daemon()
    world.push({"b.json": config("b", y="1")})
    for name in world.names:
        world.until(lambda name=name: holds(world, name, "b", y="1"), f"the next push in {name}")
    assert world.versions("ConfigMap", "shop", "a") == before
    assert agents["m1"].stop() == 0
    assert again.stop() == 0


def test_an_agent_in_the_wrong_cluster_gets_nothing_and_silence_means_unknown(pulled: Pulled) -> None:
    world = pulled.world
    agents = {name: pulled.agent(name) for name in world.names}
    daemon = pulled.daemon()
    world.push(
        {"federation.yaml": FEDERATION, "policy.yaml": POLICY, **pulled.clusters(), "a.json": config("a", x="1")}
    )
    for name in world.names:
        world.until(lambda name=name: holds(world, name, "a", x="1"), f"the object in {name}")
    world.until(lambda: world.state()["state.yaml"].count("outcome: applied") == 2, "the roll-out recorded")
    agents["m1"].kill()
    world.until(lambda: "its agent has been silent for 4 s" in daemon.log_path.read_text(), "m1 is unknown")
    stranger = pulled.agent("m1", context="m2")  # with m1's certificate, in m2
    before = world.versions("ConfigMap", "shop", "a")
    world.push({"a.json": config("a", x="2")})
    world.until(lambda: holds(world, "m2", "a", x="2"), "the push in m2, by its own agent")
    world.until(lambda: "the cluster m2 answers its agent" in daemon.log_path.read_text(), "who that is was noticed")
    assert world.versions("ConfigMap", "shop", "a")["m1"] == before["m1"]
    stranger.kill()
    pulled.agent("m1")
    world.until(lambda: holds(world, "m1", "a", x="2"), "m1 with an agent of its own")


STATE_GOES_ALONG = {"cluster": {"purgeMode": "Directly", "statePreservation": {
    "rules": [{"aliasLabelName": "ready-before", "jsonPath": "{.readyReplicas}"}]}}}  # fmt: skip


def has_moved(world: World, old: str, new: str) -> dict[str, Any]:
    """What runs where the work went, with the state that it had where it came from."""
    found = world.until(lambda: world.get(new, "Deployment", "shop", "web"), f"web in {new}")
    assert found["metadata"]["labels"]["ready-before"] == "2"
    world.mark_available(new, "shop", "web")
    world.until(lambda: f"gitfed.io/released: {old}" in binding(world), f"the eviction from {old} is over")
    assert image(world, "web", old), "only its agent can delete it there"
    return dict(found)


def has_left(world: World, old: str, new: str, was: dict[str, Any]) -> None:
    """The old copy goes, and the new one stays as it was made."""
    world.until(lambda: image(world, "web", old) is None, f"the old copy in {old} is gone")
    world.until(lambda: "web" not in inventory(world, old), "and so is its entry")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    world.until(lambda: "taints" not in world.state()[f"clusters/{old}.yaml"], "the taint is gone")
    found = world.get(new, "Deployment", "shop", "web")
    assert found is not None
    assert [found["metadata"][one] for one in ("uid", "generation")] == [
        was["metadata"][one] for one in ("uid", "generation")
    ]
    assert log(world).count(f"web leaves {old}") == 1, "it was decided once"


def test_work_leaves_a_silent_agents_cluster_and_its_old_copy_goes_later(pulled: Pulled) -> None:
    world = pulled.world
    with Cables() as cables:
        cable = cables.to(pulled.port)
        agents = [pulled.agent("m1", port=cable.port), pulled.agent("m2")]
        daemon = pulled.daemon("--cluster-lease-duration", "10s", "--cluster-failure-threshold", "600ms")
        failover = {**SOON["failover"], "startWithoutConfirmation": True}
        web = policy("web", None, placement=ONE, failover=STATE_GOES_ALONG)
        # Declared, so that it stays: no controller finishes the deletion of a namespace here.
        space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        world.push({"gitfed.json": settings(failover=failover), "policy.json": web, "web.json": deployment("web"),
                    "space.json": space, **pulled.clusters()})  # fmt: skip
        settled_in_m1(world)
        world.until(lambda: "ready-before" in binding(world), "its state is written down while all is well")
        cable.cut()
        was = has_moved(world, "m1", "m2")
        assert "its agent has been silent for 10 s" in world.state()["clusters/m1.yaml"]
        merge = "application/merge-patch+json"
        world.ask("m1", "PATCH", world.path("Deployment", "shop", "web"), {"spec": {"replicas": 5}}, merge)
        world.until(lambda: replicas(world, "m1") == 2, "its agent, alone, keeps what it was told to keep")
        cable.mend()
        has_left(world, "m1", "m2", was)
        agents[1].kill()
        was = has_moved(world, "m2", "m1")
        pulled.agent("m2")
        has_left(world, "m2", "m1", was)
    assert daemon.stop() == 0


def replicas(world: World, cluster: str) -> int:
    return int((world.get(cluster, "Deployment", "shop", "web") or {"spec": {"replicas": 0}})["spec"]["replicas"])
