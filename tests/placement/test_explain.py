"""The story of one placement: numbers and what would change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gitfed.model.base import BindingId, Body, ObjectKey, Origin
from gitfed.model.decisions import (
    Decision,
    EvictionTask,
    FailoverState,
    Rejection,
    Scheduled,
    ScheduledCondition,
    Share,
)
from gitfed.model.plan import Binding, PlacementReasons
from gitfed.placement.capacity.estimate import Capacity, Estimate
from gitfed.placement.explain import explain
from gitfed.placement.scheduling import filters, schedule
from gitfed.placement.scheduling.cluster import Candidate, Taint
from tests.placement.make import placement, serving
from tests.placement.reference import AGGREGATED, DIVIDED, DYNAMIC, ONE_CPU, fleet, shares, spread

WEB = ObjectKey("apps", "Deployment", "shop", "web")
SHORT = ScheduledCondition(False, "Unschedulable", "too little room")


def binding(
    placed: str,
    replicas: int | None,
    rejections: tuple[Rejection, ...] = (),
    requirements: Body | None = ONE_CPU,
    **scheduled: Any,
) -> Binding:
    scheduled.setdefault("condition", schedule.SUCCESS)
    return Binding(
        BindingId("x"),
        WEB,
        "apps/v1",
        Origin("web.yaml", 1),
        Scheduled(shares=shares(placed), replicas=replicas, **scheduled),
        reasons=PlacementReasons(rejections=rejections),
        requirements=requirements,
    )


def tell(
    one: Binding, candidates: list[Candidate], decision: Decision | None = None, **members: Any
) -> dict[str, explain.ClusterExplanation]:
    return {item.cluster: item for item in story(one, candidates, decision, **members).clusters}


def story(
    one: Binding, candidates: list[Candidate], decision: Decision | None = None, **members: Any
) -> explain.PlacementExplanation:
    return explain.story(one, placement(**members), decision, candidates)


def test_room_weight_and_rounding_are_told() -> None:
    told = story(binding("a=2 b=4 c=6", 12), fleet("a=6 b=12 c=18"), replicaScheduling=DYNAMIC)
    assert (told.division, told.wanted, told.room, told.changes) == ("divided by dynamic weights", 12, 36, ())
    first = told.clusters[0]
    assert first.estimates == (Estimate("resource summary", 6, "cpu"),)
    assert (first.room, first.limited_by, first.weight, first.exact, first.share) == (
        6,
        "resource summary: cpu",
        6,
        2.0,
        2,
    )
    assert (first.chosen, first.rejected, first.changes) == (True, (), ())


def test_static_weights_are_told_with_what_they_come_to() -> None:
    weights = {"staticWeightList": [{"targetCluster": {"clusterNames": ["a"]}, "weight": 3}]}
    told = tell(binding("a=7", 7), fleet("a=0 b=0"), replicaScheduling={**DIVIDED, "weightPreference": weights})
    assert (told["a"].weight, told["a"].exact, told["a"].room) == (3, 7.0, None)
    assert (told["b"].weight, told["b"].exact) == (None, None)


def test_every_filter_that_rejects_is_told_and_what_would_let_it_pass() -> None:
    candidates = [
        Candidate("a"),
        Candidate(
            "b", {"tier": "old"}, region="us", apis=serving(),
            taints=(Taint("dedicated", "gpu", "NoSchedule"), Taint("gone", "", "NoExecute")),
        ),
    ]  # fmt: skip
    wanted = {
        "clusterNames": ["a"],
        "exclude": ["b"],
        "labelSelector": {
            "matchLabels": {"tier": "new"},
            "matchExpressions": [{"key": "zone", "operator": "Exists"}],
        },
        "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]},
    }
    told = tell(
        binding("a=1", 1), candidates, clusterAffinity=wanted, spreadConstraints=spread("cluster 1-1, zone 1-1")
    )
    assert told["b"].rejected == (
        filters.AFFINITY,
        "cluster(s) had untolerated taint {dedicated=gpu:NoSchedule}",
        filters.API,
        "cluster(s) did not have zones property",
    )
    assert told["b"].filters == ("ClusterAffinity", "TaintToleration", "APIEnablement", "SpreadConstraint")
    assert told["b"].changes == (
        "take b out of exclude of clusterAffinity",
        "add b to clusterNames of clusterAffinity",
        "label b tier=new",
        "let the labels of b meet zone Exists",
        "let the region of b be In eu",
        "tolerate dedicated=gpu:NoSchedule",
        "tolerate gone:NoExecute",
        "let b serve apps/v1 Deployment",
        "set spec.zones of b",
    )


def test_a_cluster_that_has_the_workload_is_asked_for_less() -> None:
    tainted = Candidate("a", taints=(Taint("k", "", "NoSchedule"),))
    decision = Decision(WEB, "apps/v1", Scheduled((Share("a", 3),)))
    told = tell(binding("a=3", 3), [tainted], decision)
    assert (told["a"].rejected, told["a"].score, told["a"].before) == ((), 100, 3)


def test_evictions_and_groups_are_told() -> None:
    decision = Decision(WEB, "apps/v1", failover=FailoverState(evictions=(EvictionTask("a", {}),)))
    one = binding("", 1, rejections=(Rejection("b", filters.TOGETHER),))
    told = tell(one, [Candidate("a"), Candidate("b")], decision)
    assert told["a"].changes == ("wait until the eviction from a is done",)
    assert told["b"].rejected == (filters.TOGETHER,)
    assert told["b"].changes == ("change the label that puts it into a group with the others, or move them",)


def test_what_is_missing_is_told_in_amounts() -> None:
    told = story(binding("", 40, condition=SHORT), fleet("a=10 b=27"), replicaScheduling=AGGREGATED)
    assert told.changes == ("room for 3 more replicas", "3 more cpu in a", "3 more cpu in b")
    memory = {"resourceRequest": {"cpu": "1", "memory": "2Gi"}}
    narrow = [Candidate("a", capacity=Capacity({"allocatable": {"cpu": "9", "memory": "1Gi", "pods": "9"}}, {}))]
    told = story(binding("", 2, condition=SHORT, requirements=memory), narrow, replicaScheduling=DYNAMIC)
    assert told.changes == ("room for 2 more replicas", "4Gi more memory in a")
    full = [Candidate("a", capacity=Capacity({"allocatable": {"cpu": "9", "pods": "1"}}, {}))]
    told = story(binding("", 2, condition=SHORT), full, replicaScheduling=DYNAMIC)
    assert told.changes == ("room for 1 more replicas", "1 more pod slots in a")


def test_a_cluster_that_could_be_used_but_is_not_says_what_would_help() -> None:
    told = tell(binding("c=5", 5), fleet("a=0 c=9"), replicaScheduling=DYNAMIC, spreadConstraints=spread("cluster 1-1"))
    assert told["a"].changes == ("raise maxGroups 1 of the constraint by cluster", "1 more cpu in a")
    assert told["c"].changes == ()


def test_room_that_is_not_known_is_no_number() -> None:
    told = story(binding("", 5, condition=SHORT), [*fleet("a=9"), Candidate("b")], replicaScheduling=DYNAMIC)
    assert told.room is None
    assert told.changes == ()
    waits = ScheduledCondition(False, "SchedulerError", "whatever it says", ("b",))
    told = story(binding("", 5, condition=waits), [*fleet("a=9"), Candidate("b")], replicaScheduling=DYNAMIC)
    assert told.changes == ("let the nodes and pods of b be read: its room is not known",)
    assert (told.clusters[1].room, told.clusters[1].limited_by) == (None, "")


def test_components_are_told_as_sets() -> None:
    parts = ({"name": "all", "replicas": 1, "replicaRequirements": ONE_CPU},)
    one = replace(
        binding("a", None, requirements=None),
        scheduled=replace(binding("a", None, requirements=None).scheduled, components=parts),
    )
    told = story(one, fleet("a=3"), replicaScheduling=AGGREGATED, spreadConstraints=spread("cluster 1-1"))
    assert told.division == "several pod templates: every chosen cluster gets all of them"
    assert told.clusters[0].estimates == (Estimate("complete sets", 3, ""),)


def test_what_is_no_workload_has_no_numbers() -> None:
    told = story(binding("a", None, requirements=None), fleet("a=3"))
    assert told.division == "no replicas: every chosen cluster gets the object"
    assert (told.clusters[0].room, told.clusters[0].weight, told.clusters[0].share) == (None, None, None)


def test_the_group_in_use_is_told_with_its_tiers() -> None:
    groups = [
        {
            "affinityName": "near",
            "clusterNames": ["a"],
            "overflowAffinities": [{"affinityName": "far", "clusterNames": ["b"]}],
        }
    ]
    one = binding("a=9 b=1", 10, affinity_name="near")
    told = story(one, fleet("a=9 b=5 c=5"), clusterAffinities=groups, replicaScheduling=DYNAMIC)
    assert told.group == "near"
    assert [item.tier for item in told.clusters] == [0, 1, None]
    assert told.clusters[2].changes == ("add c to clusterNames of affinity near",)


def test_a_weight_that_is_too_small_says_which_one_is_enough() -> None:
    def weights(**given: int) -> dict[str, Any]:
        listed = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in given.items()]
        return {**DIVIDED, "weightPreference": {"staticWeightList": listed}}

    told = tell(binding("a=50", 50), fleet("a=0 b=0 c=0"), replicaScheduling=weights(a=100, b=1))
    assert told["b"].changes == ("raise the weight of b from 1 to 2",)
    assert told["c"].changes == ("give c a weight in staticWeightList",)
    told = tell(binding("a=1", 1), fleet("a=0 b=0"), replicaScheduling=weights(a=100, b=1))
    assert told["b"].changes == ("raise the weight of b from 1 to 101",)


def test_what_is_kept_together_says_what_would_spread_it() -> None:
    told = tell(binding("a=3", 3), fleet("a=6 b=4"), replicaScheduling=AGGREGATED)
    assert told["b"].changes == ("ask for more replicas than fit in fewer clusters",)


def test_a_quota_says_how_large_it_would_have_to_be() -> None:
    message = "FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 10500m, limit 10."
    refused = ScheduledCondition(False, "QuotaExceeded", message)
    told = story(binding("", 3, condition=refused), fleet("a=6"), replicaScheduling=DYNAMIC)
    assert told.changes == ("raise cpu of FederatedResourceQuota shop/all to 10500m",)


def test_a_constraint_that_asks_for_more_than_there_is_says_so() -> None:
    few = ScheduledCondition(False, "SchedulerError", "failed to select clusters")
    told = story(
        binding("", 3, condition=few),
        fleet("a=6 b=6"),
        replicaScheduling=DYNAMIC,
        spreadConstraints=spread("cluster 3-4"),
    )
    assert told.changes == ("lower minGroups 3 of the constraint by cluster, or let more clusters be used: 2 can",)


def test_a_decision_that_stands_says_where_it_would_go_now() -> None:
    decision = Decision(WEB, "apps/v1", Scheduled((Share("a", 4),)))
    told = story(binding("a=4", 4), fleet("a=0 b=12"), decision, replicaScheduling=DYNAMIC)
    assert told.changes == ("a WorkloadRebalancer would place it anew: a=1 b=3",)
    told = story(binding("a=4", 4), fleet("a=9"), decision, replicaScheduling=DYNAMIC)
    assert told.changes == ()


def test_what_a_quota_refuses_no_other_cluster_would_change() -> None:
    message = "FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 12, limit 10."
    refused = binding("", 12, condition=ScheduledCondition(False, "QuotaExceeded", message))
    weights = {"staticWeightList": [{"targetCluster": {"clusterNames": ["a"]}, "weight": 3}]}
    told = story(
        refused, fleet("a=6 b=12 c=18"), clusterAffinity={"clusterNames": ["a", "b"]},
        replicaScheduling={**DIVIDED, "weightPreference": weights},
    )  # fmt: skip
    assert told.changes == ("raise cpu of FederatedResourceQuota shop/all to 12",)
    assert [item.changes for item in told.clusters] == [(), (), ()]
