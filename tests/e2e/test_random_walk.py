"""A long random walk: people push, others interfere, clusters and the daemon die; after each settling all is well.

`GITFED_RANDOM_STEPS` says how many edits and disturbances (default: a few, about half a minute; thousands take an hour
and are for the night), `GITFED_RANDOM_SEED` which walk. What happens is in `walk`, what is right in `walk_history` and
`walk_check`; `tests.planning.test_walk` leads the planner alone through the same edits. Real API servers are as good:
faults that only the embedded fleet can make are left out there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import worlds
from tests.e2e.walk import Walk
from tests.e2e.walk_model import CLUSTERS
from tests.e2e.world import World, cluster

pytestmark = pytest.mark.e2e

STEPS = int(os.environ.get("GITFED_RANDOM_STEPS", "40"))
SEED = int(os.environ.get("GITFED_RANDOM_SEED", "1"))


@pytest.fixture(params=worlds.BOTH)
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walk]:
    with request.param(CLUSTERS, tmp_path) as world:
        yield Walk(world, SEED)


def test_a_random_walk_always_settles_where_it_should(walk: Walk) -> None:
    world = walk.world
    # Declared, so that it stays: no controller finishes the deletion of a namespace here.
    space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    world.push({"gitfed.json": walk.repository.settings(), "spaces/shop.json": space,
                **{f"clusters/{name}.json": cluster(name) for name in CLUSTERS}})  # fmt: skip
    world.daemon()
    world.until(lambda: "repositoryId" in world.state().get("state.yaml", ""), "the state branch")
    while walk.steps < STEPS:
        walk.burst(walk.random.randint(1, 20))
    assert not quarrels(world), "the plan has nothing left to do"
    for daemon in world.daemons:
        assert not [line for line in daemon.lines() if line.get("level") in ("critical", "unstructured")]


def quarrels(world: World) -> list[str]:
    """What a plan of its own, with fresh eyes, would still change."""
    options = ("--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig))
    done = world.gitfed("plan", *options, "--live", "-o", "json")
    changes = json.loads(done.stdout)["changes"]
    return [str(one) for one in changes if one["action"] in ("create", "update", "delete") and not one["waits"]]
