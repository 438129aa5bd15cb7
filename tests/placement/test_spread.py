"""Choosing among the clusters that fit (Karmada: scheduling §3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.declared.policy import SpreadConstraint
from gitfed.placement.scheduling import spread
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.scored_cluster import Option, Unplaceable


def by(field: str, least: int, most: int = 0) -> SpreadConstraint:
    return SpreadConstraint.model_validate({"spreadByField": field, "minGroups": least, "maxGroups": most})


def fleet(text: str, before: str = "") -> list[Option]:
    """`A:a1 10,a2 20 B:b1 5` with regions, or `a10 b20` without; `before` likewise for what runs."""
    have = dict(_pairs(before))
    found = []
    for region, name, free in _read(text):
        candidate = Candidate(name, region=region)
        found.append(Option(candidate, 0, 100 if name in have else 0, free, have.get(name, 0)))
    return found


def _pairs(text: str) -> list[tuple[str, int]]:
    return [(name, count) for _, name, count in _read(text)]


def _read(text: str) -> list[tuple[str, str, int]]:
    found = []
    for word in text.split():
        region, _, rest = word.rpartition(":")
        for entry in rest.split(","):
            name, _, count = entry.partition("=")
            found.append((region, name, int(count or 0)))
    return found


def chosen(options: list[Option], *constraints: SpreadConstraint, replicas: int, duplicated: bool = False) -> str:
    wanted = spread.demand(constraints, replicas, duplicated=duplicated)
    return " ".join(option.name for option in spread.select(options, wanted))


@pytest.mark.parametrize(
    ("text", "before", "limits", "replicas", "duplicated", "result"),
    [
        ("a=10 b=20 c=30", "", (1, 2), 5, True, "c b"),
        ("a=10 b=20 c=30", "a=5", (1, 2), 5, True, "a c"),
        ("a=10 b=10 c=10", "", (1, 2), 5, True, "a b"),
        ("a=40 b=30 c=60", "", (2, 2), 10, False, "c a"),
        ("a=5 b=20 c=30", "a=5", (1, 1), 25, False, "c"),
        ("a=5 b=10 c=30 d=20", "a=5 b=5", (1, 2), 45, False, "b c"),
        ("p=0 q=0 c=30 d=25 e=10", "p=5 q=5", (2, 2), 33, False, "p c"),
        ("p=0 q=0 c=30 d=25 e=10", "p=5 q=5", (2, 2), 55, False, "d c"),
    ],
)
def test_the_best_clusters_are_taken_and_exchanged_for_roomier_ones(
    text: str, before: str, limits: tuple[int, int], replicas: int, duplicated: bool, result: str
) -> None:
    options = fleet(text, before)
    assert chosen(options, by("cluster", *limits), replicas=replicas, duplicated=duplicated) == result


@pytest.mark.parametrize(
    ("text", "region", "cluster", "replicas", "result"),
    [
        ("A:a1=10,a2=20 B:b1=5 C:c1=50,c2=60", (2, 2), (2, 3), 5, "a2 c2 c1"),
        ("A:a1=10 B:b1=5 C:c1=50,c2=60", (2, 2), (3, 4), 5, "c2 a1 c1"),
        ("A:a1=60,a2=70,a3=10 B:b1=55,b2=55,b3=55", (1, 1), (1, 2), 50, "b1 b2"),
        ("X:x1=10 Y:y1=10 Z:z1=10,z2=10,z3=10", (1, 3), (3, 4), 5, "z1 z2 z3"),
        ("A:a1=10 B:b1=10", (2, 3), (1, 1), 5, "a1 b1"),
        ("A:a1=10 B:b1=10", (1, 0), (1, 1), 5, "a1"),
    ],
)
def test_regions_are_chosen_before_clusters(
    text: str, region: tuple[int, int], cluster: tuple[int, int], replicas: int, result: str
) -> None:
    constraints = by("region", *region), by("cluster", *cluster)
    assert chosen(fleet(text), *constraints, replicas=replicas, duplicated=True) == result


def test_no_upper_limit_means_all() -> None:
    assert chosen(fleet("a=10 b=20"), by("cluster", 1), replicas=5, duplicated=True) == "b a"


@pytest.mark.parametrize(
    ("text", "constraints", "replicas", "message"),
    [
        ("a=9", (by("cluster", 2, 2),), 1, "the number of feasible clusters is less than spreadConstraint.MinGroups"),
        ("a=5 b=10 c=30 d=20", (by("cluster", 1, 2),), 60, "no enough resource when selecting 2 clusters"),
        (
            "A:a1=9",
            (by("region", 2, 2), by("cluster", 2, 2)),
            1,
            "the number of feasible region is less than spreadConstraint.MinGroups",
        ),
        (
            "A:a1=9 B:b1=9",
            (by("region", 2, 2), by("cluster", 3, 3)),
            1,
            "the number of clusters is less than the cluster spreadConstraint.MinGroups",
        ),
    ],
)
def test_constraints_that_cannot_be_met_are_said(text: str, constraints: Any, replicas: int, message: str) -> None:
    with pytest.raises(Unplaceable) as caught:
        chosen(fleet(text), *constraints, replicas=replicas)
    assert (caught.value.reason, caught.value.message) == ("SchedulerError", f"failed to select clusters: {message}")


def test_a_search_without_end_is_refused() -> None:
    many = fleet(" ".join(f"R{index}:c{index}=9" for index in range(40)))
    with pytest.raises(Unplaceable, match="40 regions give too many groups to compare"):
        chosen(many, by("region", 20, 30), by("cluster", 20, 30), replicas=5)


REGIONS = fleet("A:a1=10,a2=15 B:b1=30,b2=20 C:c1=25 D:d1=1,d2=2,d3=3", "b2=4 c1=1")


@given(st.permutations(REGIONS), st.integers(1, 3), st.integers(1, 6), st.integers(1, 60), st.booleans())
def test_the_order_of_clusters_never_matters(
    options: list[Option], regions: int, clusters: int, replicas: int, duplicated: bool
) -> None:
    def outcome(some: list[Option]) -> str:
        try:
            constraints = by("region", regions, 3), by("cluster", clusters, 6)
            return chosen(some, *constraints, replicas=replicas, duplicated=duplicated)
        except Unplaceable as error:
            return error.message

    assert outcome(options) == outcome(REGIONS)
