"""Order inside a cluster: waves with health between them, named dependencies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.shop import BASE, image
from tests.e2e.world import World, deployment

pytestmark = pytest.mark.e2e


def waiting(world: World) -> dict[tuple[str, str], str]:
    done = world.gitfed(
        "plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json"
    )
    return {(c["cluster"], c["name"]): c["waits"] for c in json.loads(done.stdout)["changes"] if c["waits"]}


def test_a_wave_begins_in_a_cluster_when_the_one_before_is_healthy_there(world: World) -> None:
    after: dict[str, Any] = {"annotations": {"gitfed.io/wave": "1"}}
    world.push({**BASE, "apps/app.json": deployment("app", **after)})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "the first wave")
    world.until(lambda: "waiting" in world.state().get("state.yaml", ""), "recorded as waiting")
    assert image(world, "app", "m1") is None
    assert set(waiting(world)) == {("m1", "app"), ("m2", "app")}
    world.mark_available("m1", "shop", "web")
    world.until(lambda: image(world, "app", "m1"), "the second wave in m1")
    assert image(world, "app", "m2") is None
    assert list(waiting(world)) == [("m2", "app")]
    assert waiting(world)["m2", "app"].startswith("wave 1 waits for wave 0: Deployment.apps/shop/web (InProgress")

    # A restart in the middle changes nothing.
    daemon.kill()
    world.daemon()
    world.mark_available("m2", "shop", "web")
    world.until(lambda: image(world, "app", "m2"), "the second wave in m2")

    # An update goes the same way: the second wave gets its new image when the first one runs its own.
    world.push({"apps/web.json": deployment("web", image="nginx:1.28"),
                "apps/app.json": deployment("app", image="nginx:1.28", **after)})  # fmt: skip
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the first wave again")
    world.until(lambda: ("m1", "app") in waiting(world), "the second waits")
    assert image(world, "app", "m1") == "nginx:1.27"
    world.mark_available("m1", "shop", "web")
    world.until(lambda: image(world, "app", "m1") == "nginx:1.28", "the second wave again")


def test_an_object_waits_for_what_it_depends_on(world: World) -> None:
    annotations = {"gitfed.io/depends-on": "apps/Deployment/shop/web"}
    world.push({**BASE, "apps/app.json": deployment("app", annotations=annotations)})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "what it depends on")
    world.until(lambda: waiting(world).get(("m1", "app"), "").startswith("waits for Deployment.apps/shop/web: InPro"),
                "the plan says what waits")  # fmt: skip
    world.mark_available("m1", "shop", "web")
    world.until(lambda: image(world, "app", "m1"), "the one that waited")
    assert image(world, "app", "m2") is None
