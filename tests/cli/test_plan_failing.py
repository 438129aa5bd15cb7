"""What a plan says of clusters that fail."""

from __future__ import annotations

from gitfed.cli.output import plain, plan_failing
from gitfed.views import plans
from tests.planning.evictions import DIRECTLY, evicted
from tests.planning.stage import Stage

PLAIN = plain.paint("never")


def test_a_fleet_that_is_well_has_nothing_to_say() -> None:
    stage = Stage()
    stage.turn()
    assert plan_failing.lines(stage.turn(), PLAIN) == []


def test_a_cluster_before_and_after_its_taint_and_work_that_leaves_it() -> None:
    stage = Stage()
    stage.turn()
    plan = stage.at(35).fail("m1").turn()
    assert plan_failing.lines(plan, PLAIN) == [
        "Failing",
        "  cluster m1   does not answer since 2026-03-01T12:00:35Z   no taint yet",
        "  next decision at 2026-03-01T12:05:35Z",
    ]
    stage.at(335).turn()
    stage.slow.add("m2")
    plan = stage.at(635).turn()
    assert plan_failing.lines(plan, PLAIN) == [
        "Failing",
        "  cluster m1        does not answer since 2026-03-01T12:00:35Z   "
        "cluster.karmada.io/unreachable:NoExecute since 2026-03-01T12:05:35Z",
        "  shop/Deploy/web   leaves m1 (Gracefully)                       its copy stays until m2 is healthy",
        "  next decision at 2026-03-01T12:20:36Z",
    ]
    stage.slow.clear()
    plan = stage.at(700).turn()
    assert plan_failing.lines(plan, PLAIN)[-1].endswith("its copy is deleted there as soon as it answers")


def test_what_waits_for_a_deletion_says_so_also_as_json() -> None:
    stage = evicted(failover=DIRECTLY)
    plan = stage.turn()
    assert any("m2 waits for the confirmed deletion there" in line for line in plan_failing.lines(plan, PLAIN))
    document = plans.document(plan)
    assert [one["reach"] for one in document["failover"]["clusters"]] == ["Unknown", "Ready", "Ready", "Ready"]
    [web] = [one for one in document["bindings"] if one["resource"]["name"] == "web"]
    assert web["awaitsDeletion"] == ["m1"]
    assert web["gracefulEvictionTasks"][0]["purgeMode"] == "Directly"
