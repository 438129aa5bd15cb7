"""People are told what needs them, by a real daemon, whatever happens to it or to the other side."""

from __future__ import annotations

import contextlib

import pytest

from tests.clusters.faulty import Faulty
from tests.e2e.listener import Listener, notification
from tests.e2e.world import World, cluster, config_map, policy, settings

pytestmark = pytest.mark.e2e

_FAST = ("--cluster-status-update-frequency", "1s", "--cluster-failure-threshold", "1s",
         "--cluster-success-threshold", "1s")  # fmt: skip


def test_what_was_owed_when_the_daemon_was_killed_is_told_by_the_next_and_told_once(
    world: World, faulty: Faulty
) -> None:
    with contextlib.closing(Listener()) as listener:
        listener.away = True
        arguments = ("--notify-dir", str(listener.target(world.directory)), *_FAST)
        world.push(
            {
                "gitfed.json": settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100}),
                "oncall.json": notification("oncall"),
                "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2"),
                "policy.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
                **{f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(3)},
            }
        )  # fmt: skip
        daemon = world.daemon(*arguments)
        world.until(lambda: len(world.objects("m2", "ConfigMap", "shop")) == 3, "the fleet is as it should be")
        world.push({f"maps/{number}.json": None for number in range(3)})
        world.until(lambda: listener.refused >= 1, "somebody should be told")
        said = world.until(lambda: daemon.said("a notification is not delivered"), "that it was not is logged")
        assert said[0]["error"] == "the target bus answers HTTP 503 Service Unavailable"
        daemon.kill()
        listener.away = False
        daemon = world.daemon(*arguments)
        world.until(lambda: listener.told() == [("io.gitfed.held.begun", "deletions")], "it is told")
        assert listener.events[0]["data"]["summary"].startswith("6 changes held by gate deletions: ")
        world.until(lambda: daemon.said("notification delivered"), "and that is noted")
        daemon.kill()
        daemon = world.daemon(*arguments)
        faulty.tell("m2", lambda faults: faults.down())
        world.until(lambda: ("io.gitfed.unreachable.begun", "m2") in listener.told(), "the cluster is told of")
        assert listener.told().count(("io.gitfed.held.begun", "deletions")) == 1
        assert ("io.gitfed.held.over", "deletions") not in listener.told()
        assert daemon.stop() == 0
