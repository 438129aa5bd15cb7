"""The executed tables of the reference, row by row (Karmada: scheduling §1.5, §2, §3, §4, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.decisions import Share
from gitfed.placement.scheduling import affinity, divide
from gitfed.placement.scheduling.cluster import Candidate
from tests.placement.make import clusters, placement
from tests.placement.reference import AGGREGATED, DIVIDED, DYNAMIC, fleet, names, place, told

SELECT = "failed to select clusters: "
UP = "failed to assign replicas: failed to scale up: "

# -- §1.5: ordered groups ------------------------------------------------------------------------------------------

GROUPS = [
    {"affinityName": "g1", "clusterNames": ["c"]},
    {"affinityName": "g2", "clusterNames": ["a"]},
    {"affinityName": "g3", "clusterNames": ["b"]},
]
GROUP_FLEET = "a=10 b=10 c=3"


def grouped(
    replicas: int, before: str = "", observed: str = "", rooms: str = GROUP_FLEET, **more: Any
) -> tuple[str, str]:
    members = {"clusterAffinities": more.pop("groups", GROUPS)}
    result = place(rooms, "dyn", replicas, before=before, members=members, observed_affinity=observed, **more)
    return told(result), result.affinity_name


def test_the_first_group_with_room_is_used() -> None:
    assert grouped(6) == ("a=6", "g2")


def test_the_group_in_use_stays_though_an_earlier_one_would_fit() -> None:
    assert grouped(2, "a=6", "g2") == ("a=2", "g2")


def test_a_reschedule_returns_to_the_first_group() -> None:
    assert grouped(2, "a=2", "g2", fresh=True) == ("c=2", "g1")


def test_an_eviction_moves_on_to_the_next_group() -> None:
    assert grouped(6, "", "g2", evicting=frozenset({"a"})) == ("b=6", "g3")


def test_after_the_last_group_nothing_fits() -> None:
    message, group = grouped(2, "", "g3", evicting=frozenset({"b"}))
    assert message.startswith("0/3 clusters are available: ")
    assert group == "g3"


def test_the_first_of_several_failures_is_the_result() -> None:
    nope, there = {"affinityName": "n", "clusterNames": ["nope"]}, {"affinityName": "c", "clusterNames": ["c"]}
    wanted = {"clusterAffinities": [nope, there]}
    cleared = place(GROUP_FLEET, "dyn", 6, before="a=6", members=wanted, fresh=True)
    assert (cleared.shares, cleared.condition.reason) == (None, "NoClusterFit")
    kept = place(GROUP_FLEET, "dyn", 6, before="a=6", members={"clusterAffinities": [there, nope]})
    assert (kept.shares, kept.condition.reason) == ((Share("a", 6),), "Unschedulable")


def test_too_little_room_without_groups_keeps_what_is_there() -> None:
    result = place("a=4 b=10 c=9", "dyn", 40, before="a=6")
    assert told(result) == f"{UP}Clusters available replicas 23 are not enough to schedule."
    assert result.shares == (Share("a", 6),)


def test_a_new_affinity_moves_what_is_placed_anew_every_time() -> None:
    wanted = {"clusterAffinity": {"clusterNames": ["b"]}}
    assert told(place(GROUP_FLEET, "dup", 6, before="a=6", members=wanted)) == "b=6"


# -- §2: fields, groups of workloads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cluster", "expression", "matches"),
    [
        (Candidate("a"), ("provider", "In", "x"), False),
        (Candidate("a"), ("provider", "NotIn", "x"), True),
        (Candidate("a", zones=("z1", "z2")), ("zone", "In", "z2 z9"), True),
        (Candidate("a", zones=("z1", "z2")), ("zone", "NotIn", "z2"), False),
        (Candidate("a"), ("zone", "NotIn", "z2"), True),
    ],
)
def test_a_field_that_is_not_set_passes_only_not_in(
    cluster: Candidate, expression: tuple[str, str, str], matches: bool
) -> None:
    key, operator, values = expression
    field = {"matchExpressions": [{"key": key, "operator": operator, "values": values.split()}]}
    wanted = placement(clusterAffinity={"fieldSelector": field}).cluster_affinity
    assert affinity.compile(wanted)(cluster) is matches


M = ["m1", "m2", "m3"]


@pytest.mark.parametrize(
    ("before", "beside", "away", "result"),
    [
        ("", None, "", {"m1", "m2", "m3"}),
        ("", "m2", "", {"m2"}),
        ("m3=1", "m1", "", {"m1", "m3"}),
        ("", None, "m2", {"m1", "m3"}),
        ("m2=1", None, "m2", {"m1", "m2", "m3"}),
    ],
)
def test_workloads_go_beside_others_of_their_group_or_away_from_them(
    before: str, beside: str | None, away: str, result: set[str]
) -> None:
    found = place(
        clusters(*M), "dup", 1, before=before,
        beside=None if beside is None else frozenset(beside.split()), away_from=frozenset(away.split()),
    )  # fmt: skip
    assert names(found) == result


def test_groups_that_leave_no_cluster_are_said() -> None:
    apart = place(clusters(*M), "dup", 1, beside=frozenset())
    assert told(apart) == (
        "0/3 clusters are available: 3 ResourceBinding with the same affinity group does not target this cluster."
    )
    everywhere = place(clusters(*M), "dup", 1, away_from=frozenset(M))
    assert told(everywhere) == (
        "0/3 clusters are available: 3 cluster already has workload with the same anti-affinity group."
    )


# -- §3: selection -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rooms", "constraints", "how", "replicas", "before", "result"),
    [
        ("a=10 b=20 c=30", "cluster 1-2", "dup", 5, "", "b=5 c=5"),
        ("a=10 b=20 c=30", "cluster 1-2", "dup", 5, "a=5", "a=5 c=5"),
        ("a=10 b=10 c=10", "cluster 1-2", "dup", 5, "", "a=5 b=5"),
        ("a=40 b=30 c=60", "cluster 2-2", "dyn", 10, "", "a=4 c=6"),
        ("a=5 b=20 c=30", "cluster 1-1", "agg", 25, "a=5", "c=25"),
        ("a=5 b=10 c=30 d=20", "cluster 1-2", "dyn", 45, "a=5 b=5", "b=15 c=30"),
        ("p=0 q=0 c=30 d=25 e=10", "cluster 2-2", "dyn", 33, "p=5 q=5", "c=28 p=5"),
        ("p=0 q=0 c=30 d=25 e=10", "cluster 2-2", "dyn", 55, "p=5 q=5", "c=30 d=25"),
        ("a=5 b=10 c=30 d=20", "cluster 1-2", "dyn", 60, "", f"{SELECT}no enough resource when selecting 2 clusters"),
        ("A:a1=10,a2=20 B:b1=5 C:c1=50,c2=60", "region 2-2, cluster 2-3", "dup", 5, "", "a2=5 c1=5 c2=5"),
        ("A:a1=10 B:b1=5 C:c1=50,c2=60", "region 2-2, cluster 3-4", "dup", 5, "", "a1=5 c1=5 c2=5"),
        ("A:a1=60,a2=70,a3=10 B:b1=55,b2=55,b3=55", "region 1-1, cluster 1-2", "dup", 50, "", "b1=50 b2=50"),
        ("X:x1=10 Y:y1=10 Z:z1=10,z2=10,z3=10", "region 1-3, cluster 3-4", "dup", 5, "", "z1=5 z2=5 z3=5"),
        ("A:a1=10 B:b1=10", "region 2-3, cluster 1-1", "dup", 5, "", "a1=5 b1=5"),
        ("A:a1=10,a2=15 B:b1=30,b2=20", "region 1-1, cluster 2-2", "agg", 40, "", "b1=24 b2=16"),
        ("A:a1=10,a2=15 B:b1=30,b2=20 C:c1=25", "region 2-2, cluster 2-2", "dyn", 40, "", "a2=13 b1=27"),
        ("A:a1=8,a2=4 B:b1=20 C:c1=12,c2=6", "region 2-2, cluster 2-4", "dyn", 30, "", "b1=16 c1=9 c2=5"),
        ("A:a1=10,a2=10,a3=10 B:b1=31", "region 1-1, cluster 1-3", "agg", 30, "", "a1=10 a2=10 a3=10"),
    ],
)
def test_selection(rooms: str, constraints: str, how: str, replicas: int, before: str, result: str) -> None:
    assert told(place(rooms, how, replicas, before=before, constraints=constraints)) == result


def test_a_zone_is_only_a_property() -> None:
    """Two zones are asked for, and both clusters are in one: zones spread nothing."""
    zoned = [
        Candidate(one.name, zones=(zone,), capacity=one.capacity)
        for one, zone in zip(fleet("a=9 b=8 c=7"), ("z1", "z1", "z2"), strict=True)
    ]
    assert names(place(zoned, "dup", 1, constraints="zone 2-2, cluster 1-2")) == {"a", "b"}


@pytest.mark.parametrize("how", ["dup", "dyn"])
def test_a_constraint_without_an_upper_limit_has_none(how: str) -> None:
    """Other than in the reference, where nothing can be selected."""
    assert names(place("a=10 b=20", how, 6, constraints="cluster 1")) == {"a", "b"}


def test_a_region_constraint_without_an_upper_limit_has_none() -> None:
    assert names(place("A:a1=10 B:b1=10", "dup", 5, constraints="region 1, cluster 1-2")) <= {"a1", "b1"}


def test_a_region_that_cannot_hold_the_replicas_is_passed_over_for_one_that_can() -> None:
    """Other than in the reference, where A wins by its number of clusters and the division then fails."""
    rooms = "A:a1=10,a2=10,a3=10 B:b1=31"
    assert told(place(rooms, "agg", 30, constraints="region 1-1, cluster 1-2")) == "b1=30"
    small = "A:a1=10,a2=10,a3=10 B:b1=29"
    assert told(place(small, "agg", 30, constraints="region 1-1, cluster 1-2")) == (
        f"{UP}Clusters available replicas 20 are not enough to schedule."
    )


# -- §4: assignment ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uid", "descends"),
    [
        ("", False),
        ("a", False),
        ("b", True),
        ("7f1c0d3e-0000-4000-8000-000000000001", True),
        ("7f1c0d3e-0000-4000-8000-000000000002", False),
    ],
)
def test_the_uid_breaks_ties(uid: str, descends: bool) -> None:
    assert divide.names_descend(uid) is descends


def weighted(*entries: tuple[str, int]) -> dict[str, Any]:
    listed = [{"targetCluster": {"clusterNames": names.split()}, "weight": weight} for names, weight in entries]
    return {**DIVIDED, "weightPreference": {"staticWeightList": listed}}


def by(*weights: int) -> dict[str, Any]:
    return weighted(*zip("abcd", weights, strict=False))


@pytest.mark.parametrize(
    ("count", "how", "replicas", "uid", "result"),
    [
        (3, by(5, 3, 2), 1, "", "a=1"),
        (3, by(5, 3, 2), 2, "", "a=1 b=1"),
        (3, by(5, 3, 2), 3, "", "a=1 b=1 c=1"),
        (3, by(5, 3, 2), 7, "", "a=4 b=2 c=1"),
        (3, by(5, 3, 2), 8, "", "a=4 b=2 c=2"),
        (3, by(1, 1, 1), 7, "", "a=3 b=2 c=2"),
        (3, by(1, 1, 1), 8, "", "a=3 b=3 c=2"),
        (3, by(1, 1, 1), 7, "b", "a=2 b=2 c=3"),
        (2, by(1, 3), 2, "", "a=1 b=1"),
        (2, by(1, 3), 9, "", "a=2 b=7"),
        (2, by(3, 1), 2, "b", "a=1 b=1"),
        (3, by(4, 2, 1), 5, "", "a=3 b=1 c=1"),
        (3, by(4, 2, 1), 10, "", "a=6 b=3 c=1"),
        (2, by(7, 2), 11, "", "a=9 b=2"),
        (4, by(1, 2, 3, 4), 17, "", "a=2 b=3 c=5 d=7"),
        (2, by(100, 1), 50, "", "a=50"),
        (2, by(100, 1), 51, "", "a=50 b=1"),
        (4, by(20, 1, 1, 1), 21, "", "a=18 b=1 c=1 d=1"),
        (3, by(1, 2), 6, "", "a=2 b=4"),
        (3, weighted(("nobody", 5)), 6, "", "a=2 b=2 c=2"),
        (3, DIVIDED, 7, "", "a=3 b=2 c=2"),
        (3, {**DIVIDED, "weightPreference": {}}, 7, "", "a=3 b=2 c=2"),
        (2, weighted(("a b", 2), ("a", 3), ("a", 1)), 10, "", "a=6 b=4"),
        (3, by(1, 1, 1), 2, "", "a=1 b=1"),
    ],
)
def test_static_weights(count: int, how: dict[str, Any], replicas: int, uid: str, result: str) -> None:
    assert told(place(clusters(*"abcd"[:count]), how, replicas, uid=uid)) == result


def test_static_weights_by_labels() -> None:
    labelled = [Candidate("a", {"t": "x"}), Candidate("b", {"t": "x"}), Candidate("c")]
    listed = [
        {"targetCluster": {"labelSelector": {"matchLabels": {"t": "x"}}}, "weight": 4},
        {"targetCluster": {"clusterNames": ["c"]}, "weight": 1},
    ]
    how = {**DIVIDED, "weightPreference": {"staticWeightList": listed}}
    assert told(place(labelled, how, 9)) == "a=4 b=4 c=1"


def test_static_weights_forget_what_was_and_what_there_is_room_for() -> None:
    assert told(place(clusters("a", "b"), by(1, 1), 10, before="a=9 b=1")) == "a=5 b=5"
    assert told(place("a=1 b=1", by(1, 1), 600)) == "a=300 b=300"


def test_static_weights_and_constraints() -> None:
    assert told(place("a=9 b=9 c=9", by(1, 1, 1), 6, constraints="cluster 1-1")) == "a=2 b=2 c=2"
    empty = {**DIVIDED, "weightPreference": {}}
    assert told(place("a=9 b=9 c=9", empty, 6, constraints="cluster 1-2")) == "a=3 b=3"


def test_empty_propagation_adds_those_without_a_replica() -> None:
    assert told(place(clusters("a", "b", "c"), by(1, 1, 1), 2, empty_propagation=True)) == "a=1 b=1 c=0"
    assert told(place(clusters("a", "b"), DIVIDED, 0, empty_propagation=True)) == "a=0 b=0"


@pytest.mark.parametrize(
    ("rooms", "before", "replicas", "dynamic", "aggregated"),
    [
        ("a=6 b=12 c=18", "", 12, "a=2 b=4 c=6", "c=12"),
        ("a=6 b=12 c=18", "", 20, None, "b=8 c=12"),
        ("a=6 b=12 c=18", "", 33, None, "a=6 b=11 c=16"),
        ("a=17 b=5 c=9", "", 20, "a=11 b=3 c=6", "a=13 c=7"),
        ("a=10 b=5 c=5", "", 7, "a=3 b=2 c=2", None),
        ("a=4 b=4", "", 3, "a=2 b=1", None),
        ("a=2 b=100", "", 50, "a=1 b=49", None),
        ("a=2 b=2", "", 5, f"{UP}Clusters available replicas 4 are not enough to schedule.", None),
        ("a=10 b=10", "a=2 b=4", 12, "a=5 b=7", None),
        ("a=3 b=9", "a=2 b=4", 12, "a=4 b=8", None),
        ("a=6 b=2 c=3", "a=11 b=3 c=6", 26, "a=14 b=4 c=8", None),
        ("a=0 b=0 c=6", "a=3", 9, "a=3 c=6", None),
        ("a=9 b=9", "a=8 b=4", 5, "a=3 b=2", None),
        ("a=9 b=9", "a=8 b=4", 1, "a=1", None),
        ("a=0 b=0 c=0", "a=11 b=3 c=6", 13, "a=7 b=2 c=4", None),
        ("a=0 b=0 c=100", "a=8 b=4", 12, "a=8 b=4", None),
        ("a=10 c=20", "a=8 b=4", 12, "a=9 c=3", None),
        ("a=6 b=12 c=18", "a=2", 8, None, "a=8"),
        ("a=6 b=12 c=18", "a=2", 10, None, "a=4 c=6"),
        ("a=6 b=12 c=18", "a=2 b=3", 20, None, "a=7 b=13"),
        ("a=3 b=5 c=3 d=40", "a=14 c=6", 26, None, "a=17 c=9"),
        ("a=3 b=5 c=3 d=40", "a=14 c=6", 30, None, "a=15 c=7 d=8"),
        ("a=0 b=0 c=0", "a=8 b=6 c=2", 7, None, "a=7"),
        ("a=0 b=0 c=0", "a=8 b=6 c=2", 10, None, "a=6 b=4"),
        ("a=0 b=0 c=0", "a=4 b=4 c=4", 10, None, "a=4 b=3 c=3"),
        ("a=8 b=0 c=8", "a=0 b=6", 10, "a=2 b=6 c=2", None),
        ("a=8 b=0 c=9", "a=0 b=6", 10, None, "b=6 c=4"),
    ],
)
def test_division_by_room(rooms: str, before: str, replicas: int, dynamic: str | None, aggregated: str | None) -> None:
    if dynamic is not None:
        assert told(place(rooms, "dyn", replicas, before=before)) == dynamic
    if aggregated is not None:
        assert told(place(rooms, "agg", replicas, before=before)) == aggregated


def test_division_by_room_anew() -> None:
    assert told(place("a=0 b=0 c=12", "dyn", 12, before="a=8 b=4", fresh=True)) == "a=4 b=2 c=6"
    assert told(place("a=6 b=0 c=18", "agg", 10, before="a=2 b=8", fresh=True)) == "c=10"
    assert told(place("a=4 b=4", "dyn", 3, uid="b")) == "a=1 b=2"


@pytest.mark.parametrize("how", ["dup", "dyn", "agg", "static"])
def test_what_is_no_workload_goes_everywhere_without_replicas(how: str) -> None:
    assert told(place("a=1 b=1", how, 0, requirements=None)) == "a b"


@pytest.mark.parametrize("how", ["dup", "dyn", "agg", "static"])
def test_a_workload_of_no_replicas_goes_nowhere(how: str) -> None:
    result = place("a=1 b=1", how, 0, before="a=6" if how == "dup" else "")
    assert (result.shares, result.condition.status) == ((), True)


def test_what_is_no_workload_stays_in_its_cluster() -> None:
    assert told(place("a=9 b=1", None, 0, requirements=None, constraints="cluster 1-1", before="b")) == "b"


OVERFLOW = {
    "clusterAffinities": [
        {
            "affinityName": "idc",
            "clusterNames": ["idc1", "idc2"],
            "overflowAffinities": [
                {"affinityName": "p1", "clusterNames": ["pub1"]},
                {"affinityName": "p2", "clusterNames": ["pub2"]},
            ],
        }
    ]
}
ALL_ROOM = "idc1=6 idc2=4 pub1=8 pub2=50"
SHORT = "failed to assign replicas: Clusters available replicas are not enough to schedule."


@pytest.mark.parametrize(
    ("rooms", "how", "replicas", "more", "result"),
    [
        (ALL_ROOM, AGGREGATED, 8, {}, "idc1=5 idc2=3"),
        (ALL_ROOM, AGGREGATED, 15, {}, "idc1=6 idc2=4 pub1=5"),
        (ALL_ROOM, AGGREGATED, 30, {}, "idc1=6 idc2=4 pub1=8 pub2=12"),
        (ALL_ROOM, AGGREGATED, 70, {}, SHORT),
        (ALL_ROOM, DYNAMIC, 5, {}, "idc1=3 idc2=2"),
        (ALL_ROOM, DYNAMIC, 25, {}, "idc1=6 idc2=4 pub1=8 pub2=7"),
        ("idc1=0 idc2=0 pub1=0 pub2=38", DYNAMIC, 12, {"before": "idc1=6 idc2=4 pub1=8 pub2=12"},
         "idc1=6 idc2=4 pub1=2"),
        ("idc1=4 idc2=4 pub1=0 pub2=50", DYNAMIC, 12, {"before": "idc1=2 pub1=10"}, "idc1=6 idc2=4 pub1=2"),
        (ALL_ROOM, AGGREGATED, 15, {"constraints": "cluster 1-2"}, "idc1=6 pub2=9"),
        ("idc1=5 idc2=0 pub1=0 pub2=0", AGGREGATED, 12, {"before": "pub1=12", "fresh": True}, "idc1=5 pub1=7"),
    ],
)  # fmt: skip
def test_overflow(rooms: str, how: dict[str, Any], replicas: int, more: dict[str, Any], result: str) -> None:
    assert told(place(rooms, how, replicas, members=OVERFLOW, **more)) == result


# -- §5.4: components ----------------------------------------------------------------------------------------------

FIVE = ({"name": "all", "replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "5"}}},)


@pytest.mark.parametrize(
    ("rooms", "how", "constraints", "before", "result"),
    [
        ("a=4 b=6", "agg", "cluster 1-1", "", "b"),
        ("a=4 b=3", "agg", "cluster 1-1", "", f"{SELECT}no enough resource when selecting 1 clusters"),
        ("a=4 b=3", None, "cluster 1-1", "", "a"),
        ("a=0 b=6", "agg", "cluster 1-1", "a", "b"),
        ("a=4 b=6", "agg", "cluster 1-2", "", "a b"),
        ("a=4 b=6", "dyn", "", "", "a b"),
    ],
)
def test_a_set_of_components_stays_together(
    rooms: str, how: str | None, constraints: str, before: str, result: str
) -> None:
    """Room is a number of complete sets only where one cluster is wanted; else every chosen cluster gets all."""
    placed = place(rooms, how, 0, constraints=constraints, before=before, requirements=None, components=FIVE)
    assert told(placed) == result


# -- §8: with an eviction under way --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rooms", "how", "replicas", "before", "constraints", "result"),
    [
        ("a=10 b=20 c=30", "dup", 1, "b=1", "cluster 2-2", "b=1 c=1"),
        ("a=9 b=5 c=20", "agg", 10, "b=4", "", "b=5 c=5"),
        ("a=9 b=9 c=20", "agg", 10, "b=4", "", "b=10"),
        ("a=9 b=9 c=21", "dyn", 10, "b=4", "", "b=6 c=4"),
        ("a=9 b=9", "dyn", 6, "a=6", "", "b=6"),
    ],
)
def test_what_is_evicted_is_replaced_elsewhere(
    rooms: str, how: str, replicas: int, before: str, constraints: str, result: str
) -> None:
    evicting = frozenset({"a"})
    assert told(place(rooms, how, replicas, before=before, constraints=constraints, evicting=evicting)) == result
