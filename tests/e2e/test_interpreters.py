"""A kind of the user's own with rules of the user's own, from one push to every cluster."""

from __future__ import annotations

import json

import pytest

from tests.e2e.workloads import GROUP, PATH, RULES, arrived, image_of, pause, spec_of, workload, workload_repository
from tests.e2e.world import World, config_map, policy

pytestmark = pytest.mark.e2e


BROKEN = RULES.replace("observedObj.spec.paused", "observedObj.spec.nothing.paused")


def test_one_push_brings_a_kind_with_its_rules_and_a_members_fields_are_retained(
    world: World,
) -> None:
    world.push(workload_repository())
    world.daemon()
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    pause(world, "m1")
    world.push({"web.yaml": workload("nginx:1.28")})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [True, False]
    left = world.gitfed("diff", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig))
    assert left.stdout == ""


def test_a_rule_that_fails_writes_nothing_and_everything_else_goes_on(world: World) -> None:
    world.push(workload_repository())
    daemon = world.daemon()
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")
    pause(world, "m2")
    world.push({
        "rules.yaml": BROKEN, "web.yaml": workload("nginx:1.28"),
        "other.json": config_map("other", {"a": "b"}), "others.json": policy("others", None, (("v1", "ConfigMap"),)),
    })  # fmt: skip
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "other"), "another object of the same push")
    assert [image_of(world, name) for name in ("m1", "m2")] == ["nginx:1.27"] * 2
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [False, True]
    shown = world.gitfed("plan", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "--live").stdout
    assert "workloads:2: attempt to index field 'nothing' (a nil value)" in shown
    world.push({"rules.yaml": RULES})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [False, True]
    assert daemon.process.poll() is None


HEALTH = """    healthInterpretation:
      luaScript: |
        function InterpretHealth(observedObj)
          return observedObj.status ~= nil and observedObj.status.ready
        end
"""


def test_apply_waits_for_what_the_script_of_a_kind_calls_healthy(world: World) -> None:
    """The object has no condition that anybody else could read."""
    world.push(workload_repository(RULES + HEALTH))
    done = world.apply("--wait", "--timeout", "12s", check=False)
    assert done.returncode == 6
    assert f"m1: Workload.{GROUP}/shop/web: not healthy, says the customization" in done.stdout + done.stderr
    for name in ("m1", "m2"):
        world.ask(name, "PATCH", PATH, {"status": {"ready": True}}, "application/merge-patch+json")
    assert world.apply("--wait", "--timeout", "30s", check=False).returncode == 0
    world.ask("m2", "PATCH", PATH, {"status": {"ready": False}}, "application/merge-patch+json")
    listed = world.gitfed(
        "get", "works", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "-o", "json"
    ).stdout
    health = {row["cluster"]: (row["health"], row["message"]) for row in json.loads(listed)["items"]
              if row["kind"] == "Workload"}  # fmt: skip
    assert health == {"m1": ("Current", "healthy"), "m2": ("InProgress", "not healthy, says the customization")}
    listed = world.gitfed(
        "get", "bindings", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "-o", "wide"
    ).stdout
    (line,) = (line for line in listed.splitlines() if "Workload" in line and "web" in line)
    assert "2/2   " in line
    assert "1/2 " in line
    assert "m2: not healthy, says the customization" in line
