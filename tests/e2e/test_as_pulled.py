"""A few tests of other modules with every cluster pulled, at each run; GITFED_TEST_PULLED=1 does so with any.

Two replicas of one hub stand at the end, since their agents are what only pulled clusters have.
"""

from __future__ import annotations

import pytest

from tests.e2e import worlds
from tests.e2e.candidates import BASE, applied_everywhere, candidate
from tests.e2e.pulled_world import PulledWorld
from tests.e2e.test_main_job import (  # noqa: F401 - collected here, too
    test_drift_is_repaired_and_others_fields_are_left_alone,
    test_the_thread_push_applied_kill_restart_same,
    test_what_leaves_the_repository_leaves_the_clusters_and_the_inventory,
)
from tests.e2e.test_services import (  # noqa: F401
    test_endpoints_of_a_cluster_that_fails_leave_the_others,
    test_endpoints_of_a_multi_cluster_service_travel_and_go_with_it,
)
from tests.e2e.test_waves import test_an_object_waits_for_what_it_depends_on  # noqa: F401
from tests.e2e.world import Daemon, deployment

pytestmark = pytest.mark.e2e

WORLDS = worlds.PULLED


def has_agents(daemon: Daemon) -> bool:
    return {line["cluster"] for line in daemon.said("agent connected")} == {"m1", "m2"}


def test_agents_go_from_replica_to_replica_to_the_one_that_leads(world: PulledWorld) -> None:
    world.push(BASE)
    first = candidate(world, "git", 1)
    applied_everywhere(world, "nginx:1.27")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "the roll-out recorded")
    second = candidate(world, "git", 2)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    before = world.versions("Deployment", "shop", "web")
    again = world.restart_agent("m1")
    world.until(lambda: "this hub does not lead" in again.text(), "the second sends it away")
    world.until(lambda: "connected to the hub" in again.text(), "the first takes it")
    assert not second.said("agent connected")
    first.kill()
    world.until(lambda: has_agents(second), "the second has the agents")
    assert world.versions("Deployment", "shop", "web") == before
    third = candidate(world, "git", 1)
    world.until(lambda: third.said("standing by while another daemon leads"), "the first is back, and stands by")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    applied_everywhere(world, "nginx:1.28")
    found = [world.get(name, "Deployment", "shop", "web") or {} for name in world.names]
    assert [one["metadata"]["generation"] for one in found] == [2, 2], "each push was applied once"
    assert second.stop() == 0
    world.until(lambda: has_agents(third), "and back again")
    assert third.stop() == 0
