"""Guards against a real fleet: which limits hold a push, and for how long."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e.gated import BASE, GONE, LOOSE, MAPS, left
from tests.e2e.world import World, config_map


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


def rewrite(world: World, files: dict[str, str]) -> str:
    """A history that has nothing in common with the one before."""
    world.git("checkout", "-q", "--orphan", "anew")
    world.git("branch", "-q", "-D", "main")
    world.git("branch", "-q", "-m", "main")
    return world.push(files, "rewritten", force=True)  # else it may be the same commit, made in the same second


def test_a_rewritten_commit_that_changes_nothing_is_no_base_for_the_next(world: World) -> None:
    before = world.git("rev-parse", "HEAD")
    rewrite(world, {"broken.yaml": "a: [\n"})
    done = world.apply(check=False)
    assert (done.returncode, "history" in done.stdout) == (3, True), done.stdout + done.stderr
    assert f"appliedCommit: {before}" in world.state()["state.yaml"]
    world.push({"broken.yaml": None, "gitfed.json": LOOSE, **GONE})
    done = world.apply(check=False)
    assert (done.returncode, left(world)) == (5, ["c0", "c1", "c2", "c3"])
    digest = json.loads(planned(world, "-o", "json").stdout)["digest"]
    world.apply("--confirm", digest, check=False)
    assert world.git("rev-parse", "HEAD") in world.state()["state.yaml"]


def test_after_a_rewrite_nobody_speaks_of_signatures_that_none_asked_for(world: World) -> None:
    rewrite(world, {})
    subprocess.run(["git", "-C", str(world.bare), "reflog", "expire", "--expire=now", "--all"], check=True)
    subprocess.run(["git", "-C", str(world.bare), "gc", "-q", "--prune=now"], check=True)
    done = world.apply("--data-dir", str(world.directory / "other"), check=False)
    # That the state of another engine is believed without its signature is said beside, and is no reason.
    held = [line for line in done.stdout.splitlines() if "history" in line]
    assert (done.returncode, [line for line in held if "sign" in line]) == (5, []), done.stdout
    assert held
    assert "does not descend from" in done.stdout


def test_a_repository_made_anew_at_the_same_place_does_not_inherit_the_state(world: World) -> None:
    rewrite(world, {})
    subprocess.run(["git", "-C", str(world.bare), "branch", "-q", "-D", "gitfed/state"], check=True)
    done = world.apply(check=False)
    assert done.returncode == 4
    assert "the data folder holds the state of another repository, or of a history that is gone" in done.stderr
