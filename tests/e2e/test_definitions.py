"""CustomResourceDefinitions leave after their objects, and never with somebody else's."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.clusters.rest import RefusedError
from tests.e2e.definitions import custom, definition, everything
from tests.e2e.looking import looked
from tests.e2e.shop import BASE
from tests.e2e.world import World, cluster, settings
from tests.support import needs

pytestmark = pytest.mark.e2e


def found(world: World, where: str, name: str, plural: str = "lamps") -> dict[str, Any] | None:
    try:
        return dict(world.ask(where, "GET", f"/apis/example.com/v1/namespaces/shop/{plural}/{name}"))
    except RefusedError as error:
        if ": 404 " in str(error):
            return None
        raise


def defined(world: World, where: str) -> bool:
    return world.get(where, "CustomResourceDefinition", "", "lamps.example.com") is not None


HERE = {**BASE, "gitfed.json": settings(guards={"maxDeletionPercent": 100})}
LAMPS: dict[str, str | None] = {
    "crd.json": definition("lamps", "Lamp"), "lamp.json": custom("Lamp", "desk"),
    "policies/lamps.json": everything("lamps", "Lamp", ["m1", "m2"]),
}  # fmt: skip


def test_a_definition_goes_after_its_objects_and_never_with_somebody_elses(world: World) -> None:
    world.push({**HERE, **LAMPS})
    daemon = world.daemon()
    world.until(lambda: all(found(world, name, "desk") for name in world.names), "the lamp everywhere")
    theirs = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "theirs", "namespace": "shop"}}
    world.ask("m2", "POST", "/apis/example.com/v1/namespaces/shop/lamps", theirs)
    world.push(dict.fromkeys(LAMPS))
    world.until(lambda: not defined(world, "m1"), "the definition is gone in m1")
    world.until(lambda: found(world, "m2", "desk") is None, "our lamp is gone in m2")

    def reasons() -> set[tuple[str, str]]:
        return {(one["cluster"], one["reason"]) for one in daemon.said("object skipped")}

    world.until(lambda: ("m2", "stays: Lamp/shop/theirs is still there") in reasons(), "m2 keeps it")
    assert defined(world, "m2")
    assert found(world, "m2", "theirs") is not None
    [kept] = looked(world)[1]
    assert (kept["action"], kept["reason"]) == ("keep", "stays: Lamp/shop/theirs is still there")
    world.ask("m2", "DELETE", "/apis/example.com/v1/namespaces/shop/lamps/theirs")
    world.until(lambda: not defined(world, "m2"), "the definition is gone in m2 too")


def test_what_is_preserved_keeps_its_definition(world: World) -> None:
    kept = {"metadata": {"annotations": {"gitfed.io/prune": "disabled"}, "name": "desk", "namespace": "shop"}}
    world.push({**HERE, **LAMPS, "lamp.json": json.dumps(json.loads(custom("Lamp", "desk")) | kept)})
    daemon = world.daemon()
    before = world.until(lambda: found(world, "m1", "desk"), "the lamp in m1")
    world.push(dict.fromkeys(LAMPS))
    world.until(lambda: daemon.said("object skipped"), "the definition stays")
    after = found(world, "m1", "desk")
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_definition_and_its_objects_move_and_are_somewhere_all_the_time(world: World) -> None:
    world.push({**HERE, **LAMPS, "policies/lamps.json": everything("lamps", "Lamp", ["m1"])})
    world.daemon()
    world.until(lambda: found(world, "m1", "desk"), "the lamp in m1")
    world.gitfed("suspend", "cluster/m2", "--repo", str(world.bare))
    moving = world.push({"policies/lamps.json": everything("lamps", "Lamp", ["m2"])})

    def is_done_with_m1() -> bool:
        results = yaml.safe_load(world.state()["state.yaml"])["clusters"]
        return bool(results["m1"].get("commit") == moving)

    # Nothing may be written to m2 yet, so m1 keeps both, however long that takes.
    world.until(is_done_with_m1, "all that can be done is done")
    assert found(world, "m1", "desk") is not None
    assert found(world, "m2", "desk") is None
    world.gitfed("resume", "cluster/m2", "--repo", str(world.bare))

    def moved() -> bool:
        # First m1, then m2: what is in neither was in none of them for a moment.
        here, there = found(world, "m1", "desk"), found(world, "m2", "desk")
        assert here or there
        return here is None

    world.until(moved, "the lamp has moved")
    world.until(lambda: not defined(world, "m1"), "the definition followed")


@needs.pushed("a pulled cluster leaves with gitfed unregister: test_registration.py")
def test_a_cluster_that_leaves_keeps_the_definition_of_what_stays_there(world: World) -> None:
    other = {
        "crd2.json": definition("bulbs", "Bulb"), "policies/bulbs.json": everything("bulbs", "Bulb", ["m2"]),
        **{f"bulb{number}.json": custom("Bulb", f"bulb{number}") for number in range(3)},
    }  # fmt: skip
    world.push({**HERE, **LAMPS, **other, **{f"clusters/{name}.json": cluster(name) for name in world.names}})
    daemon = world.daemon()
    world.until(lambda: found(world, "m2", "desk"), "the lamp in m2")
    world.until(lambda: found(world, "m2", "bulb2", "bulbs"), "bulbs in m2")
    theirs = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "theirs", "namespace": "shop"}}
    world.ask("m2", "POST", "/apis/example.com/v1/namespaces/shop/lamps", theirs)
    assert daemon.stop() == 0
    world.git("fetch", "-q", "origin", "gitfed/state:refs/remotes/origin/gitfed/state")
    said = world.gitfed("unjoin", "m2", "--delete-objects", "--kubeconfig", str(world.kubeconfig)).stderr
    kept = "kept CustomResourceDefinition.apiextensions.k8s.io/lamps.example.com: Lamp/shop/theirs is still there, and "
    assert kept + "would be deleted with it" in said
    assert found(world, "m2", "desk") is None
    assert found(world, "m2", "theirs") is not None
    # Its objects were ours, and went before it.
    assert world.get("m2", "CustomResourceDefinition", "", "bulbs.example.com") is None
