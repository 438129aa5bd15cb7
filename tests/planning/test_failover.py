"""Clusters and workloads that fail, on a virtual clock (Karmada: failover §2, policies §3.4, scheduling §8)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.documents import bindings
from gitfed.model.decisions import EvictionTask, Share
from gitfed.model.fleet import ClusterCondition, Health, LiveObject, Reach
from gitfed.model.plan import Action
from gitfed.placement.failover import taints
from tests.e2e.world import cluster, deployment
from tests.planning.evictions import DIRECTLY, evicted
from tests.planning.stage import DIVIDED, ONE, START, WEB, Stage

TOLERANT = {"clusterTolerations": [{"key": "drain", "operator": "Exists", "effect": "NoExecute"}]}


# -- timelines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "taint"), [(Reach.UNKNOWN, "unreachable"), (Reach.NOT_READY, "not-ready")])
def test_a_dead_cluster_is_tainted_after_the_timeout_and_left_after_the_toleration(how: Reach, taint: str) -> None:
    """The first timeline of the reference: detection, +300 s taint, +300 s eviction, removal when the target is up."""
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1", how=how).turn()
    assert stage.due() == 335
    stage.at(334).turn()
    assert stage.taints("m1") == []
    stage.at(335).turn()
    assert stage.taints("m1") == [f"cluster.karmada.io/{taint}:NoExecute"]
    assert stage.due() == 635
    stage.at(634).turn()
    assert (stage.where, stage.tasks) == ("m1=2", [])
    stage.at(635).turn()
    assert (stage.where, stage.tasks, stage.copies) == ("m2=2", ["m1"], ["m1", "m2"])
    task = stage.task("m1").raw
    assert task == {
        "fromCluster": "m1", "purgeMode": "Gracefully", "replicas": 2, "reason": "TaintUntolerated",
        "message": f"taint cluster.karmada.io/{taint}:NoExecute since 2026-03-01T12:05:35Z",
        "producer": "TaintManager", "creationTimestamp": "2026-03-01T12:10:35Z",
    }  # fmt: skip
    stage.at(640).turn()
    assert (stage.tasks, stage.decision.failover.released, stage.copies) == ([], ("m1",), ["m1", "m2"])
    stage.at(2000).recover("m1").turn()
    assert (stage.taints("m1"), stage.copies) == ([], ["m2"])
    stage.turn()
    assert stage.decision.failover.released == ()
    assert stage.where == "m2=2"


def test_a_task_whose_replacement_never_becomes_healthy_is_over_after_the_timeout() -> None:
    stage = evicted()
    stage.slow.add("m2")
    stage.turn()
    assert stage.due() == 635 + 601
    stage.at(635 + 600).turn()
    assert stage.tasks == ["m1"]
    stage.at(635 + 601).turn()
    assert (stage.tasks, stage.where) == ([], "m2=2")


def test_what_somebody_else_has_where_it_goes_replaces_nothing() -> None:
    stage = evicted()
    key = next(key for key in stage.objects if key.name == "web")
    theirs = LiveObject(key, "m2", "theirs", "3", ours=False, body=json.loads(deployment("web")), health=Health.CURRENT)
    stage.objects[key]["m2"] = theirs
    stage.turn()
    stage.at(640).turn()
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])
    assert stage.objects[key]["m2"].uid == "theirs"


def test_a_taint_policy_evicts_at_once_and_its_taint_stays_until_conditions_end() -> None:
    """The second timeline of the reference."""
    rule = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "dead"},
        "spec": {
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
            "taints": [{"key": "dead", "effect": "NoExecute"}],
        },
    }  # fmt: skip
    stage = Stage(files={"taint.json": json.dumps(rule)})
    stage.turn()
    stage.at(35).fail("m1").turn()
    assert stage.taints("m1") == ["dead:NoExecute"]
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])
    stage.at(60).recover("m1").turn()
    assert stage.taints("m1") == ["dead:NoExecute"]
    del stage.files["taint.json"]
    stage.at(70).turn()
    assert stage.taints("m1") == ["dead:NoExecute"]
    rule["spec"]["removeOnConditions"] = [  # type: ignore[index]
        {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["False", "Unknown"]}
    ]
    stage.files["taint.json"] = json.dumps(rule)
    stage.at(80).turn()
    assert stage.taints("m1") == []


def test_what_a_toleration_without_end_holds_stays() -> None:
    """Karmada: failover §2.3: t1 tolerated without seconds: never."""
    tolerations = [{"key": "cluster.karmada.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]
    stage = Stage(placement={**TOLERANT, "clusterTolerations": tolerations})
    stage.turn()
    before = stage.where
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(100_000).turn()
    assert (stage.where, stage.tasks) == (before, [])


def test_what_came_back_in_time_is_not_moved() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(600).recover("m1").turn()
    stage.at(5000).turn()
    assert (stage.where, stage.tasks, stage.taints("m1")) == ("m1=2", [], [])


def test_a_cluster_that_flaps_is_left_alone_and_one_that_changes_its_words_is_not() -> None:
    stage = Stage()
    stage.turn()
    for number in range(10):
        stage.at(200 * number + 35).fail("m1").turn()
        stage.at(200 * number + 150).recover("m1").turn()
    assert (stage.where, stage.taints("m1")) == ("m1=2", [])
    for number in range(20):
        how = Reach.UNKNOWN if number % 2 else Reach.NOT_READY
        stage.at(3000 + 60 * number).fail("m1", how=how).turn()
    assert stage.where == "m2=2"


def test_a_second_cluster_that_fails_sends_the_work_on() -> None:
    stage = evicted()
    stage.slow.add("m2")
    stage.fail("m2").turn()
    assert (stage.where, stage.tasks) == ("m3=2", ["m1"])


def test_several_clusters_that_fail_in_a_row() -> None:
    stage = evicted(clusters=5)
    stage.slow.add("m2")
    stage.turn()
    stage.at(700).fail("m2").turn()
    stage.at(1000).turn()
    stage.at(1240).turn()
    assert (stage.where, stage.tasks) == ("m2=2", [])
    stage.at(1300).turn()
    assert (stage.where, stage.tasks) == ("m3=2", ["m2"])
    stage.at(1301).turn()
    assert (stage.tasks, stage.decision.failover.released) == ([], ("m1", "m2"))
    stage.at(1400).recover("m1", "m2").turn(2)
    assert (stage.copies, stage.decision.failover.released) == (["m3"], ())


# -- where there is nowhere to go -----------------------------------------------------------------------------------


def test_where_no_cluster_is_left_the_old_object_stays_and_says_so_until_there_is() -> None:
    """The reference runs nowhere then; we do not."""
    stage = Stage(clusters=2)
    stage.turn()
    stage.files["clusters/m2.json"] = cluster("m2", taints=[{"key": "closed", "effect": "NoSchedule"}])
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert (stage.where, stage.tasks) == ("m1=2", [])
    [said] = [text for text in stage.problems() if "should leave" in text]
    assert said == (
        "Deployment.apps/shop/web: should leave m1, and nothing can take it: 0/2 clusters are available: "
        "1 cluster(s) had untolerated taint {closed:NoSchedule}, 1 cluster(s) is in the process of eviction."
    )
    assert stage.binding.reasons.why == "should leave m1: nothing can take it"
    stage.at(9000).turn()
    assert stage.where == "m1=2"
    stage.files["clusters/m2.json"] = cluster("m2")
    stage.at(9100).turn()
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])


def test_what_lost_its_targets_after_an_eviction_keeps_its_old_copy() -> None:
    stage = evicted(clusters=2)
    stage.slow.add("m2")
    stage.turn()
    stage.decisions = replace(
        stage.decisions,
        bindings={
            WEB: replace(
                stage.decision,
                scheduled=replace(stage.decision.scheduled, shares=(), condition=None),
            )
        },
    )
    stage.files["clusters/m2.json"] = cluster("m2", taints=[{"key": "closed", "effect": "NoSchedule"}])
    stage.at(5000).turn()
    assert stage.tasks == ["m1"]
    assert any("its copy in m1 stays although its time is over: nothing takes its place" in t for t in stage.problems())


def test_a_divided_workload_moves_only_what_was_in_the_failed_cluster() -> None:
    stage = Stage(placement=DIVIDED, replicas=9, clusters=3)
    stage.turn()
    assert stage.where == "m1=3 m2=3 m3=3"
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert sum(share.replicas or 0 for share in stage.decision.scheduled.shares) == 9
    assert {share.cluster for share in stage.decision.scheduled.shares} == {"m2", "m3"}
    stage.at(640).turn(2)
    stage.at(900).recover("m1").turn(2)
    assert {share.cluster for share in stage.decision.scheduled.shares} == {"m2", "m3"}, (
        "divided work does not come back"
    )
    assert stage.copies == ["m2", "m3"]


def test_a_copy_in_every_cluster_comes_back_by_itself() -> None:
    stage = Stage(placement={}, clusters=3)
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn(2)
    assert stage.where == "m2=2 m3=2"
    stage.at(900).recover("m1").turn(2)
    assert stage.where == "m1=2 m2=2 m3=2"
    assert stage.copies == ["m1", "m2", "m3"]


# -- many at once ---------------------------------------------------------------------------------------------------


def test_more_than_half_of_the_fleet_gone_means_that_we_are_cut_off() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1", "m2", "m3").turn()
    assert stage.due() is None
    stage.at(5000).turn()
    assert (stage.where, stage.tasks, stage.taints("m1")) == ("m1=2", [], [])
    assert "3 of 4 clusters are not ready: nothing is evicted from them" in stage.problems()
    # Two come back: those that do not are given their whole time again, for they may only be slower.
    stage.at(5001).recover("m2", "m3").turn()
    assert (stage.taints("m1"), stage.due()) == ([], 5301)
    stage.at(5301).turn()
    assert stage.due() == 5601
    stage.at(5601).turn()
    assert stage.where == "m2=2"


def test_an_outage_between_taint_and_eviction_begins_the_toleration_anew() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(400).fail("m2", "m3").turn()
    stage.at(2000).turn()
    assert stage.where == "m1=2"
    stage.restart().at(2100).recover("m2", "m3").turn()
    assert (stage.where, stage.due()) == ("m1=2", 2400)
    stage.at(2400).turn()
    assert stage.where == "m2=2"


def test_exactly_half_of_the_fleet_is_not_too_many() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1", "m2").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert stage.where == "m3=2"


def test_a_person_drains_a_cluster_that_is_well_also_during_an_outage() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m2", "m3", "m4").turn()
    stage.files["clusters/m1.json"] = cluster("m1", taints=[{"key": "drain", "effect": "NoExecute"}])
    stage.turn()
    assert (stage.where, stage.tasks) == ("m1=2", []), "nothing can take it"
    assert any("should leave m1" in text for text in stage.problems())


def test_with_failover_off_nothing_moves_and_its_taints_go() -> None:
    stage = evicted()
    stage.files["gitfed.json"] = json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"},
         "spec": {"failover": {"enabled": False}}}
    )  # fmt: skip
    stage.turn()
    assert (stage.where, stage.taints("m1")) == ("m1=2", [])


# -- a person's taints -----------------------------------------------------------------------------------------------


def test_a_declared_taint_counts_from_its_time_or_from_when_it_was_first_seen() -> None:
    wait = {"clusterTolerations": [{"key": "drain", "operator": "Exists", "tolerationSeconds": 300,
                                    "effect": "NoExecute"}]}  # fmt: skip
    stage = Stage(placement={**ONE, **wait})
    stage.turn()
    stage.files["clusters/m1.json"] = cluster("m1", taints=[{"key": "drain", "effect": "NoExecute"}])
    stage.at(100).turn()
    assert (stage.where, stage.due()) == ("m1=2", 400)
    stage.restart().at(399).turn()
    assert stage.where == "m1=2"
    stage.at(400).turn()
    assert stage.where == "m2=2"
    stage.files["clusters/m1.json"] = cluster("m1")
    stage.files["clusters/m2.json"] = cluster(
        "m2", taints=[{"key": "drain", "effect": "NoExecute", "timeAdded": "2026-03-01T11:00:00Z"}]
    )
    stage.at(410).turn()
    assert stage.where == "m1=2"
    assert stage.taints("m1") == []


# -- tasks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "age", "healthy", "kept"),
    [
        ({}, 5, True, False),
        ({}, 60, False, True),
        ({}, 600, False, True),
        ({}, 601, False, False),
        ({"gracePeriodSeconds": 30}, 31, False, False),
        ({"gracePeriodSeconds": 30}, 30, False, True),
        ({"suppressDeletion": True}, 86400, True, True),
        ({"suppressDeletion": False}, 1, False, False),
        ({"purgeMode": "Never", "suppressDeletion": True}, 86400, True, True),
        ({"purgeMode": "Graciously"}, 601, False, False),
    ],
    ids=str,
)
def test_the_review_of_a_task(task: dict[str, Any], age: int, healthy: bool, kept: bool) -> None:
    """The table of the reference, §2.5."""
    stage = Stage()
    stage.turn()
    raw = {"fromCluster": "m3", "reason": "TaintUntolerated", "producer": "TaintManager",
           "creationTimestamp": "2026-03-01T12:00:00Z", **task}  # fmt: skip
    decision = replace(stage.decision, failover=replace(stage.decision.failover, evictions=(EvictionTask("m3", raw),)))
    stage.decisions = replace(stage.decisions, bindings={WEB: decision})
    if not healthy:
        stage.slow.add("m1")
    stage.at(age).turn()
    assert (stage.tasks == ["m3"]) is kept


def test_a_task_without_a_time_gets_one_and_one_from_the_future_too() -> None:
    stage = Stage()
    stage.turn()
    stage.slow.add("m1")
    for written in ({}, {"creationTimestamp": "not a time"}, {"creationTimestamp": "2030-01-01T00:00:00Z"}):
        raw = {"fromCluster": "m3", "reason": "TaintUntolerated", **written}
        decision = replace(
            stage.decision, failover=replace(stage.decision.failover, evictions=(EvictionTask("m3", raw),))
        )
        stage.decisions = replace(stage.decisions, bindings={WEB: decision})
        stage.at(10).turn()
        assert stage.task("m3").raw["creationTimestamp"] == "2026-03-01T12:00:10Z"


def test_a_target_that_a_hand_written_task_leaves_is_no_target() -> None:
    """Karmada: scheduling §8: listed and evicting: removed."""
    stage = Stage(placement=DIVIDED, replicas=4, clusters=2)
    stage.turn()
    decision = replace(
        stage.decision,
        failover=replace(stage.decision.failover, evictions=(EvictionTask("m1", {"fromCluster": "m1"}),)),
    )
    stage.decisions = replace(stage.decisions, bindings={WEB: decision})
    stage.at(10).turn()
    assert stage.where == "m2=4"


def test_evictions_are_not_held_by_the_gate_for_moves() -> None:
    stage = Stage(placement=DIVIDED, replicas=20, clusters=3)
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635)
    plan = stage.turn()
    assert [gate.name for gate in plan.gates if gate.held] == []
    assert {share.cluster for share in stage.decision.scheduled.shares} == {"m2", "m3"}


# -- Directly ---------------------------------------------------------------------------------------------------------


def test_directly_starts_the_new_copy_only_when_the_old_one_is_gone_for_sure() -> None:
    stage = evicted(failover=DIRECTLY)
    plan = stage.turn()
    assert (stage.where, stage.copies) == ("m2=2", ["m1"])
    [waiting] = [change for change in plan.changes or () if change.key == WEB and change.cluster == "m2"]
    assert waiting.action is Action.SKIP
    assert str(waiting.reason) == "waits for the confirmed deletion of its copy in m1 (purgeMode Directly)"
    stage.at(635 + 300).turn()
    assert any(
        "its new copy waits since 2026-03-01T12:10:35Z for the confirmed deletion" in t for t in stage.problems()
    )
    stage.at(9000).restart().turn()
    assert (stage.copies, stage.tasks) == (["m1"], ["m1"])
    stage.at(9100).recover("m1").turn()
    assert stage.copies == []
    stage.at(9101).turn()
    assert stage.copies == ["m2"]
    stage.at(9102).turn()
    assert stage.tasks == []


def test_directly_in_a_cluster_that_answers_deletes_first_and_starts_then() -> None:
    stage = Stage(failover=DIRECTLY)
    stage.turn()
    stage.files["clusters/m1.json"] = cluster("m1", taints=[{"key": "drain", "effect": "NoExecute"}])
    plan = stage.turn()
    assert stage.copies == []
    [gone] = [change for change in plan.changes or () if change.action is Action.DELETE]
    assert (gone.cluster, str(gone.reason), gone.turn.first) == ("m1", "evicted (purgeMode Directly)", True)
    stage.turn()
    assert stage.copies == ["m2"]


def test_directly_without_confirmation_only_if_the_setting_says_so() -> None:
    stage = evicted(failover=DIRECTLY)
    stage.files["gitfed.json"] = json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"},
         "spec": {"failover": {"startWithoutConfirmation": True}}}
    )  # fmt: skip
    stage.turn()
    assert (stage.copies, stage.due()) == (["m1"], 935)
    stage.at(935).turn()
    assert stage.copies == ["m1", "m2"]
    assert stage.decision.failover.cleared == ("m1",)
    stage.at(936).restart().turn()
    assert (stage.tasks, stage.decision.failover.released) == ([], ("m1",))


# -- applications ----------------------------------------------------------------------------------------------------

SICK = {"application": {"decisionConditions": {"tolerationSeconds": 60}}}


def test_an_unhealthy_workload_leaves_a_cluster_that_is_well() -> None:
    """The table of the reference, §2.6."""
    stage = Stage(failover=SICK)
    stage.turn()
    for seconds, healthy in ((0, False), (30, None), (40, False), (90, False), (99, False)):
        stage.healthy["m1"] = healthy
        stage.at(seconds).turn()
        assert (stage.where, stage.tasks) == ("m1=2", [])
    assert stage.due() == 100
    stage.restart().at(101).turn()
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])
    raw = stage.task("m1").raw
    assert (raw["reason"], raw["producer"]) == (
        "ApplicationFailure",
        "resource-binding-application-failover-controller",
    )
    assert raw["gracePeriodSeconds"] == 600
    assert not raw.keys() & {"suppressDeletion", "clustersBeforeFailover"}, "no state goes with it"
    stage.at(102).turn(2)
    assert stage.copies == ["m2"]


def test_what_a_dead_cluster_last_said_of_a_workload_counts_for_nothing() -> None:
    stage = Stage(failover=SICK)
    stage.turn()
    stage.healthy["m1"] = False
    stage.at(10).turn()
    stage.fail("m1").turn()
    stage.at(200).turn()
    assert (stage.where, stage.decision.failover.unhealthy) == ("m1=2", ())


def test_never_keeps_the_old_copy_until_somebody_lets_it_go() -> None:
    stage = Stage(failover={"application": {"decisionConditions": {"tolerationSeconds": 0}, "purgeMode": "Never"}})
    stage.turn()
    stage.healthy["m1"] = False
    stage.at(1).turn()
    stage.at(90_000).turn()
    assert (stage.where, stage.copies, stage.tasks) == ("m2=2", ["m1", "m2"], ["m1"])
    task = EvictionTask("m1", {**stage.task("m1").raw, "suppressDeletion": False})
    stage.decisions = replace(
        stage.decisions,
        bindings={WEB: replace(stage.decision, failover=replace(stage.decision.failover, evictions=(task,)))},
    )
    stage.at(90_001).turn()
    assert (stage.copies, stage.tasks) == (["m2"], [])


def test_without_the_gate_nothing_leaves_gracefully_because_of_its_health() -> None:
    stage = Stage(failover=SICK, featureGates={"GracefulEviction": False})
    stage.turn()
    stage.healthy["m1"] = False
    stage.at(1).turn()
    stage.at(100).turn()
    assert stage.where == "m1=2"
    assert any("the feature gate GracefulEviction is off" in text for text in stage.problems())


# -- anything --------------------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(
        st.integers(1, 400),
        st.sampled_from(["fail", "recover", "restart", "slow", "quick", "nothing", "sick", "well"]),
        st.integers(1, 4),
    ),
    max_size=25,
)


@given(EVENTS, st.sampled_from([None, DIRECTLY, SICK]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_happens_there_is_a_copy_or_a_reason(
    events: list[tuple[int, str, int]], failover: dict[str, Any] | None, divided: bool
) -> None:
    """The incremental build equals the full one (`Stage.build` compares them), replicas are conserved, no task is for
    a target, and in the end, when all clusters are well, exactly the targets have a copy."""
    stage = Stage(failover=failover, placement=DIVIDED if divided else None, replicas=7)
    stage.turn()
    now = 0
    for after, event, number in events:
        now += after
        stage.at(now)
        name = f"m{number}"
        match event:
            case "fail" if stage.reach[name] is Reach.READY:
                stage.fail(name)
            case "recover" if stage.reach[name] is not Reach.READY:
                stage.recover(name)
            case "restart":
                stage.restart()
            case "slow":
                stage.slow.add(name)
            case "quick":
                stage.slow.discard(name)
            case "sick":
                stage.healthy[name] = False
            case "well":
                stage.healthy[name] = None
        stage.turn()
        assert stage.copies or stage.binding.awaits_deletion
        assert {share.cluster for share in stage.decision.scheduled.shares}.isdisjoint(stage.tasks)
        if divided:
            assert sum(share.replicas or 0 for share in stage.decision.scheduled.shares) == 7
    stage.slow.clear()
    stage.healthy.clear()
    stage.recover(*[name for name in stage.names if stage.reach[name] is not Reach.READY])
    for step in range(4):
        stage.at(now + 100 * (step + 1)).turn()
    assert stage.copies == sorted(share.cluster for share in stage.decision.scheduled.shares)
    assert (stage.tasks, stage.decision.failover.released, stage.decision.failover.cleared) == ([], (), ())


def test_two_builds_at_one_moment_decide_the_same_and_a_second_adds_nothing() -> None:
    stage = evicted()
    stage.slow.add("m2")
    stage.turn()
    before = stage.decisions
    plan = stage.turn()
    assert (plan.said, stage.decisions.bindings[WEB]) == ((), before.bindings[WEB])


def test_the_time_of_a_record_may_lie_in_the_future() -> None:
    """The clock was set back: timers begin at what is now, and nothing moves sooner than it should."""
    stage = Stage()
    stage.turn()
    stage.at(10_000).fail("m1").turn()
    stage.restart().at(0).turn()
    assert stage.due() == 300
    stage.at(300).turn()
    stage.at(600).turn()
    assert stage.where == "m2=2"


def test_a_name_for_a_share_that_is_nowhere_declared_moves_nothing() -> None:
    stage = Stage(clusters=2)
    stage.turn()
    decision = replace(
        stage.decision, scheduled=replace(stage.decision.scheduled, shares=(Share("m1", 2), Share("gone", 2)))
    )
    stage.decisions = replace(stage.decisions, bindings={WEB: decision})
    stage.files["web.json"] = deployment("web", replicas=2)
    stage.at(10).turn()
    assert stage.tasks == []
    assert START + timedelta(seconds=10) == stage.now


# -- state -----------------------------------------------------------------------------------------------------------

STATEFUL = {
    "cluster": {
        "purgeMode": "Directly",
        "statePreservation": {"rules": [{"aliasLabelName": "job", "jsonPath": "{.jobStatus.jobId}"}]},
    }
}
FORCED = {"failover": {"startWithoutConfirmation": True}}


def federation(**spec: Any) -> str:
    return json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "acme"}, "spec": spec}
    )


def stateful(failover: dict[str, Any] = STATEFUL, **options: Any) -> Stage:
    stage = Stage(failover=failover, **options)
    stage.files["gitfed.json"] = federation(**FORCED)
    stage.turn()
    stage.status["m1"] = {"jobStatus": {"jobId": "5f3"}}
    stage.at(1).turn()
    return stage


def died(stage: Stage, cluster: str, at: int) -> Stage:
    """It fails at `at`; 300 s to the taint, 300 s toleration, 300 s for the deletion that nobody confirms."""
    stage.at(at).fail(cluster).turn()
    for seconds in (300, 600, 900):
        stage.at(at + seconds).turn()
    return stage


def test_state_is_written_down_before_the_cluster_dies_and_goes_with_the_work() -> None:
    stage = stateful()
    assert stage.decision.failover.preserved == (("m1", (("job", "5f3"),)),)
    stage.status.clear()
    died(stage.restart(), "m1", 35)
    assert (stage.where, stage.copies) == ("m2=2", ["m1", "m2"])
    assert stage.task("m1").raw["preservedLabelState"] == {"job": "5f3"}
    assert stage.labels("m2") == {"job": "5f3"}
    stage.at(2000).turn()
    assert stage.tasks == []
    stage.restart().at(3000).recover("m1").turn(2)
    assert (stage.copies, stage.labels("m2")) == (["m2"], {"job": "5f3"}), "kept as long as the failover stands"
    assert stage.decision.failover.injected == (("m2", (("job", "5f3"),)),)


def test_an_override_neither_sees_nor_changes_the_state_that_came_with_a_failover() -> None:
    wanted = {"labelsOverrider": [{"operator": "replace", "value": {"job": "other"}}]}
    override = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "o"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment",
                                        "labelSelector": {"matchExpressions": [{"key": "job", "operator": "Exists"}]}}],
                 "overrideRules": [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"seen": "1"}}]}},
                                   {"overriders": wanted}]},
    }  # fmt: skip
    stage = stateful(files={"override.yaml": json.dumps(override)})
    died(stage, "m1", 35)
    assert stage.labels("m2") == {"job": "5f3"}


def test_a_task_without_a_time_gets_one_before_it_is_judged() -> None:
    """Somebody wrote it by hand; its time begins when it is first seen, even if the copy may go at once."""
    stage = Stage()
    stage.turn()
    task = EvictionTask("m4", {"fromCluster": "m4", "reason": "Mine", "producer": "me", "suppressDeletion": False})
    stage.decisions = replace(
        stage.decisions,
        bindings={WEB: replace(stage.decision, failover=replace(stage.decision.failover, evictions=(task,)))},
    )
    stage.at(10).turn()
    assert stage.task("m4").created == START + timedelta(seconds=10)
    stage.at(11).turn()
    assert stage.tasks == []


def test_the_labels_of_the_last_failover_count_and_a_silent_object_hands_them_on() -> None:
    """m1→m2→m3: those of the last task."""
    stage = died(stateful(clusters=6), "m1", 35)
    stage.status["m2"] = {"jobStatus": {"jobId": "77a"}}
    stage.at(1000).turn()
    died(stage, "m2", 1100)
    assert (stage.where, stage.labels("m3")) == ("m3=2", {"job": "77a"})
    died(stage, "m3", 3000)
    assert (stage.where, stage.labels("m4")) == ("m4=2", {"job": "77a"})


@pytest.mark.parametrize(
    ("failover", "options"),
    [
        ({"cluster": {**STATEFUL["cluster"], "purgeMode": "Gracefully"}}, {}),
        (STATEFUL, {"placement": {}, "clusters": 3}),
        (STATEFUL, {"gates": {"StatefulFailoverInjection": False}}),
    ],
    ids=["gracefully", "two targets", "gate off"],
)
def test_state_is_not_injected(failover: dict[str, Any], options: dict[str, Any]) -> None:
    gates = options.pop("gates", {})
    stage = stateful(failover, **options)
    stage.files["gitfed.json"] = federation(**FORCED, featureGates=gates)
    stage.status["m2"] = stage.status["m3"] = stage.status["m1"]
    stage.at(2).turn()
    died(stage, "m1", 35)
    assert "m1" not in stage.where
    assert all(stage.labels(share.cluster) == {} for share in stage.decision.scheduled.shares)


def test_a_path_that_leads_nowhere_is_reported_early_and_keeps_the_work_in_place() -> None:
    stage = Stage(failover=STATEFUL)
    stage.turn()
    stage.status["m1"] = {"jobStatus": {}}
    stage.at(1).turn()
    [said] = [text for text in stage.problems() if "cannot be preserved" in text]
    assert said.startswith(
        "Deployment.apps/shop/web: the state of its copy in m1 cannot be preserved: {.jobStatus.jobId}"
    )
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert (stage.where, stage.tasks) == ("m1=2", [])
    assert any("its state was never seen and would be lost" in text for text in stage.problems())


def test_a_status_that_lost_its_value_does_not_take_the_last_one_away() -> None:
    stage = stateful()
    stage.status["m1"] = {"jobStatus": {}}
    stage.at(10).turn()
    assert stage.decision.failover.preserved == (("m1", (("job", "5f3"),)),)


def test_an_application_failover_takes_the_state_of_that_moment_elsewhere() -> None:
    rules = STATEFUL["cluster"]["statePreservation"]
    sick = {"application": {"decisionConditions": {"tolerationSeconds": 0}, "purgeMode": "Directly",
                            "statePreservation": rules}}  # fmt: skip
    stage = Stage(failover=sick)
    stage.turn()
    stage.status["m1"] = {"jobStatus": {"jobId": "9c"}}
    stage.healthy["m1"] = False
    stage.at(1).turn()
    assert (stage.where, stage.copies) == ("m2=2", [])
    assert stage.task("m1").clusters_before == {"m1"}
    stage.at(2).turn()
    assert stage.labels("m2") == {"job": "9c"}


def test_spoiled_notes_of_a_failover_are_as_good_as_none() -> None:
    """Somebody edited the state branch by hand."""
    stage = died(stateful(), "m1", 35)
    document = json.loads(json.dumps(bindings.to_document(stage.decision)))
    notes = document["metadata"]["annotations"]
    notes |= dict.fromkeys([bindings.UNHEALTHY, bindings.PRESERVED, bindings.INJECTED], "{oops")
    document["spec"]["gracefulEvictionTasks"] += [7, {"fromCluster": 3}, {"fromCluster": "m4", "purgeMode": "Later",
                                                   "gracePeriodSeconds": "x", "suppressDeletion": "no"}]  # fmt: skip
    stage.decisions = replace(stage.decisions, bindings={WEB: bindings.from_document(document)})
    stage.at(1000).turn()
    assert stage.where == "m2=2"
    assert (stage.decision.failover.preserved, stage.decision.failover.unhealthy) == ((), ())


# -- clusters that lie -----------------------------------------------------------------------------------------------


def test_a_cluster_that_answers_but_refuses_every_write_is_no_failed_cluster() -> None:
    """Its health is what it says; that nothing can be written there is said elsewhere, and evicts nothing."""
    stage = Stage(placement={})
    stage.turn()
    stage.refusing.add("m1")
    stage.files["web.json"] = deployment("web", image="nginx:2")
    for hours in range(1, 48):
        stage.at(3600 * hours).turn()
    assert (stage.tasks, stage.taints("m1")) == ([], [])
    assert [share.cluster for share in stage.decision.scheduled.shares] == ["m1", "m2", "m3", "m4"]


def test_work_refused_by_its_new_cluster_keeps_its_old_object_until_the_timeout() -> None:
    stage = evicted()
    stage.refusing.add("m2")
    stage.turn()
    stage.at(700).recover("m1").turn()
    assert (stage.where, stage.copies, stage.tasks) == ("m2=2", ["m1"], ["m1"])
    stage.refusing.clear()
    stage.at(800).turn()
    stage.at(801).turn(2)
    assert stage.copies == ["m2"]


def test_room_that_cannot_be_moves_nothing_and_gets_nothing() -> None:
    room = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                                  "weightPreference": {"dynamicWeight": "AvailableReplicas"}}}  # fmt: skip
    stage = Stage(placement=room, replicas=6, clusters=3)
    for name in stage.names:
        stage.summaries[name] = {"allocatable": {"cpu": "10", "pods": "100"}}
    stage.turn()
    stage.summaries["m3"] = {"allocatable": {"cpu": "-5", "pods": "-1"}, "allocated": {"cpu": "1"}}
    before = stage.where
    stage.at(10).turn()
    assert stage.where == before, "facts alone move nothing"
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert stage.where == "m2=4 m3=2"


def test_nobody_waits_for_a_cluster_whose_file_is_gone() -> None:
    stage = evicted(failover=DIRECTLY)
    stage.turn()
    assert stage.binding.awaits_deletion == ("m1",)
    del stage.files["clusters/m1.json"]
    stage.names.remove("m1")
    stage.at(700).turn(2)
    assert (stage.copies, stage.binding.awaits_deletion) == (["m1", "m2"], ())
    stage.at(701).turn()
    assert (stage.tasks, stage.decision.failover.released) == ([], ())
    assert "m1" not in stage.decisions.clusters


def test_a_taint_policy_of_the_milder_kind_closes_a_cluster_for_new_work_alone() -> None:
    rule = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "dns"},
        "spec": {
            "targetClusters": {"clusterNames": ["m1", "m2"]},
            "addOnConditions": [
                {"conditionType": "ServiceDomainNameResolutionReady", "operator": "NotIn", "statusValues": ["True"]},
                {"conditionType": "Ready", "operator": "In", "statusValues": ["True"]},
            ],
            "taints": [{"key": "dns", "effect": "NoSchedule", "value": "bad"}],
        },
    }  # fmt: skip
    stage = Stage(files={"taint.json": json.dumps(rule)}, clusters=3)
    stage.turn()
    assert stage.taints("m2") == [], "a condition that nobody reports never holds"
    for name in stage.names:
        stage.more[name] = {"ServiceDomainNameResolutionReady": "False"}
    stage.at(10).turn()
    assert [stage.taints(name) for name in stage.names] == [["dns=bad:NoSchedule"], ["dns=bad:NoSchedule"], []]
    assert (stage.where, stage.tasks) == ("m1=2", [])
    stage.files["api.json"] = deployment("api")
    stage.at(20).turn()
    [api] = [one for key, one in stage.decisions.bindings.items() if key.name == "api"]
    assert [share.cluster for share in api.scheduled.shares] == ["m3"]


def test_an_error_of_many_lines_is_recorded_as_one_that_is_not_too_long() -> None:
    said = taints._reason(
        ClusterCondition("Ready", "False", "ClusterNotReachable", "[+]ping ok\n[-]etcd failed\n" * 20)
    )
    assert said.startswith("ClusterNotReachable: [+]ping ok [-]etcd failed [+]ping ok")
    assert said.endswith("…")
    assert len(said) <= 230


# -- tolerations that end ------------------------------------------------------------------------------------------

BRIEFLY = {
    "clusterTolerations": [{"key": "drain", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]
}


def drained(name: str, seconds: int = 0) -> str:
    """The Cluster file of one that is being drained since so many seconds after the start."""
    since = (START + timedelta(seconds=seconds)).isoformat()
    return cluster(name, region=f"r-{name}", taints=[{"key": "drain", "effect": "NoExecute", "timeAdded": since}])


def test_what_left_when_its_toleration_ended_does_not_come_back_to_the_taint() -> None:
    """A copy in each of two clusters: without this rule eviction and return alternate with every cycle."""
    stage = Stage(2, placement={**BRIEFLY})
    stage.turn()
    assert stage.where == "m1=2 m2=2"
    stage.files["clusters/m1.json"] = drained("m1", 10)
    stage.at(10).turn()
    stage.at(14).turn()
    assert (stage.where, stage.due()) == ("m1=2 m2=2", 15)
    for second in range(15, 40):
        stage.at(second).turn()
        assert stage.where == "m2=2"
    assert (stage.tasks, stage.copies) == ([], ["m2"])
    [rejection] = stage.binding.reasons.rejections
    assert tuple(rejection)[:2] == ("m1", "cluster(s) had a taint that was tolerated for a while, which is over")
    assert rejection.barred
    stage.files["clusters/m1.json"] = cluster("m1", region="r-m1")
    stage.at(50).turn()
    assert stage.where == "m1=2 m2=2"


def test_what_is_new_goes_to_a_cluster_only_while_its_toleration_lasts_there() -> None:
    stage = Stage(2, placement={**BRIEFLY}, files={"clusters/m1.json": drained("m1")})
    stage.at(4).turn(2)
    assert (stage.where, stage.due()) == ("m1=2 m2=2", 5)
    late = Stage(2, placement={**BRIEFLY}, files={"clusters/m1.json": drained("m1")})
    late.at(5).turn()
    assert late.where == "m2=2"


def test_the_first_toleration_that_matches_says_when_it_is_over_for_new_work_too() -> None:
    """A second one without an end lets nobody come back who had to leave because of the first."""
    both = [*BRIEFLY["clusterTolerations"], {"operator": "Exists"}]
    stage = Stage(2, placement={"clusterTolerations": both})
    stage.turn()
    stage.files["clusters/m1.json"] = drained("m1", 10)
    for second in range(10, 30):
        stage.at(second).turn()
    assert stage.where == "m2=2"
