"""How many replicas fit into a cluster (Karmada: scheduling §5.1, §5.2)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.placement.capacity.estimate import Capacity, room, sets

GRADES = {
    0: {"cpu": "0", "memory": "0"},
    1: {"cpu": "1", "memory": "4Gi"},
    2: {"cpu": "2", "memory": "16Gi"},
    3: {"cpu": "4", "memory": "32Gi"},
    4: {"cpu": "8", "memory": "64Gi"},
    8: {"cpu": "128", "memory": "1024Gi"},
}


def summary(allocatable: dict[str, Any], **members: dict[str, Any]) -> Capacity:
    return Capacity({"allocatable": allocatable, **members}, {})


def asks(**amounts: Any) -> dict[str, Any]:
    return {"resourceRequest": {name.replace("_", "-"): value for name, value in amounts.items()}}


BUSY = summary(
    {"cpu": "10", "pods": "110", "memory": "20Gi"},
    allocated={"cpu": "3", "pods": "20", "memory": "8Gi"},
    allocating={"cpu": "1", "pods": "5"},
)


@pytest.mark.parametrize(
    ("capacity", "requirements", "replicas"),
    [
        (BUSY, asks(cpu="500m"), 12),
        (BUSY, asks(cpu="500m", memory="1500Mi"), 8),
        (summary({"cpu": "100", "pods": "30"}, allocated={"pods": "26"}), asks(cpu="100m"), 4),
        (summary({"cpu": "100"}), asks(cpu="100m"), 0),
        (summary({"cpu": "100", "pods": "30"}), None, 30),
        (summary({"cpu": "100", "pods": "30"}), {}, 30),
        (summary({"cpu": "100", "pods": "30"}), asks(gpu="1"), 0),
        (summary({"cpu": "100", "pods": "30"}), asks(gpu="0", cpu="10"), 10),
        (summary({"cpu": "4", "pods": "30"}, allocated={"cpu": "5"}), asks(cpu="1"), 0),
        (summary({"gpu": "7", "pods": "30"}), asks(gpu="2"), 3),
        (summary({}), asks(cpu="1"), 0),
    ],
)
def test_what_is_free_is_divided_by_what_one_needs(
    capacity: Capacity, requirements: dict[str, Any] | None, replicas: int
) -> None:
    assert room(capacity, requirements) == replicas


def test_a_component_that_does_not_ask_for_a_resource_takes_none_of_it() -> None:
    driver = {"replicas": 2, "replicaRequirements": asks(cpu="1")}
    worker = {"replicas": 3, "replicaRequirements": asks(gpu="1", cpu="1")}
    assert sets(summary({"cpu": "100", "gpu": "9", "pods": "110"}), [driver, worker]) == 3


def graded(pods: int = 10_000, cpu: str = "100000", **counts: int) -> Capacity:
    listed = [{"grade": int(name[1:]), "count": count} for name, count in counts.items()]
    amounts = {"cpu": cpu, "memory": "100Ti", "pods": str(pods)}
    return Capacity({"allocatable": amounts, "allocatableModelings": listed}, GRADES)


@pytest.mark.parametrize(
    ("capacity", "requirements", "replicas"),
    [
        (graded(g2=3, g3=1), asks(cpu="1500m", memory="6Gi"), 5),
        (graded(g2=3, g3=1), asks(cpu="3"), 1),
        (graded(g2=3, g3=1), asks(cpu="8"), 0),
        (graded(g0=5), asks(cpu="100m"), 0),
        (graded(g0=5), {}, 550),
        (graded(g3=1), asks(gpu="1"), 0),
        (graded(g3=1), asks(ephemeral_storage="1Gi"), 0),
        (graded(g4=2, cpu="2"), asks(cpu="1"), 16),
        (graded(g4=2, pods=3), asks(cpu="1"), 3),
        (graded(g8=2), asks(cpu="10m"), 220),
        (graded(g2=0), asks(cpu="1"), 0),
        (graded(g3=1), {"nodeClaim": {"nodeSelector": {"a": "b"}}, **asks(cpu="1")}, 4),
    ],
)
def test_nodes_counted_by_grade_come_before_the_sum(
    capacity: Capacity, requirements: dict[str, Any], replicas: int
) -> None:
    assert room(capacity, requirements) == replicas


def test_a_cluster_of_which_nothing_is_known_is_neither_empty_nor_full() -> None:
    assert room(None, None) is None
    assert room(summary({"pods": "many"}), None) is None
