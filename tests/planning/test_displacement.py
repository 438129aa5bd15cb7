"""What a plan takes away without replacing it is held like any deletion, whatever its policy calls it."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.plan import Action, Gate, Plan
from gitfed.model.reason import ReasonCode
from tests.e2e.world import deployment, policy
from tests.planning.stage import DIVIDED, WEB, Stage

NONE: dict[str, Any] = {}
STRICT = {"maxDeletions": 0, "maxMovedReplicasPercent": 1}


def stage(replicas: int, placement: dict[str, Any], clusters: int = 3, **guards: object) -> Stage:
    settings = {"guards": guards} if guards else {}
    made = Stage(clusters, placement=placement, replicas=replicas, **settings)
    made.turn(2)
    return made


def gate(plan: Plan, name: str) -> Gate:
    return next(one for one in plan.gates if one.name == name)


def push(made: Stage, placement: dict[str, Any], replicas: int) -> Plan:
    made.files["policy.json"] = policy("web", None, placement=placement)
    made.files["web.json"] = deployment("web", replicas=replicas)
    return made.turn()


def names(*clusters: str) -> dict[str, Any]:
    return {"clusterAffinity": {"clusterNames": list(clusters)}}


def test_a_copy_that_nothing_replaces_counts_as_a_deletion() -> None:
    made = stage(2, NONE, maxDeletions=1, maxMovedReplicasPercent=100)
    plan = push(made, names("m1"), 2)
    held = gate(plan, "deletions")
    assert (held.value, held.held) == ("2", 2)
    assert {(one.cluster, one.action, one.gate) for one in plan.changes or () if one.key == WEB} == {
        ("m2", Action.SKIP, "deletions"), ("m3", Action.SKIP, "deletions"),
    }  # fmt: skip


def test_what_a_limit_holds_is_not_decided_and_not_forgotten() -> None:
    made = stage(2, NONE, maxDeletions=1, maxMovedReplicasPercent=100)
    for _ in range(3):
        plan = push(made, names("m1"), 2)
        assert gate(plan, "deletions").held == 2
    assert sorted(made.objects[WEB]) == ["m1", "m2", "m3"]


def test_a_copy_that_another_replaces_is_a_move() -> None:
    made = stage(2, names("m1"), maxDeletions=0, maxMovedReplicasPercent=100)
    plan = push(made, names("m2"), 2)
    assert gate(plan, "deletions").value == "0"
    for _ in range(3):
        made.turn()
    assert sorted(made.objects[WEB]) == ["m2"]


def test_fewer_new_copies_than_old_ones_count_for_the_rest() -> None:
    made = stage(2, names("m1", "m2"), maxDeletions=0, maxMovedReplicasPercent=100)
    plan = push(made, names("m3"), 2)
    held = gate(plan, "deletions")
    assert held.value == "1"
    assert held.held > 0


def test_below_the_limit_it_is_told_as_a_deletion() -> None:
    made = stage(2, NONE, maxMovedReplicasPercent=100, maxDeletionPercent=100)
    plan = push(made, names("m1"), 2)
    assert [(one.cluster, one.reason.code, one.move) for one in plan.changes or () if one.key == WEB] == [
        ("m2", ReasonCode.WITHDRAWN, False), ("m3", ReasonCode.WITHDRAWN, False),
    ]  # fmt: skip
    assert plan.totals.delete >= 2


def test_lost_replicas_count_like_moved_ones() -> None:
    made = stage(100, NONE, maxDeletions=50, maxDeletionPercent=100)
    plan = push(made, names("m1"), 100)
    held = gate(plan, "moved replicas")
    assert (held.value, held.held) == ("67%", 2)


@pytest.mark.parametrize(
    "placement", [NONE, {"replicaScheduling": DIVIDED["replicaScheduling"]}], ids=["whole", "divided"]
)
def test_replicas_that_the_template_does_without_are_not_lost(placement: dict[str, Any]) -> None:
    made = stage(30, placement)
    plan = push(made, placement, 3)
    assert gate(plan, "moved replicas").value == "0%"
    assert gate(plan, "deletions").value == "0"


def test_a_divided_workload_that_shrinks_away_from_a_cluster_is_no_deletion() -> None:
    made = stage(3, DIVIDED, maxDeletions=0)
    plan = push(made, DIVIDED, 1)
    assert gate(plan, "deletions").value == "0"


def test_an_eviction_counts_for_nothing() -> None:
    made = Stage(3, replicas=10, failover={"cluster": {"purgeMode": "Gracefully"}}, guards=STRICT)
    made.turn(2)
    (home,) = made.copies
    made.fail(home)
    held = 0
    for second in range(0, 3600, 60):
        plan = made.at(second).turn()
        held += sum(one.held for one in plan.gates)
    made.recover(home).turn(3)
    assert home not in made.where
    assert home not in made.copies
    assert held == 0


def test_fewer_replicas_in_each_cluster_beside_a_new_one_move_nothing() -> None:
    made = stage(9, names("m1", "m2"), maxDeletions=0, maxMovedReplicasPercent=1)
    plan = push(made, names("m1", "m2", "m3"), 5)
    assert gate(plan, "moved replicas").value == "0%"
    assert made.where == "m1=5 m2=5 m3=5"
