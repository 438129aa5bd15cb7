"""A rule by the clock, carried out by a daemon: decided, recorded, divided, and still there after a power cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clusters.faulty import Faulty
from tests.e2e.world import World, cluster, deployment, policy, settings
from tests.planning.hours import hours
from tests.planning.loads import load
from tests.planning.stage import DIVIDED

pytestmark = pytest.mark.e2e


def replicas(world: World) -> list[int | None]:
    found = [world.get(name, "Deployment", "shop", "web") for name in world.names]
    return [one["spec"]["replicas"] if one is not None else None for one in found]


def test_a_rule_that_runs_every_minute_scales_in_all_clusters(world: World) -> None:
    world.push({
        "gitfed.json": settings(),
        **{f"clusters/{name}.json": cluster(name) for name in world.names},
        "web.json": deployment("web", replicas=2),
        "policy.json": policy("web", None, placement=DIVIDED),
    })  # fmt: skip
    daemon = world.daemon()
    world.until(lambda: replicas(world) == [1, 1], "the template's number")
    world.push({"hours.json": hours(("always", "* * * * *", 6))})
    world.until(lambda: replicas(world) == [3, 3], "what the rule decides")
    shown = yaml.safe_load(world.gitfed("get", "autoscalers", "--repo", str(world.bare), "-o", "json").stdout)
    [one] = shown["items"]
    assert (one["decided"]["replicas"], one["decided"]["rule"], one["declared"]) == (6, "always", 2)
    daemon.kill()
    world.push({"web.json": deployment("web", replicas=4, image="web:2")})
    world.daemon()
    world.until(lambda: _images(world) == ["web:2", "web:2"], "the new image")
    assert replicas(world) == [3, 3], "what was decided outlives the process, and the template does not change it"
    world.push({"hours.json": None})
    world.until(lambda: replicas(world) == [2, 2], "the template's number again")


def _images(world: World) -> list[str]:
    found = [world.get(name, "Deployment", "shop", "web") for name in world.names]
    return [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in found if one is not None]


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[Faulty]:
    """With pods: an autoscaler counts them."""
    with Faulty(tmp_path, controllers=True) as made:
        yield made


def test_load_that_rises_and_falls_is_followed_in_all_clusters(world: World, faulty: Faulty) -> None:
    """Only the embedded fleet can be told how much its pods use: each cluster's share of them, so much together."""

    def web(load: str) -> str:
        body = json.loads(deployment("web", replicas=2, annotations={"kubesim/cpu-load": load}))
        [container] = body["spec"]["template"]["spec"]["containers"]
        container["resources"] = {"requests": {"cpu": "100m"}}
        return json.dumps(body)

    at_once = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 900, "periodSeconds": 15}]}
    target = {"type": "AverageValue", "averageValue": "50m"}
    by_cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    behavior = {"scaleUp": at_once, "scaleDown": {"stabilizationWindowSeconds": 0}}
    world.push({
        "gitfed.json": settings(),
        **{f"clusters/{name}.json": cluster(name) for name in world.names},
        "web.json": web("200m"),
        "policy.json": policy("web", None, placement=DIVIDED),
        "load.json": load(minReplicas=2, maxReplicas=8, metrics=[by_cpu], behavior=behavior),
    })  # fmt: skip
    world.daemon()
    world.until(lambda: replicas(world) == [1, 1], "the template's number")
    world.until(lambda: replicas(world) == [4, 4], "what 400m of load need", seconds=90)
    shown = yaml.safe_load(world.gitfed("get", "autoscalers", "--repo", str(world.bare), "-o", "json").stdout)
    [one] = shown["items"]
    assert (one["decided"]["replicas"], one["declared"], one["metrics"][0]["target"]) == (8, 2, "50m")
    world.push({"web.json": web("10m")})
    world.until(lambda: replicas(world) == [1, 1], "the least", seconds=90)
