"""Two daemons for one repository, without election: where no cluster can tell them apart, the state branch does."""

from __future__ import annotations

import itertools

import pytest

from tests.e2e.pulled import Pulled
from tests.e2e.pulled_shop import FEDERATION, POLICY, config, holds
from tests.e2e.pulled_shop import pulled as pulled
from tests.e2e.world import Daemon
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]


def has_named_another(daemon: Daemon) -> bool:
    said = daemon.said("problem on the state branch")
    return any("another gitfed decides here, too: commit" in line["problem"] for line in said)


def test_a_second_daemon_says_that_another_decides_and_nothing_is_doubled(pulled: Pulled) -> None:
    world = pulled.world
    leader = pulled.daemon()
    for name in world.names:
        pulled.agent(name)
    world.push(
        {"federation.yaml": FEDERATION, "policy.yaml": POLICY, **pulled.clusters(), "a.json": config("a", x="0")}
    )
    for name in world.names:
        world.until(lambda name=name: holds(world, name, "a", x="0"), f"the first roll-out in {name}")
    uids = {name: (world.get(name, "ConfigMap", "shop", "a") or {})["metadata"]["uid"] for name in world.names}
    second = world.daemon("--data-dir", str(world.directory / "other"), kubeconfig=pulled.nowhere)
    numbers = itertools.count(1)

    def second_was_told() -> bool:
        """Each push lets both decide, and the slower one meets what the faster one wrote."""
        number = next(numbers)
        world.push({"a.json": config("a", x=str(number)), f"n{number}.json": config(f"n{number}")})
        for name in world.names:
            world.until(lambda name=name: holds(world, name, "a", x=str(number)), f"push {number} in {name}")
        return has_named_another(second)

    world.until(second_was_told, "the second daemon has named the other")
    for name in world.names:
        assert (world.get(name, "ConfigMap", "shop", "a") or {})["metadata"]["uid"] == uids[name]
    assert leader.stop() == 0
    assert second.stop() == 0
