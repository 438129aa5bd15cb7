"""Guards against a real fleet: which limits hold a push, and for how long."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.e2e.world import World, cluster, config_map, policy, settings

MAPS = {f"apps/c{n}.json": config_map(f"c{n}", {"k": "v"}) for n in range(4)}
LOOSE = settings(guards={"maxDeletions": 1000, "maxDeletionPercent": 100})
BASE = {
    "gitfed.json": settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100}),
    "clusters/m1.json": cluster("m1"),
    "policies/all.json": policy("all", ["m1"], (("v1", "ConfigMap"),)),
    **MAPS,
}
GONE = dict.fromkeys(MAPS)


def left(world: World) -> list[str]:
    return sorted(name for name in world.objects("m1", "ConfigMap", "shop") if re.fullmatch(r"c\d", name))


def planned(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    where = ("--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig))
    return world.gitfed("plan", *where, *arguments, check=False)


@pytest.fixture(autouse=True)
def rolled_out(world: World) -> None:
    world.push(BASE)
    world.apply()
    assert left(world) == ["c0", "c1", "c2", "c3"]


def test_a_push_cannot_raise_the_limit_that_would_hold_it(world: World) -> None:
    pushed = world.push({"gitfed.json": LOOSE, **GONE, "apps/new.json": config_map("c9", {"k": "v"})})
    for _ in range(2):  # the second time it is the commit that was rolled out last, and still not its own judge
        done = world.apply(check=False)
        assert done.returncode == 5, done.stderr
        assert left(world) == ["c0", "c1", "c2", "c3", "c9"]
    state = world.state()["state.yaml"]
    assert f"appliedCommit: {pushed}" in state
    assert "limitsCommit:" in state
    plan = planned(world)
    assert plan.returncode == 5
    assert "deletions 4/1 HELD" in plan.stdout
    assert "Limits are those of " in plan.stdout + plan.stderr


def test_a_limit_that_was_raised_by_itself_counts_from_the_next_push_on(world: World) -> None:
    world.push({"gitfed.json": LOOSE})
    world.apply()
    assert "limitsCommit" not in world.state()["state.yaml"]
    world.push(GONE)
    world.apply()
    assert left(world) == []


def test_who_consents_lets_the_new_limits_in_too(world: World) -> None:
    world.push({"gitfed.json": LOOSE, **GONE})
    world.apply(check=False)
    plan = planned(world, "-o", "json")
    world.apply("--confirm", json.loads(plan.stdout)["digest"])
    assert left(world) == []
    assert "limitsCommit" not in world.state()["state.yaml"]


def test_a_push_that_takes_back_what_was_held_ends_the_waiting(world: World) -> None:
    world.push({"gitfed.json": LOOSE, **GONE})
    world.apply(check=False)
    world.push(MAPS)
    world.apply()
    assert "limitsCommit" not in world.state()["state.yaml"]
    world.push(GONE)
    world.apply()
    assert left(world) == []
