"""Where one template goes (Karmada: scheduling §1.3, §1.4, §4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.decisions import Rejection, Share
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import schedule
from gitfed.placement.scheduling.cluster import Candidate, Taint
from gitfed.placement.scheduling.request import PlacementRequest
from tests.placement.make import clusters, placement, serving

DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


def weights(**by_name: int) -> dict[str, Any]:
    entries = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in by_name.items()]
    return {**DIVIDED, "weightPreference": {"staticWeightList": entries}}


def request(*, replicas: int = 0, requirements: bool = False, **members: Any) -> PlacementRequest:
    given = {
        name: members.pop(name)
        for name in ("previous", "evicting", "observed_affinity", "uid", "fresh", "empty_propagation")
        if name in members
    }
    if "requirements_of_one" in members:
        given["requirements"] = members.pop("requirements_of_one")
    return PlacementRequest(
        placement=placement(**members),
        api_version="apps/v1",
        kind="Deployment",
        replicas=replicas,
        is_workload=replicas > 0 or requirements,
        **given,
    )


def shares(result: schedule.ScheduleResult) -> dict[str, int | None] | None:
    return None if result.shares is None else {share.cluster: share.replicas for share in result.shares}


def test_without_a_strategy_every_cluster_gets_all_replicas() -> None:
    result = schedule.schedule(request(replicas=3), clusters("b", "a"))
    assert result.shares == (Share("a", 3), Share("b", 3))
    assert result.condition == schedule.SUCCESS
    assert result.rejections == ()


def test_what_has_no_replicas_goes_to_every_cluster_even_if_divided() -> None:
    assert shares(schedule.schedule(request(replicaScheduling=weights(a=1)), clusters("a", "b"))) == {
        "a": None,
        "b": None,
    }


def test_the_policy_says_by_which_rule_regions_compete_also_for_what_has_no_replicas() -> None:
    fleet = [Candidate("a1", region="a"), Candidate("b1", region="b"), Candidate("b2", region="b")]
    one_region = [
        {"spreadByField": "region", "minGroups": 1, "maxGroups": 1},
        {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2},
    ]
    copied = schedule.schedule(request(spreadConstraints=one_region), fleet)
    assert shares(copied) == {"b1": None, "b2": None}
    by_room = {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
    divided = schedule.schedule(request(spreadConstraints=one_region, replicaScheduling=by_room), fleet)
    assert shares(divided) == {"b1": None, "b2": None}
    previous = (Share("a1", None),)
    stays = schedule.schedule(
        request(spreadConstraints=one_region, replicaScheduling=by_room, previous=previous), fleet
    )
    assert shares(stays) == {"a1": None}


def test_a_workload_of_zero_replicas_runs_nowhere_and_that_is_a_success() -> None:
    result = schedule.schedule(request(requirements=True), clusters("a", "b"))
    assert result.shares == ()
    assert result.condition.status
    assert result.rejections == (
        Rejection("a", "the workload has no replicas"),
        Rejection("b", "the workload has no replicas"),
    )


def test_empty_propagation_places_what_has_no_replicas() -> None:
    wanted = request(replicas=2, replicaScheduling={**DIVIDED}, empty_propagation=True)
    assert shares(schedule.schedule(wanted, clusters("a", "b", "c"))) == {"a": 1, "b": 1, "c": 0}


def test_the_largest_weight_of_all_matching_entries_counts() -> None:
    entries = [
        {"targetCluster": {"clusterNames": ["a", "b"]}, "weight": 2},
        {"targetCluster": {"clusterNames": ["a"]}, "weight": 3},
        {"targetCluster": {"clusterNames": ["a"]}, "weight": 1},
    ]
    wanted = request(replicas=10, replicaScheduling={**DIVIDED, "weightPreference": {"staticWeightList": entries}})
    assert shares(schedule.schedule(wanted, clusters("a", "b"))) == {"a": 6, "b": 4}


def test_clusters_without_a_weight_are_left_out_and_told_so() -> None:
    result = schedule.schedule(request(replicas=6, replicaScheduling=weights(a=1, b=2)), clusters("a", "b", "c"))
    assert shares(result) == {"a": 2, "b": 4}
    assert result.rejections == (Rejection("c", "it has no weight in staticWeightList", barred=True),)


def test_a_weight_that_earned_nothing_is_told_too() -> None:
    result = schedule.schedule(request(replicas=50, replicaScheduling=weights(a=100, b=1)), clusters("a", "b"))
    assert shares(result) == {"a": 50}
    assert result.rejections == (Rejection("b", "no replica fell to it (weight 1)"),)


def test_if_nobody_is_named_all_count_the_same() -> None:
    assert shares(schedule.schedule(request(replicas=6, replicaScheduling=weights(nobody=5)), clusters("a", "b"))) == {
        "a": 3,
        "b": 3,
    }


def test_nothing_fits_gives_no_shares_and_counts_the_reasons() -> None:
    tainted = Candidate("a", taints=(Taint("k", "v", "NoSchedule"),))
    result = schedule.schedule(request(replicas=1), [tainted, Candidate("b", apis=serving())])
    assert result.shares is None
    assert result.condition.reason == "NoClusterFit"
    assert result.condition.message == (
        "0/2 clusters are available: 1 cluster(s) did not have the API resource, "
        "1 cluster(s) had untolerated taint {k=v:NoSchedule}."
    )
    assert [rejection.cluster for rejection in result.rejections] == ["a", "b"]


GROUPS = [
    {"affinityName": "g1", "clusterNames": ["a"]},
    {"affinityName": "g2", "clusterNames": ["b"]},
    {"affinityName": "g3", "clusterNames": ["c"]},
]


def test_the_first_group_that_fits_is_used_and_remembered() -> None:
    result = schedule.schedule(request(replicas=1, clusterAffinities=GROUPS), clusters("b", "c"))
    assert (shares(result), result.affinity_name) == ({"b": 1}, "g2")


def test_the_group_in_use_stays_in_use_even_if_an_earlier_one_is_back() -> None:
    wanted = request(replicas=1, clusterAffinities=GROUPS, observed_affinity="g2")
    assert schedule.schedule(wanted, clusters("a", "b", "c")).affinity_name == "g2"


def test_an_explicit_reschedule_starts_from_the_first_group() -> None:
    wanted = request(replicas=1, clusterAffinities=GROUPS, observed_affinity="g2", fresh=True)
    assert schedule.schedule(wanted, clusters("a", "b", "c")).affinity_name == "g1"


def test_a_group_that_the_policy_does_not_have_any_more_starts_from_the_first() -> None:
    wanted = request(replicas=1, clusterAffinities=GROUPS, observed_affinity="gone")
    assert schedule.schedule(wanted, clusters("a", "b")).affinity_name == "g1"


def test_there_is_no_way_round_to_an_earlier_group() -> None:
    wanted = request(replicas=1, clusterAffinities=GROUPS, observed_affinity="g3", evicting=frozenset({"c"}))
    result = schedule.schedule(wanted, clusters("a", "b", "c"))
    assert result.shares is None
    assert result.affinity_name == "g3"
    assert "1 cluster(s) is in the process of eviction" in result.condition.message


def test_the_failure_of_the_first_group_is_the_one_that_counts() -> None:
    wanted = request(replicas=1, clusterAffinities=GROUPS)
    result = schedule.schedule(wanted, [Candidate("a", apis=serving())])
    assert result.condition.message == "0/1 clusters are available: 1 cluster(s) did not have the API resource."
    assert result.affinity_name == ""


def test_a_cluster_passed_over_in_its_own_group_keeps_that_reason() -> None:
    candidates = [Candidate("a", apis=serving()), Candidate("b")]
    result = schedule.schedule(request(replicas=1, clusterAffinities=GROUPS), candidates)
    assert result.rejections == (Rejection("a", "cluster(s) did not have the API resource", barred=True),)


DYNAMIC = {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}


def roomy(**rooms: int) -> list[Candidate]:
    """Clusters with so many free pod slots."""
    return [
        Candidate(name, capacity=Capacity({"allocatable": {"pods": str(count)}}, {})) for name, count in rooms.items()
    ]


def test_replicas_follow_the_room() -> None:
    wanted = request(replicas=12, replicaScheduling=DYNAMIC, requirements_of_one=None)
    assert shares(schedule.schedule(wanted, roomy(a=6, b=12, c=18))) == {"a": 2, "b": 4, "c": 6}


def test_room_that_is_not_known_is_not_guessed() -> None:
    wanted = request(replicas=12, replicaScheduling=DYNAMIC, previous=(Share("a", 3),), requirements_of_one=None)
    result = schedule.schedule(wanted, [*roomy(a=6), Candidate("b")])
    assert result.shares == (Share("a", 3),)
    assert result.condition.message == "the room in b is not known"
    assert result.condition.capacity_unknown_in == ("b",)
    unasked = request(replicas=12, replicaScheduling=DYNAMIC, previous=(Share("a", 3),))
    assert schedule.schedule(unasked, roomy(a=6)).condition.message == "what one replica needs is not known"


def test_too_little_room_moves_nothing_and_says_how_much_there_is() -> None:
    wanted = request(replicas=40, replicaScheduling=DYNAMIC, previous=(Share("a", 6),), requirements_of_one=None)
    result = schedule.schedule(wanted, roomy(a=4, b=10, c=9))
    assert result.shares == (Share("a", 6),)
    assert result.condition.reason == "Unschedulable"
    assert result.condition.message == (
        "failed to assign replicas: failed to scale up: Clusters available replicas 23 are not enough to schedule."
    )


def test_the_next_group_is_tried_when_the_room_of_the_first_is_too_small() -> None:
    wanted = request(replicas=6, replicaScheduling=DYNAMIC, clusterAffinities=GROUPS, requirements_of_one=None)
    result = schedule.schedule(wanted, roomy(a=3, b=10, c=10))
    assert (shares(result), result.affinity_name) == ({"b": 6}, "g2")
    assert result.rejections[0].reason.startswith("failed to assign replicas")


def test_constraints_choose_among_the_clusters_that_fit() -> None:
    spread = [{"spreadByField": "cluster", "maxGroups": 2}]
    wanted = request(replicas=5, spreadConstraints=spread, requirements_of_one=None)
    result = schedule.schedule(wanted, roomy(a=10, b=20, c=30))
    assert shares(result) == {"b": 5, "c": 5}
    assert result.rejections == (Rejection("a", "not selected by spreadConstraints"),)


OVERFLOW = [
    {
        "affinityName": "idc",
        "clusterNames": ["idc1", "idc2"],
        "overflowAffinities": [
            {"affinityName": "p1", "clusterNames": ["pub1"]},
            {"affinityName": "p2", "clusterNames": ["pub2"]},
        ],
    }
]


@pytest.mark.parametrize(
    ("preference", "replicas", "expected"),
    [
        ("Aggregated", 8, {"idc1": 5, "idc2": 3}),
        ("Aggregated", 15, {"idc1": 6, "idc2": 4, "pub1": 5}),
        ("Aggregated", 30, {"idc1": 6, "idc2": 4, "pub1": 8, "pub2": 12}),
        ("Weighted", 5, {"idc1": 3, "idc2": 2}),
        ("Weighted", 25, {"idc1": 6, "idc2": 4, "pub1": 8, "pub2": 7}),
    ],
)
def test_what_finds_no_room_overflows(preference: str, replicas: int, expected: dict[str, int]) -> None:
    scheduling = {**DYNAMIC, "replicaDivisionPreference": preference}
    wanted = request(
        replicas=replicas, replicaScheduling=scheduling, clusterAffinities=OVERFLOW, requirements_of_one=None
    )
    assert shares(schedule.schedule(wanted, roomy(idc1=6, idc2=4, pub1=8, pub2=50))) == expected


FLEET = [
    Candidate(name, {"tier": tier}, taints=(Taint("t", "", "NoSchedule"),) * tainted)
    for name, tier, tainted in [("a", "x", 0), ("b", "y", 0), ("c", "x", 1), ("d", "y", 0), ("e", "x", 0)]
]


@given(st.permutations(FLEET), st.integers(0, 40), st.sampled_from(["", "a", "b"]))
def test_the_order_of_clusters_never_matters_and_replicas_are_conserved(
    fleet: list[Candidate], replicas: int, uid: str
) -> None:
    wanted = request(replicas=replicas, replicaScheduling=weights(a=3, b=2, d=1), uid=uid)
    result = schedule.schedule(wanted, fleet)
    assert result == schedule.schedule(wanted, FLEET)
    assert result.shares is not None
    assert sum(share.replicas or 0 for share in result.shares) == replicas
    named = {share.cluster for share in result.shares} | {rejection.cluster for rejection in result.rejections}
    assert named == {candidate.name for candidate in FLEET}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 20), min_size=1),
    st.integers(0, 60),
    st.booleans(),
    st.sampled_from(["", "b"]),
)
def test_a_copy_in_a_cluster_that_is_gone_changes_nothing(
    rooms: dict[str, int], replicas: int, aggregated: bool, uid: str
) -> None:
    """A workload that runs nowhere takes a shorter way through scheduling than one that ran somewhere."""
    division = {**DIVIDED, "replicaDivisionPreference": "Aggregated"} if aggregated else DYNAMIC
    new = request(replicas=replicas, requirements=True, replicaScheduling=division, uid=uid, requirements_of_one=None)
    moved = replace(new, previous=(Share("gone", 7),))
    ours, theirs = (schedule.schedule(one, roomy(**rooms)) for one in (new, moved))
    assert (ours.condition, ours.rejections) == (theirs.condition, theirs.rejections)
    assert not ours.condition.status or ours.shares == theirs.shares
