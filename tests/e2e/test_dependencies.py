"""What a workload refers to travels with it."""

from __future__ import annotations

import json

import pytest

from tests.e2e.shop import image
from tests.e2e.world import World, cluster, config_map, settings
from tests.planning.dependants import taking, workload

pytestmark = pytest.mark.e2e

FILES = {
    "gitfed.json": settings(), "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2"),
    "apps/web.json": workload("web", "conf"), "apps/conf.json": config_map("conf", {"a": "1"}),
    "policies/web.json": taking("web", ["m1"]),
}  # fmt: skip


def has(world: World, where: str) -> bool:
    return world.get(where, "ConfigMap", "shop", "conf") is not None


def test_a_dependency_follows_its_workload_and_leaves_after_it(world: World) -> None:
    world.push(FILES)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and has(world, "m1"), "both in m1")
    assert not has(world, "m2")
    path = "bindings/shop/conf-ConfigMap.core.yaml"
    world.until(lambda: "resource: Deployment.apps/shop/web" in world.state().get(path, ""), "who needs it is recorded")
    world.push({"policies/web.json": taking("web", ["m2"])})
    world.until(lambda: image(world, "web", "m2") and has(world, "m2"), "both in m2")
    plan = world.gitfed(
        "plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json"
    )
    kept = [c["reason"] for c in json.loads(plan.stdout)["changes"] if (c["cluster"], c["name"]) == ("m1", "conf")]
    assert kept == ["Deployment.apps/shop/web still needs it here"]
    assert has(world, "m1")
    daemon.kill()
    world.daemon()
    world.mark_available("m2", "shop", "web")
    world.until(lambda: image(world, "web", "m1") is None and not has(world, "m1"), "both left m1")
    world.push({"apps/web.json": None, "policies/web.json": None})
    world.until(lambda: image(world, "web", "m2") is None and not has(world, "m2"), "gone with the workload")


def test_a_dependency_that_comes_later_is_picked_up(world: World) -> None:
    world.push({name: text for name, text in FILES.items() if name != "apps/conf.json"})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    world.push({"apps/conf.json": FILES["apps/conf.json"]})
    world.until(lambda: has(world, "m1"), "conf in m1")
