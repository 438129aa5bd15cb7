"""Replicas that found no node are taken back from a decision, and the same build finds them another place, or none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from gitfed.documents import bindings
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import Stuck
from gitfed.placement.failover import deschedule
from tests.placement.reference import DYNAMIC
from tests.planning.capacity_world import NOW, World, key, of, policy, quota, where, workload

LATER = NOW + timedelta(minutes=10)
SAID = "Binding has been descheduled, 3 replica(s) in cluster(a), 3 total descheduled replica(s)"


def placed(room_of_b: str = "0", **rooms: str) -> World:
    """Ten replicas went to cluster a; there may be room in b now."""
    objects = [workload("web", 10), policy("p", ["web"], DYNAMIC)]
    world = World(objects, {"a": "10", "b": "0"})
    world = world.after(world.plan())
    assert sum(share.replicas or 0 for share in world.decisions.bindings[key("web")].scheduled.shares) == 10
    return replace(world, rooms={"a": "0", "b": room_of_b, **rooms}, now=LATER)


def trimmed(world: World, **stuck: Stuck) -> Decisions:
    return deschedule.deschedule(world.decisions, {key("web"): stuck}, LATER)[0]


def test_what_found_no_node_is_placed_where_there_is_room() -> None:
    world = placed("5")
    plan = replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan()
    binding = of(plan, "web")
    assert where(plan, "web") == "a=7 b=3"
    assert binding.reasons.why == "no node for 3 in a: placed anew"
    assert binding.decision is not None
    assert binding.decision.last_scheduled == LATER
    assert binding.decision.rescheduling.descheduled is not None
    assert (binding.decision.rescheduling.descheduled.at, binding.decision.rescheduling.descheduled.message) == (
        LATER,
        SAID,
    )
    assert binding.decision.rescheduling.undone is None


def test_planning_again_changes_nothing() -> None:
    world = placed("5")
    after = replace(world, decisions=trimmed(world, a=Stuck(7, 3)))
    after = after.after(after.plan())
    again = replace(after, now=LATER + timedelta(minutes=1)).plan()
    assert of(again, "web").decision is after.decisions.bindings[key("web")]


def test_the_reason_stays_on_record_until_the_next_decision() -> None:
    world = placed("5")
    after = replace(world, decisions=trimmed(world, a=Stuck(7, 3)))
    decision = after.after(after.plan()).decisions.bindings[key("web")]
    document = bindings.to_document(decision)
    assert document["metadata"]["annotations"]["gitfed.io/descheduled"] == f"2026-03-01T12:10:00Z {SAID}"
    assert bindings.from_document(document).rescheduling.descheduled == decision.rescheduling.descheduled
    read = replace(world, decisions=replace(world.decisions, bindings={key("web"): bindings.from_document(document)}))
    assert of(read.plan(), "web").decision is read.decisions.bindings[key("web")]
    objects = [workload("web", 11), policy("p", ["web"], DYNAMIC)]
    grown = of(replace(read, objects=objects).plan(), "web").decision
    assert grown is not None
    assert grown.rescheduling.descheduled is None
    assert "gitfed.io/descheduled" not in bindings.to_document(grown)["metadata"]["annotations"]


def test_without_a_better_place_nothing_moves_and_nothing_is_written() -> None:
    world = placed("2")
    plan = replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan()
    assert where(plan, "web") == "a=10"
    assert of(plan, "web").decision is world.decisions.bindings[key("web")]
    assert of(plan, "web").scheduled.condition == world.decisions.bindings[key("web")].scheduled.condition


def test_older_facts_do_not_send_them_back_to_where_no_node_was_found() -> None:
    world = replace(placed(), rooms={"a": "30", "b": "3"})
    assert where(replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan(), "web") == "a=7 b=3"
    world = replace(world, rooms={"a": "30", "b": "2"})
    plan = replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan()
    assert of(plan, "web").decision is world.decisions.bindings[key("web")]


def test_a_quota_that_is_full_does_not_keep_them_where_they_cannot_run() -> None:
    world = placed("5")
    world = replace(world, objects=[*world.objects, quota("10")])
    assert where(replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan(), "web") == "a=7 b=3"


def test_what_a_quota_refuses_stays_where_it_was() -> None:
    world = placed("5")
    world = replace(world, objects=[*world.objects, quota("8")])
    plan = replace(world, decisions=trimmed(world, a=Stuck(7, 3))).plan()
    assert where(plan, "web") == "a=10"
    assert of(plan, "web").decision is world.decisions.bindings[key("web")]
