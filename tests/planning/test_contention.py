"""What templates of one build share: room, company and quotas."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.cli.output import plain, plan_text
from gitfed.documents import bindings
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, Operation, OperationInputs
from gitfed.model.base import Body, ObjectKey
from gitfed.model.decisions import Decision, Decisions, Rescheduling, Share
from gitfed.model.fleet import ClusterFacts, NodeFacts, QuotaFacts, Reach
from gitfed.model.keys import APPLIED_PLACEMENT
from gitfed.model.plan import Gate, Plan
from gitfed.placement.capacity import quota as quotas
from gitfed.planning import build, contention
from gitfed.source.read_cache import ReadCache
from tests.placement.reference import AGGREGATED, DIVISIONS, DUPLICATED, DYNAMIC, spread
from tests.planning.capacity_world import (
    CLUSTERS,
    NOW,
    ZERO,
    World,
    facts_of,
    key,
    of,
    policy,
    quota,
    rooms,
    said,
    where,
    workload,
)

# -- room ----------------------------------------------------------------------------------------------------------


def test_two_workloads_are_not_given_the_same_room() -> None:
    world = World(
        [workload("one", 8), workload("two", 8), policy("p", ["one", "two"], AGGREGATED)], {"a": "10", "b": "10"}
    )
    plan = world.plan()
    assert (where(plan, "one"), where(plan, "two")) == ("a=8", "b=8")


def test_what_is_left_over_is_used_up() -> None:
    names = ["one", "two", "three"]
    world = World([*(workload(name, 6) for name in names), policy("p", names, AGGREGATED)], {"a": "10", "b": "10"})
    plan = world.plan()
    assert (where(plan, "one"), where(plan, "three"), where(plan, "two")) == ("a=6", "b=6", "a=3 b=3")


def test_copies_take_room_too() -> None:
    world = World(
        [workload("app", 7), workload("web", 5), policy("copy", ["app"], DUPLICATED), policy("p", ["web"], AGGREGATED)],
        {"a": "10", "b": "10"},
    )
    plan = world.plan()
    assert (where(plan, "app"), where(plan, "web")) == ("a=7 b=7", "a=3 b=2")


def priority_class(name: str, value: int) -> Body:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def urgent(name: str, target: str) -> Body:
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": name}
    return policy(f"urgent-{target}", [target], AGGREGATED, schedulePriority=wanted)


def test_the_more_urgent_goes_first() -> None:
    world = World(
        [
            workload("a", 8), workload("b", 8), workload("c", 8), priority_class("high", 100),
            policy("p", ["a"], AGGREGATED), urgent("high", "b"), urgent("system-node-critical", "c"),
        ],
        {"m": "20"},
    )  # fmt: skip
    plan = world.plan()
    assert (where(plan, "c"), where(plan, "b"), where(plan, "a")) == ("m=8", "m=8", "")
    assert of(plan, "a").scheduled.condition is not None
    assert of(plan, "a").scheduled.condition.reason == "Unschedulable"  # type: ignore[union-attr]


def test_a_class_that_nobody_declares_counts_as_nothing_and_is_said() -> None:
    world = World(
        [workload("a", 8), workload("b", 8), urgent("none", "b"), policy("p", ["a"], AGGREGATED)], {"m": "10"}
    )
    plan = world.plan()
    assert where(plan, "a") == "m=8"
    assert "PropagationPolicy/shop/urgent-b: no PriorityClass none: it counts as 0" in said(plan)


def test_what_runs_already_is_in_the_facts() -> None:
    """Ten more fit beside the eight that run; those eight are not counted a second time."""
    world = World([workload("one", 8), policy("p", ["one", "two"], AGGREGATED)], {"a": "10"})
    world = world.after(world.plan())
    grown = replace(world, objects=[workload("one", 12), workload("two", 6), policy("p", ["one", "two"], AGGREGATED)])
    plan = grown.plan()
    assert (where(plan, "one"), where(plan, "two")) == ("a=12", "a=6")


def test_what_was_decided_after_the_facts_were_taken_counts() -> None:
    world = World([workload("one", 8), policy("p", ["one", "two"], AGGREGATED)], {"a": "10"})
    world = world.after(world.plan())
    objects = [workload("one", 8), workload("two", 6), policy("p", ["one", "two"], AGGREGATED)]
    later = NOW + timedelta(minutes=1)
    old_facts = replace(world, objects=objects, now=later, taken_at=NOW - timedelta(minutes=1))
    new_facts = replace(world, objects=objects, now=later, taken_at=later)
    assert (where(old_facts.plan(), "two"), where(new_facts.plan(), "two")) == ("", "a=6")
    # Right after the decision its pods are not there yet: facts of that moment do not count them.
    soon = replace(new_facts, taken_at=NOW + contention.IN_FLIGHT - timedelta(seconds=1))
    assert where(soon.plan(), "two") == ""


def test_nodes_are_looked_at_one_by_one() -> None:
    nodes = tuple(NodeFacts(f"n{index}", {"cpu": "4", "pods": "10"}, {}, {}) for index in range(3))
    facts = ClusterFacts("a", resource_summary={"allocatable": {"cpu": "12", "pods": "30"}}, nodes=nodes)
    world = World([workload("big", 4, "3"), policy("p", ["big"], DYNAMIC)], {"a": facts})
    condition = of(world.plan(), "big").scheduled.condition
    assert condition is not None
    assert condition.message.endswith("Clusters available replicas 3 are not enough to schedule.")


def test_room_that_is_not_known_is_said_and_nothing_moves() -> None:
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": "10", "b": None})
    assert "Deployment.apps/shop/one: the room in b is not known" in said(world.plan())


# -- company -------------------------------------------------------------------------------------------------------

TEAM = {"groupByLabelKey": "team"}
TOGETHER = {"workloadAffinity": {"affinity": TEAM}}
APART = {"workloadAffinity": {"antiAffinity": TEAM}}


def test_workloads_of_a_group_follow_the_first() -> None:
    one = policy("one", ["a"], placement={**TOGETHER, "clusterAffinity": {"clusterNames": ["y"]}})
    two = policy("two", ["b"], placement=TOGETHER)
    world = World([workload("a", 1, team="red"), workload("b", 1, team="red"), one, two], dict.fromkeys("xyz"))
    plan = world.plan()
    assert (where(plan, "a"), where(plan, "b")) == ("y=1", "y=1")


def test_workloads_that_keep_apart_take_different_clusters() -> None:
    names = ["a", "b", "c"]
    one_each = policy("p", names, DUPLICATED, placement=APART, spread=spread("cluster 1-1"))
    world = World([*(workload(name, 1, team="red") for name in names), one_each], {"x": "9", "y": "9"})
    plan = world.plan()
    assert (where(plan, "a"), where(plan, "b"), where(plan, "c")) == ("x=1", "y=1", "")
    condition = of(plan, "c").scheduled.condition
    assert condition is not None
    assert condition.reason == "NoClusterFit"


def test_without_the_label_there_is_no_group() -> None:
    names = ["a", "b"]
    world = World([workload("a", 1), workload("b", 1, team="red"), policy("p", names, placement=APART)], {"x": None})
    plan = world.plan()
    assert (where(plan, "a"), where(plan, "b")) == ("x=1", "x=1")


def test_who_is_there_already_stays_and_newcomers_keep_away() -> None:
    old = World([workload("z", 1, team="red"), policy("p", ["a", "z"], placement=APART)], {"x": None})
    old = old.after(old.plan())
    grown = replace(old, objects=[workload("a", 1, team="red"), *old.objects], rooms={"x": None, "y": None})
    plan = grown.plan()
    assert where(plan, "z") == "x=1 y=1" or where(plan, "z") == "x=1"
    assert where(plan, "a") == "y=1"


# -- quotas --------------------------------------------------------------------------------------------------------


def test_a_quota_refuses_what_does_not_fit_into_it() -> None:
    names = ["one", "two"]
    world = World([*(workload(name, 4) for name in names), policy("p", names), quota("6")], {"a": None})
    plan = world.plan()
    message = "FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 8, limit 6."
    condition = of(plan, "two").scheduled.condition
    assert (where(plan, "one"), where(plan, "two")) == ("a=4", "")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == (False, "QuotaExceeded", message)
    assert f"Deployment.apps/shop/two: {message}" in said(plan)
    assert plan.gates[-1] == Gate("quota shop/all cpu", "6", "8", 1, (message,), consent=False)


def test_a_quota_that_holds_nothing_is_shown_with_what_is_used_of_it() -> None:
    world = World([workload("one", 4, "500m"), policy("p", ["one"]), quota("6")], {"a": None, "b": None})
    assert world.plan().gates[-1] == Gate("quota shop/all cpu", "6", "4", consent=False)


def test_each_resource_that_is_exceeded_is_a_gate_of_its_own() -> None:
    both = quota("6")
    both["spec"]["overall"] |= {"memory": "1Gi", "pods": "9"}
    hungry = workload("two", 4)
    hungry["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1.5G"
    plan = World([workload("one", 4), hungry, policy("p", ["one", "two"]), both], {"a": None}).plan()
    condition = of(plan, "two").scheduled.condition
    assert condition is not None
    said = "FederatedResourceQuota(shop/all) exceeded for resource"
    cpu, memory = f"{said} cpu: requested sum 8, limit 6.", f"{said} memory: requested sum 6G, limit 1Gi."
    assert condition.message == f"{cpu} {memory}"
    assert plan.gates[-2:] == (
        Gate("quota shop/all cpu", "6", "8", 1, (cpu,), consent=False),
        Gate("quota shop/all memory", "1Gi", "6G", 1, (memory,), consent=False),
    )


def test_a_quota_that_is_exceeded_by_what_runs_is_not_called_ok() -> None:
    world = World([workload("one", 4), policy("p", ["one"]), quota("6")], {"a": None})
    world = world.after(world.plan())
    plan = replace(world, objects=[workload("one", 4, "2"), policy("p", ["one"]), quota("6")]).plan()
    assert plan.gates[-1] == Gate("quota shop/all cpu", "6", "8", consent=False, over=True)
    assert plan_text.gates(plan.gates[-1:], plain.Paint(False)) == ["Gates   quota shop/all cpu 8/6 EXCEEDED"]


@pytest.mark.parametrize("cpu", ["6", "20"])
def test_what_a_quota_is_said_to_use_is_what_the_plan_counted(cpu: str) -> None:
    objects = [workload("one", 4), workload("two", 3, "500m"), policy("p", ["one", "two"]), quota(cpu)]
    plan = World(objects, {"a": None, "b": None}).plan()
    used = quotas.used("shop", plan.bindings.values())
    assert {name: str(amount) for name, amount in used.items()} == ({"cpu": "3"} if cpu == "6" else {"cpu": "11"})
    if cpu == "20":
        assert plan.gates[-1] == Gate("quota shop/all cpu", "20", "11", consent=False)
        assert str(quotas.used("shop", plan.bindings.values(), "a")["cpu"]) == "5500m"


def test_a_refused_workload_stays_as_it_was() -> None:
    world = World([workload("one", 4), policy("p", ["one"]), quota("6")], {"a": None})
    world = world.after(world.plan())
    plan = replace(world, objects=[workload("one", 9), policy("p", ["one"]), quota("6")]).plan()
    assert where(plan, "one") == "a=4"
    decision = of(plan, "one").decision
    assert decision is not None
    assert decision.scheduled.shares == (Share("a", 4),)


def test_a_refused_workload_takes_no_room() -> None:
    names = ["one", "two", "zero"]
    objects = [workload("one", 4), workload("two", 7), workload("zero", 2), policy("p", names, AGGREGATED), quota("6")]
    plan = World(objects, {"a": "6"}).plan()
    assert [where(plan, name) for name in names] == ["a=4", "", "a=2"]


def test_a_template_that_asks_for_more_than_its_quota_is_told() -> None:
    world = World([workload("one", 4), policy("p", ["one"]), quota("6")], {"a": None})
    world = world.after(world.plan())
    plan = replace(world, objects=[workload("one", 4, "2"), policy("p", ["one"]), quota("6")]).plan()
    assert "FederatedResourceQuota(shop/all) is exceeded for resource cpu: used 8, limit 6." in said(plan)


def test_what_is_assigned_to_a_cluster_is_a_quota_there() -> None:
    plan = World([workload("one", 1), policy("p", ["one"]), quota("9", a="4", b="5")], {"a": None, "b": None}).plan()
    rendered = plan.rendered[ObjectKey("", "ResourceQuota", "shop", "all")]
    assert [(item.clusters, item.body["spec"]["hard"]) for item in rendered] == [
        (("a",), {"cpu": "4"}),
        (("b",), {"cpu": "5"}),
    ]
    assert rendered[0].body["metadata"]["labels"]["gitfed.io/federation"] == "acme"


# -- rebalancing ---------------------------------------------------------------------------------------------------


def rebalancer(*names: str) -> Body:
    listed = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name} for name in names]
    return {
        "apiVersion": "apps.karmada.io/v1alpha1",
        "kind": "WorkloadRebalancer",
        "metadata": {"name": "spread"},
        "spec": {"workloads": listed},
    }


def test_a_rebalancer_places_a_workload_anew_and_only_once() -> None:
    """It went to the only cluster that had room; there is another one now."""
    objects = [workload("one", 8), policy("p", ["one"], DYNAMIC)]
    world = World(objects, {"a": "10", "b": "0"})
    world = replace(world.after(world.plan()), rooms={"a": "0", "b": "24"}, now=NOW + timedelta(hours=1))
    assert where(world.plan(), "one") == "a=8"
    asked = replace(world, objects=[*objects, rebalancer("one")])
    moved = asked.plan()
    assert where(moved, "one") == "a=2 b=6"
    decision = of(moved, "one").decision
    assert decision is not None
    assert (decision.rescheduling.rebalancers, decision.last_scheduled) == (("spread",), asked.now)
    served = replace(asked.after(moved), rooms={"a": "24", "b": "0"}, now=NOW + timedelta(hours=2))
    again = served.plan()
    assert of(again, "one").decision is decision


def test_a_rebalancer_of_a_workload_that_cannot_be_placed_writes_nothing_again() -> None:
    """It is served when the workload can be: until then its decision stands as it is."""
    objects = [workload("one", 8), policy("p", ["one"], DYNAMIC)]
    world = World(objects, {"a": "10", "b": "0"})
    world = world.after(world.plan())
    before = of(world.plan(), "one").decision
    wrong = replace(world, objects=[workload("one", 8, "lots"), objects[1], rebalancer("one")])
    memo = build.Memo()
    for hours in (1, 2):
        later = replace(wrong, now=NOW + timedelta(hours=hours))
        plan = later.plan(memo)
        assert of(plan, "one").reasons.why == "unknown: the last decision stays"
        assert plan == later.plan()
        assert of(plan, "one").decision is before
        wrong = later.after(plan)
    mended = replace(wrong, objects=[*objects, rebalancer("one")], rooms={"a": "0", "b": "24"})
    assert where(mended.plan(), "one") == "a=2 b=6"


def test_a_rebalancer_that_is_gone_is_forgotten_and_nothing_was_scheduled_for_that() -> None:
    objects = [workload("one", 8), policy("p", ["one"], DYNAMIC)]
    world = World([*objects, rebalancer("one")], {"a": "10"})
    world = world.after(world.plan())
    plan = replace(world, objects=objects, now=NOW + timedelta(hours=1)).plan()
    decision = of(plan, "one").decision
    assert decision is not None
    assert (decision.rescheduling.rebalancers, decision.last_scheduled) == ((), NOW)


def test_who_was_served_is_recorded_with_the_decision() -> None:
    decision = Decision(key("one"), "apps/v1", rescheduling=Rescheduling(rebalancers=("first", "second")))
    document = bindings.to_document(decision)
    assert document["metadata"]["annotations"]["gitfed.io/rebalanced-by"] == "first,second"
    read = bindings.from_document(document)
    assert read.rescheduling.rebalancers == decision.rescheduling.rebalancers
    assert (
        "annotations"
        not in bindings.to_document(replace(read, rescheduling=replace(read.rescheduling, rebalancers=())))["metadata"]
    )


def test_a_workload_that_comes_after_its_rebalancer_is_not_placed_twice() -> None:
    objects = [workload("one", 8), policy("p", ["one"], DYNAMIC), rebalancer("one", "gone")]
    world = World(objects, {"a": "10"})
    plan = world.plan()
    assert "WorkloadRebalancer/spread: there is no Deployment.apps/shop/gone" in said(plan)
    after = replace(world.after(plan), rooms={"a": "2", "b": "24"}, now=NOW + timedelta(hours=1))
    assert where(after.plan(), "one") == "a=8"


# -- components ----------------------------------------------------------------------------------------------------


class Rays:
    """Answers for the components of one kind."""

    name = "test"

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return kind == "RayCluster" and operation is Operation.COMPONENT

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        needs = {"resourceRequest": {"cpu": "2"}}
        return tuple({"name": name, "replicas": 2, "replicaRequirements": needs} for name in ("head", "worker"))


def test_a_workload_of_components_goes_where_a_whole_set_fits() -> None:
    ray = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray", "namespace": "shop"}}
    wanted = policy("p", [], AGGREGATED, spread=spread("cluster 1-1"),
                    selectors=[{"apiVersion": "ray.io/v1", "kind": "RayCluster"}])  # fmt: skip
    plan = World([ray, wanted], {"a": "7", "b": "8"}, interpreter=Interpreter((Rays(), Native()))).plan()
    binding = plan.bindings[ObjectKey("ray.io", "RayCluster", "shop", "ray")]
    assert (binding.scheduled.shares, binding.scheduled.replicas, len(binding.scheduled.components)) == (
        (Share("b"),),
        None,
        2,
    )
    assert binding.scheduled.each == (("head", 2), ("worker", 2))
    assert binding.decision is not None
    spec = bindings.to_document(binding.decision)["spec"]
    listed = [{"name": "head", "replicas": 2}, {"name": "worker", "replicas": 2}]
    assert spec["clusters"] == [{"name": "b", "components": listed}]
    assert spec["components"] == [{**one, "replicaRequirements": {"resourceRequest": {"cpu": "2"}}} for one in listed]
    read = bindings.from_document(bindings.to_document(binding.decision))
    assert (read.scheduled.each, read.scheduled.components) == (binding.scheduled.each, binding.scheduled.components)
    again = plan_of_components(Decisions(bindings={binding.key: read}, repository_id="r"), "cluster 1-1")
    assert again.bindings[binding.key].decision is read


def plan_of_components(decisions: Decisions, wanted: str) -> Plan:
    ray = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray", "namespace": "shop"}}
    selectors = [{"apiVersion": "ray.io/v1", "kind": "RayCluster"}]
    objects = [ray, policy("p", [], AGGREGATED, spread=spread(wanted), selectors=selectors)]
    return World(objects, {"a": "7", "b": "8"}, decisions, interpreter=Interpreter((Rays(), Native()))).plan()


def test_where_sets_are_not_counted_every_target_gets_all_and_lists_nothing() -> None:
    (binding,) = (one for one in plan_of_components(ZERO, "cluster 1-2").bindings.values() if one.scheduled.components)
    assert ([share.cluster for share in binding.scheduled.shares], binding.scheduled.each) == (["a", "b"], ())


def test_priorities_can_be_switched_off() -> None:
    objects = [
        workload("a", 8), workload("b", 8), priority_class("high", 100), policy("p", ["a"], AGGREGATED),
        urgent("high", "b"),
    ]  # fmt: skip
    plan = World(objects, {"m": "10"}, gates={"PriorityBasedScheduling": False}).plan()
    assert (where(plan, "a"), where(plan, "b")) == ("m=8", "")


# -- any repository ------------------------------------------------------------------------------------------------

names = st.sampled_from(["one", "two", "three", "four"])
known_rooms = st.fixed_dictionaries({name: st.sampled_from(["0", "3", "10", "40"]) for name in CLUSTERS})


@st.composite
def repositories(draw: st.DrawFn) -> list[Body]:
    chosen = draw(st.lists(names, unique=True, min_size=1))
    objects: list[Body] = []
    for name in chosen:
        labels = {"team": "red"} if draw(st.booleans()) else {}
        objects.append(workload(name, draw(st.integers(0, 12)), draw(st.sampled_from(["1", "500m", "3"])), **labels))
        how = DIVISIONS[draw(st.sampled_from(["dup", "dyn", "agg", "static"]))]
        wanted = draw(st.sampled_from([{}, {}, {}, TOGETHER, APART]))
        if draw(st.booleans()):
            some = draw(st.lists(st.sampled_from(CLUSTERS), unique=True, min_size=1, max_size=2))
            wanted = {**wanted, "clusterAffinity": {"clusterNames": some}}
        constraints = draw(st.sampled_from(["", "", "cluster 1-2", "region 1-2, cluster 1-2"]))
        objects.append(policy(f"p-{name}", [name], how, placement=wanted, spread=spread(constraints)))
    if draw(st.booleans()):
        objects.append(quota(draw(st.sampled_from(["5", "20"]))))
    return objects


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(repositories(), rooms), min_size=2, max_size=4))
def test_an_incremental_build_equals_a_full_one(history: list[tuple[list[Body], dict[str, str | None]]]) -> None:
    memo, memory, decisions = build.Memo(), ReadCache(), ZERO
    for number, (objects, room) in enumerate(history):
        world = World(objects, room, decisions, commit=str(number + 1), memory=memory)
        plan = world.plan()
        assert world.plan(memo) == plan
        assert world.plan(memo) == plan
        decisions = world.after(plan).decisions


@settings(max_examples=40, deadline=None)
@given(repositories(), rooms)
def test_planning_twice_changes_nothing(objects: list[Body], room: dict[str, str | None]) -> None:
    world = World(objects, room)
    first = world.plan()
    after = world.after(first)
    # What runs is in the facts of a real fleet; here they stay, so only what was placed is asked to stand.
    second = after.plan()
    for one, binding in first.bindings.items():
        if binding.scheduled.condition is not None and binding.scheduled.condition.status:
            assert second.bindings[one].scheduled.shares == binding.scheduled.shares


@settings(max_examples=40, deadline=None)
@given(repositories(), known_rooms)
def test_no_room_is_given_away_twice(objects: list[Body], room: dict[str, str]) -> None:
    """All that is divided by room fits, whatever else takes room beside it."""
    by_room = {"dynamicWeight", "Aggregated"}
    divided = [one for one in objects if one["kind"] == "PropagationPolicy" and _mentions(one, by_room)]
    plan = World([*(one for one in objects if one["kind"] == "Deployment"), *divided], room).plan()
    for name, cpu in room.items():
        used = 0.0
        for binding in plan.bindings.values():
            asked = ((binding.requirements or {}).get("resourceRequest") or {}).get("cpu", "0")
            one = float(asked[:-1]) / 1000 if asked.endswith("m") else float(asked)
            share = binding.share_of(name)
            used += one * (share.replicas or 0) if share else 0
        assert used <= float(cpu)


def _mentions(body: Body, words: set[str]) -> bool:
    return any(word in json.dumps(body) for word in words)


@settings(max_examples=40, deadline=None)
@given(repositories(), known_rooms)
def test_an_unrelated_cluster_may_go(objects: list[Body], room: dict[str, str]) -> None:
    """What is divided stays where it is when a cluster leaves that it does not use."""
    world = World(objects, room)
    plan = world.plan()
    after = world.after(plan)
    used = {share.cluster for binding in plan.bindings.values() for share in binding.scheduled.shares}
    for gone in set(CLUSTERS) - used:
        less = replace(after, rooms={name: cpu for name, cpu in room.items() if name != gone}).plan()
        for one, binding in plan.bindings.items():
            divided = binding.scheduled.replicas is not None and binding.reasons.why.startswith("divided")
            if divided and binding.scheduled.condition is not None and binding.scheduled.condition.status:
                assert less.bindings[one].scheduled.shares == binding.scheduled.shares


def test_a_change_of_room_recomputes_only_what_goes_by_room() -> None:
    names = [f"app{index}" for index in range(20)]
    objects = [
        *(workload(name, 2) for name in names),
        policy("all", names[1:], DUPLICATED),
        policy("p", names[:1], DYNAMIC),
    ]
    world, memo = World(objects, {"a": "40", "b": "40"}), build.Memo()
    world = world.after(world.plan(memo))
    world.plan(memo)
    calm = replace(world, rooms={"a": "40", "b": "41"})
    calm.plan(memo)
    assert memo.recomputed == 0
    grown = replace(calm, objects=[workload(names[0], 5), *objects[1:]])
    grown.plan(memo)
    before = len(memo.schedules.by_room)
    replace(grown, rooms={"a": "42", "b": "41"}).plan(memo)
    assert (before, len(memo.schedules.by_room)) == (1, 1)


@settings(max_examples=40, deadline=None)
@given(repositories(), st.lists(st.tuples(rooms, st.booleans()), min_size=2, max_size=5))
def test_whatever_capacity_changes_an_incremental_build_equals_a_full_one(
    objects: list[Body], moments: list[tuple[dict[str, str | None], bool]]
) -> None:
    """One commit, other facts again and again, and sometimes what was decided is on record."""
    world, memo = World(objects, {}), build.Memo()
    for room, recorded in moments:
        world = replace(world, rooms=room, taken_at=NOW)
        plan = world.plan(memo)
        assert plan == world.plan()
        if recorded:
            world = world.after(plan)


@settings(max_examples=60, deadline=None)
@given(
    repositories(),
    st.lists(st.tuples(known_rooms, st.sets(st.sampled_from(CLUSTERS))), min_size=3, max_size=6),
)
def test_whatever_clusters_fail_and_come_back_an_incremental_build_equals_a_full_one(
    objects: list[Body], moments: list[tuple[dict[str, str], set[str]]]
) -> None:
    """Minutes apart, so that work leaves some of them in between; what was decided is on record each time."""
    world, memo = World(objects, {}), build.Memo()
    for number, (room, away) in enumerate(moments):
        facts = {name: replace(facts_of(name, cpu), reach=_reach(away=name in away)) for name, cpu in room.items()}
        now = NOW + timedelta(minutes=4 * number)
        world = replace(world, rooms=facts, taken_at=NOW, now=now)
        plan = world.plan(memo)
        assert plan == world.plan()
        world = world.after(plan)
        world = replace(world, decisions=replace(world.decisions, clusters=plan.records, outage=plan.outage))


def _reach(*, away: bool) -> Reach:
    return Reach.NOT_READY if away else Reach.READY


def test_where_a_cluster_fails_only_its_reason_is_another_one_for_what_is_elsewhere() -> None:
    objects = [
        workload("divided", 4), workload("copied", 1), workload("by-room", 2),
        policy("p-divided", ["divided"], DYNAMIC, placement={"clusterAffinity": {"clusterNames": ["a", "b"]}}),
        policy("p-copied", ["copied"], DUPLICATED, placement={"clusterAffinity": {"clusterNames": ["a"]}}),
        policy("p-by-room", ["by-room"], spread=spread("cluster 1-1")),
    ]  # fmt: skip
    names = ("divided", "copied", "by-room")
    world, memo = World(objects, {"a": "10", "b": "9", "c": "1"}), build.Memo()
    world = world.after(world.plan(memo))
    before = world.plan(memo)
    failed = replace(world, rooms={**world.rooms, "c": replace(facts_of("c", "1"), reach=Reach.NOT_READY)})
    after = failed.plan(memo)
    assert after == failed.plan()
    assert memo.recomputed == 0
    for name in names:
        assert of(after, name).decision is of(before, name).decision
        one, other = ({told.cluster: told for told in of(plan, name).reasons.rejections} for plan in (before, after))
        assert one.keys() == other.keys()
        assert {cluster for cluster in one if one[cluster] != other[cluster]} <= {"c"}
    # What filters by affinity says the same of `c`: the very same answer.
    assert [of(after, name) is of(before, name) for name in names] == [True, True, False]
    assert of(after, "by-room").with_rejections(()) == of(before, "by-room").with_rejections(())
    assert world.plan(memo) == before


def test_a_change_of_room_asks_again_only_for_what_may_use_that_cluster() -> None:
    """Both are too large, so both are asked for at every build; what fits in `a` did not change."""
    pinned = {name: {"clusterAffinity": {"clusterNames": [name]}} for name in ("a", "b")}
    objects = [
        workload("one", 9), workload("two", 9), workload("three", 2),
        policy("p-one", ["one"], DYNAMIC, placement=pinned["a"]),
        policy("p-two", ["two"], DYNAMIC, placement=pinned["b"]),
        policy("p-three", ["three"], AGGREGATED, placement=pinned["b"]),
    ]  # fmt: skip
    world, memo = World(objects, {"a": "5", "b": "5"}), build.Memo()
    world.plan(memo)
    answers = {question.asks: answer for question, answer in memo.schedules.by_room.items()}
    assert sorted(names for _, names in answers.values()) == [("a",), ("b",), ("b",)]
    replace(world, rooms={"a": "5", "b": "6"}).plan(memo)
    again = {question.asks: answer for question, answer in memo.schedules.by_room.items()}
    assert [again[one] is answers[one] for one in answers] == [names == ("a",) for _, names in answers.values()]


def test_what_takes_turns_is_not_answered_again_while_nothing_happens_to_its_room() -> None:
    objects = [workload("web", 2), workload("api", 2), policy("all", ["web", "api"], spread=spread("cluster 1-1"))]
    world, memo = World(objects, {"a": "10", "b": "9"}), build.Memo()
    world = world.after(world.plan(memo))
    before, later = world.plan(memo), replace(world, now=NOW + timedelta(hours=1))
    assert of(later.plan(memo), "web") is of(before, "web")
    fuller = replace(later, rooms={"a": "1", "b": "9"})
    plan = fuller.plan(memo)
    assert plan == fuller.plan()
    assert of(plan, "web") is of(before, "web")  # asked again, it says the same


def test_a_decision_of_unknown_age_is_read_as_it_is() -> None:
    """A binding that somebody else wrote has no time; it stands like any other."""
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": "9"})
    world = world.after(world.plan())
    decision: Decision = world.decisions.bindings[key("one")]
    bare = replace(world.decisions, bindings={key("one"): replace(decision, last_scheduled=None)})
    assert where(replace(world, decisions=bare, taken_at=NOW).plan(), "one") == "a=2"


def test_an_applied_placement_that_is_no_json_keeps_the_decision_and_is_written_anew() -> None:
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": "9", "b": "0"})
    world = world.after(world.plan())
    document = bindings.to_document(world.decisions.bindings[key("one")])
    document["metadata"]["annotations"][APPLIED_PLACEMENT] = "{"
    broken = replace(world.decisions, bindings={key("one"): bindings.from_document(document)})
    plan = replace(world, decisions=broken, rooms={"a": "0", "b": "9"}).plan()
    assert where(plan, "one") == "a=2"
    decision = of(plan, "one").decision
    assert decision is not None
    assert decision.placement == world.decisions.bindings[key("one")].placement


# -- quotas inside a cluster ---------------------------------------------------------------------------------------


def limited(cpu: str, quota_cpu: str, namespace: str = "shop") -> ClusterFacts:
    quotas = (QuotaFacts(namespace, "q", {"cpu": quota_cpu}, {}),)
    return ClusterFacts("a", resource_summary={"allocatable": {"cpu": cpu, "pods": "1000"}}, quotas=quotas)


def test_a_quota_inside_a_cluster_limits_what_fits_there() -> None:
    world = World([workload("one", 8), policy("p", ["one"], DYNAMIC)], {"a": limited("20", "2"), "b": "20"})
    assert where(world.plan(), "one") == "a=1 b=7"
    off = replace(world, gates={"ResourceQuotaEstimate": False})
    assert where(off.plan(), "one") == "a=4 b=4"
    other = replace(world, rooms={"a": limited("20", "2", "other"), "b": "20"})
    assert where(other.plan(), "one") == "a=4 b=4"


def test_two_workloads_share_the_quota_of_their_namespace() -> None:
    names = ["one", "two"]
    world = World(
        [*(workload(name, 4) for name in names), policy("p", names, AGGREGATED)], {"a": limited("20", "6"), "b": "9"}
    )
    plan = world.plan()
    assert (where(plan, "one"), where(plan, "two")) == ("b=4", "a=4")
    world = World([*(workload(name, 4) for name in names), policy("p", names, AGGREGATED)], {"a": limited("20", "6")})
    plan = world.plan()
    assert (where(plan, "one"), where(plan, "two")) == ("a=4", "")


def test_a_quota_that_changes_gives_another_answer_to_an_incremental_build() -> None:
    memo = build.Memo()
    world = World([workload("one", 8), policy("p", ["one"], DYNAMIC)], {"a": limited("20", "2"), "b": "20"})
    assert where(world.plan(memo), "one") == "a=1 b=7"
    assert where(replace(world, rooms={"a": limited("20", "20"), "b": "20"}).plan(memo), "one") == "a=4 b=4"
