"""Numbers and facts that make no sense: a clear word, never a traceback, never a silent empty placement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.interpret.registry import Interpreter, Operation, OperationInputs, Replicas
from gitfed.model.base import Body
from gitfed.model.decisions import Share
from gitfed.model.fleet import ClusterFacts
from tests.placement.reference import AGGREGATED, DIVIDED, DIVISIONS, DUPLICATED, DYNAMIC, spread
from tests.planning.capacity_world import World, of, policy, said, where, workload


def told(plan: Any, name: str = "one") -> tuple[str, str]:
    condition = of(plan, name).scheduled.condition
    assert condition is not None
    assert not condition.status
    return condition.reason, condition.message


@dataclass
class Counts:
    """An interpreter that says of every Deployment that it asks for so many replicas, whatever its file says."""

    replicas: int
    name = "test"

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return operation is Operation.REPLICA

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        return Replicas(self.replicas, {"resourceRequest": {"cpu": "1"}})


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (-1, "spec.replicas is -1, it must be at least 0"),
        (2**31, "spec.replicas is 2147483648, it must be at most 2147483647"),
        (2**63, "spec.replicas is 9223372036854775808, it must be at most 2147483647"),
    ],
)
def test_a_count_that_no_server_takes_is_an_error_of_its_file(count: int, message: str) -> None:
    plan = World([workload("one", count), policy("p", ["one"])], {"a": "9"}, faulty=True).plan()
    assert message in said(plan)


@pytest.mark.parametrize("how", [DUPLICATED, DIVIDED, DYNAMIC, AGGREGATED])
def test_fewer_than_no_replicas_are_refused_and_what_runs_stays(how: dict[str, Any]) -> None:
    world = World([workload("one", 4), policy("p", ["one"], how)], {"a": "9"})
    world = world.after(world.plan())
    plan = replace(world, interpreter=Interpreter((Counts(-1),))).plan()
    assert told(plan) == ("SchedulerError", "-1 replicas are asked for")
    assert "Deployment.apps/shop/one: -1 replicas are asked for" in said(plan)
    assert of(plan, "one").scheduled.shares == (Share("a", 4),)


@pytest.mark.parametrize("how", [DUPLICATED, DIVIDED])
@pytest.mark.parametrize("count", [2**40, 2**63, 2**70])
def test_replicas_beyond_all_measure_leave_no_room_for_others(how: dict[str, Any], count: int) -> None:
    class OfOne(Counts):
        def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
            return (
                super()
                .answer(operation, inputs)
                ._replace(replicas=self.replicas if inputs.object["metadata"]["name"] == "all" else 1)
            )

    objects = [workload("all", 1), policy("all", ["all"], how), workload("one", 1), policy("one", ["one"], DYNAMIC)]
    plan = World(objects, {"a": "9"}, interpreter=Interpreter((OfOne(count),))).plan()
    assert where(plan, "all") == f"a={count}"
    assert told(plan)[0] == "Unschedulable"


def test_replicas_beyond_all_measure_are_divided_in_no_time() -> None:
    count = 2**31
    beyond = Interpreter((Counts(count),))
    weights = {"staticWeightList": [{"targetCluster": {"clusterNames": ["a"]}, "weight": 2**63 - 1},
                                    {"targetCluster": {"clusterNames": ["b"]}, "weight": 1}]}  # fmt: skip
    objects = [workload("one", 1), policy("p", ["one"], {**DIVIDED, "weightPreference": weights})]
    assert where(World(objects, {"a": "1", "b": "1"}, interpreter=beyond).plan(), "one") == f"a={count}"
    by_room = World([workload("one", 1), policy("p", ["one"], DYNAMIC)], {"a": "1", "b": "1"}, interpreter=beyond)
    assert told(by_room.plan()) == (
        "Unschedulable",
        "failed to assign replicas: failed to scale up: Clusters available replicas 2 are not enough to schedule.",
    )


def test_an_amount_that_is_none_is_said() -> None:
    plan = World([workload("one", 2, "plenty"), policy("p", ["one"], DYNAMIC)], {"a": "9"}).plan()
    assert told(plan) == ("SchedulerError", "'plenty' is no quantity (examples: 500m, 2, 1.5Gi)")


def test_spreading_over_more_than_there_is_is_said() -> None:
    wanted = policy("p", ["one"], DYNAMIC, spread=spread("region 5-5, cluster 5-5"))
    plan = World([workload("one", 2), wanted], {"a": "9"}).plan()
    assert told(plan) == (
        "SchedulerError",
        "failed to select clusters: the number of feasible region is less than spreadConstraint.MinGroups",
    )


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param({"clusterNames": ["nobody"]}, id="an unknown cluster"),
        pytest.param({"clusterNames": ["a"], "exclude": ["a"]}, id="wanted and excluded"),
        pytest.param(
            {"labelSelector": {"matchLabels": {"env": "x"}, "matchExpressions": [
                {"key": "env", "operator": "DoesNotExist"}]}},
            id="a label that must be there and must not",
        ),
    ],
)  # fmt: skip
def test_clusters_that_do_not_exist_and_contradicting_affinities_leave_none(
    affinity: dict[str, Any],
) -> None:
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": "9"})
    objects = [workload("one", 2), policy("p", ["one"], DYNAMIC, placement={"clusterAffinity": affinity})]
    message = "0/1 clusters are available: 1 cluster(s) did not match the placement cluster affinity constraint."
    assert told(replace(world, objects=objects).plan()) == ("NoClusterFit", message)
    # What runs already stays, and that is said.
    after = replace(world.after(world.plan()), objects=objects)
    plan = after.plan()
    assert (told(plan), where(plan, "one")) == (("NoClusterFit", message), "a=2")
    assert [problem.hint for problem in plan.problems if message in problem.message] == ["its copies stay in a"]


@pytest.mark.parametrize("weight", [1, 2**31, 2**63 - 1])
def test_weights_of_any_size_divide_exactly(weight: int) -> None:
    listed = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name in ("a", "b")]
    wanted = policy("p", ["one"], {**DIVIDED, "weightPreference": {"staticWeightList": listed}})
    assert where(World([workload("one", 7), wanted], {"a": "1", "b": "1"}).plan(), "one") == "a=4 b=3"


def broken(summary: Any, name: str = "a") -> ClusterFacts:
    return ClusterFacts(name, resource_summary=summary)


@pytest.mark.parametrize(
    "summary",
    [
        {"allocatable": {"cpu": "much", "pods": "9"}},
        {"allocatable": ["cpu"]},
        {"allocatable": {"pods": {}}},
        {"allocatable": {"cpu": "9", "pods": "9"}, "allocatableModelings": [{"grade": "small", "count": 1}]},
        {"allocatable": {"cpu": "9", "pods": "9"}, "allocatableModelings": ["grade"]},
    ],
)
def test_facts_that_cannot_be_read_are_not_known(summary: Any) -> None:
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": broken(summary), "b": "9"})
    assert told(world.plan()) == ("SchedulerError", "the room in a is not known")


def test_less_than_nothing_allocatable_is_no_room() -> None:
    negative = broken({"allocatable": {"cpu": "-5", "pods": "9"}, "allocated": {"cpu": "3"}})
    world = World([workload("one", 2), policy("p", ["one"], DYNAMIC)], {"a": negative, "b": "9"})
    assert where(world.plan(), "one") == "b=2"


def test_a_huge_selector_is_read() -> None:
    names = [f"c{number}" for number in range(5_000)]
    affinity = {"clusterAffinity": {"clusterNames": [*names, "a"], "exclude": names}}
    plan = World([workload("one", 2), policy("p", ["one"], DYNAMIC, placement=affinity)], {"a": "9", "b": "9"}).plan()
    assert where(plan, "one") == "a=2"


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "1", "x", "1Gi", "-4"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cpu", "pods", "key", "operator", "nodeSelectorTerms", "grade"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None)
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("allocatable", "allocated", "allocatableModelings"), junk)),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("nodeSelector", "affinity", "tolerations"), junk)),
    st.sampled_from(sorted(DIVISIONS)),
)
def test_no_facts_and_no_pod_break_the_plan(summary: Body, pod: Body, how: str) -> None:
    one = dict(workload("one", 2))
    spec = one["spec"]["template"]["spec"]
    one = {**one, "spec": {**one["spec"], "template": {"spec": {**spec, **pod}}}}
    world = World(
        [one, workload("two", 1), policy("p", ["one", "two"], DIVISIONS[how])], {"a": broken(summary), "b": "9"}
    )
    plan = world.plan()
    binding = of(plan, "one")
    assert binding.scheduled.condition is not None
    assert binding.scheduled.shares or not binding.scheduled.condition.status
