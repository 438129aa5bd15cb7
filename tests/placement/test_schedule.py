"""Where one template goes (Karmada: scheduling §1.3, §1.4, §4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.decisions import Rejection, Share
from gitfed.placement import schedule, strategy
from gitfed.placement.cluster import Candidate, Taint
from tests.placement.make import clusters, placement, serving

DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


def weights(**by_name: int) -> dict[str, Any]:
    entries = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in by_name.items()]
    return {**DIVIDED, "weightPreference": {"staticWeightList": entries}}


def request(*, replicas: int = 0, requirements: bool = False, **members: Any) -> schedule.Request:
    given = {
        name: members.pop(name)
        for name in ("previous", "evicting", "observed_affinity", "uid", "fresh", "empty_propagation")
        if name in members
    }
    return schedule.Request(
        placement=placement(**members),
        api_version="apps/v1",
        kind="Deployment",
        replicas=replicas,
        is_workload=replicas > 0 or requirements,
        **given,
    )


def shares(result: schedule.Result) -> dict[str, int | None] | None:
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
    assert result.rejections == (Rejection("c", "it has no weight in staticWeightList"),)


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
    assert result.rejections == (Rejection("a", "cluster(s) did not have the API resource"),)


@pytest.mark.parametrize(
    ("members", "sentences"),
    [
        ({}, []),
        ({"replicaScheduling": DIVIDED}, []),
        ({"replicaScheduling": {**DIVIDED, "weightPreference": {}}}, []),
        ({"replicaScheduling": DIVIDED, "spreadConstraints": [{"maxGroups": 1}]}, []),
        (
            {"spreadConstraints": [{"maxGroups": 1}]},
            ["choosing clusters by spreadConstraints is not supported yet"],
        ),
        (
            {"replicaScheduling": {**DIVIDED, "weightPreference": {}}, "spreadConstraints": [{"maxGroups": 1}]},
            ["choosing clusters by spreadConstraints is not supported yet"],
        ),
        (
            {"replicaScheduling": {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}},
            ["dividing replicas by dynamicWeight is not supported yet"],
        ),
        (
            {"replicaScheduling": {"replicaDivisionPreference": "Aggregated"}},
            ["dividing replicas by preference Aggregated is not supported yet"],
        ),
        (
            {"workloadAffinity": {"affinity": {"groupByLabelKey": "team"}}},
            ["workloadAffinity is not supported yet"],
        ),
    ],
)
def test_what_cannot_be_carried_out_is_said(members: dict[str, Any], sentences: list[str]) -> None:
    assert strategy.unsupported(placement(**members)) == sentences


def test_a_placement_that_cannot_be_carried_out_moves_nothing() -> None:
    wanted = request(
        replicas=9,
        replicaScheduling={"replicaDivisionPreference": "Aggregated"},
        previous=(Share("b", 4),),
        observed_affinity="g1",
    )
    result = schedule.schedule(wanted, clusters("a", "b"))
    assert result.shares == (Share("b", 4),)
    assert (result.condition.status, result.condition.reason) == (False, "SchedulerError")
    assert result.rejections == (Rejection("a", "dividing replicas by preference Aggregated is not supported yet"),)
    assert result.affinity_name == "g1"


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
