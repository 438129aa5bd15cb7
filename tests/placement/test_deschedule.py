"""Taking back replicas that cannot run (Karmada: scheduling §7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, Share
from gitfed.placement import deschedule
from gitfed.placement.deschedule import Stuck, Trim
from tests.placement.make import placement
from tests.placement.reference import AGGREGATED, DYNAMIC

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")


@pytest.mark.parametrize(
    ("assigned", "ready", "stuck", "left"),
    [
        (10, 4, 3, 7),
        (10, 4, 8, 4),
        (10, -1, 4, 6),
        (10, 4, 10, 4),
        (10, 4, 12, 10),
        (10, 12, 3, 7),
        (5, 0, 5, 0),
        (5, 0, 0, 5),
    ],
)
def test_what_is_stuck_is_taken_back_but_never_what_is_ready(assigned: int, ready: int, stuck: int, left: int) -> None:
    assert deschedule.trimmed(assigned, Stuck(ready, stuck)) == left


def decided(how: dict[str, Any], key: ObjectKey = WEB, api_version: str = "apps/v1") -> Decisions:
    body = placement(replicaScheduling=how).as_json()
    decision = Decision(key, api_version, (Share("m1", 10), Share("m2", 5)), placement=body)
    return Decisions(bindings={key: decision})


@pytest.mark.parametrize("how", [DYNAMIC, AGGREGATED])
def test_a_deployment_divided_by_room_is_trimmed(how: dict[str, Any]) -> None:
    before = decided(how)
    after, trims = deschedule.deschedule(before, {WEB: {"m1": Stuck(4, 3), "m2": Stuck(0, 5)}})
    assert after.bindings[WEB].shares == (Share("m1", 7), Share("m2", 0))
    assert trims == (Trim(WEB, "m1", 3), Trim(WEB, "m2", 5))
    assert before.bindings[WEB].shares == (Share("m1", 10), Share("m2", 5))
    assert deschedule.sentence(trims[:1]) == (
        "Binding has been descheduled, 3 replica(s) in cluster(m1), 3 total descheduled replica(s)"
    )


def test_others_stay() -> None:
    stuck = {"m1": Stuck(4, 3)}
    for before in (
        decided({"replicaSchedulingType": "Duplicated"}),
        decided({"replicaSchedulingType": "Divided"}),
        decided(DYNAMIC, ObjectKey("apps", "StatefulSet", "shop", "web")),
    ):
        key = next(iter(before.bindings))
        assert deschedule.deschedule(before, {key: stuck}) == (before, ())


def test_a_cluster_where_all_are_ready_is_not_asked() -> None:
    before = decided(DYNAMIC)
    assert deschedule.deschedule(before, {WEB: {"m1": Stuck(10, 3)}})[0] is before


def test_a_placement_that_cannot_be_read_moves_nothing() -> None:
    before = Decisions(bindings={WEB: Decision(WEB, "apps/v1", (Share("m1", 9),), placement={"clusterAffinity": 7})})
    assert deschedule.deschedule(before, {WEB: {"m1": Stuck(0, 3)}}) == (before, ())


def pod(since: str, *, owner: str = "web-1", reason: str = "Unschedulable", **metadata: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "lastTransitionTime": since}
    owners = [{"kind": "ReplicaSet", "name": owner}]
    return {"metadata": {"ownerReferences": owners, **metadata}, "status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("some", "count"),
    [
        (pod("2026-03-01T11:54:59Z"), 1),
        (pod("2026-03-01T11:55:00Z"), 0),
        (pod("2026-03-01T11:00:00Z", owner="web-0"), 0),
        (pod("2026-03-01T11:00:00Z", reason="SchedulingGated"), 0),
        (pod("2026-03-01T11:00:00Z", deletionTimestamp="2026-03-01T11:30:00Z"), 0),
        (pod("soon"), 0),
        ({}, 0),
    ],
)
def test_pods_of_the_newest_replica_set_that_wait_too_long_are_stuck(some: dict[str, Any], count: int) -> None:
    assert deschedule.unschedulable([some], "web-1", NOW, timedelta(minutes=5)) == count
