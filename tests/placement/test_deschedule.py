"""Taking back replicas that cannot run (Karmada: scheduling §7)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, Descheduled, Scheduled, Share
from gitfed.model.fleet import Stuck
from gitfed.placement.failover import deschedule
from gitfed.placement.failover.deschedule import Trim
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
    decision = Decision(key, api_version, Scheduled((Share("m1", 10), Share("m2", 5))), placement=body)
    return Decisions(bindings={key: decision})


@pytest.mark.parametrize("how", [DYNAMIC, AGGREGATED])
def test_a_deployment_divided_by_room_is_trimmed(how: dict[str, Any]) -> None:
    before = decided(how)
    after, trims = deschedule.deschedule(before, {WEB: {"m1": Stuck(4, 3), "m2": Stuck(0, 5)}}, NOW)
    assert after.bindings[WEB].scheduled.shares == (Share("m1", 7), Share("m2", 0))
    assert trims == (Trim(WEB, "m1", 3), Trim(WEB, "m2", 5))
    assert before.bindings[WEB].scheduled.shares == (Share("m1", 10), Share("m2", 5))
    said = (
        "Binding has been descheduled, 3 replica(s) in cluster(m1), 5 replica(s) in cluster(m2), "
        "8 total descheduled replica(s)"
    )
    assert after.bindings[WEB].rescheduling.descheduled == Descheduled(NOW, said)
    assert after.bindings[WEB].rescheduling.undone is before.bindings[WEB]
    assert deschedule.sentences(trims) == {WEB: said}
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
        assert deschedule.deschedule(before, {key: stuck}, NOW) == (before, ())


def test_a_cluster_where_all_are_ready_is_not_asked() -> None:
    before = decided(DYNAMIC)
    assert deschedule.deschedule(before, {WEB: {"m1": Stuck(10, 3)}}, NOW)[0] is before


def test_a_placement_that_cannot_be_read_moves_nothing() -> None:
    before = Decisions(
        bindings={WEB: Decision(WEB, "apps/v1", Scheduled((Share("m1", 9),)), placement={"clusterAffinity": 7})}
    )
    assert deschedule.deschedule(before, {WEB: {"m1": Stuck(0, 3)}}, NOW) == (before, ())
