"""What ResourceQuotas inside a cluster allow (Karmada: scheduling §5.3; Kubernetes: quota scopes)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model import allowance as cut
from gitfed.model.base import Body
from gitfed.model.fleet import QuotaFacts
from gitfed.placement.capacity import allowance, estimate
from gitfed.placement.capacity.allowance import Allowances, Limit, Space
from gitfed.placement.capacity.estimate import Capacity, Estimate

SHOP = Space("shop")
NONE = Limit(allowance.MOST)
GPU = "nvidia.com/gpu"


def quota(name: str = "q", hard: dict[str, Any] | None = None, used: dict[str, Any] | None = None, **spec: Any) -> Body:
    hard = {"cpu": "10"} if hard is None else hard
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used or {}},
    }


def facts(*bodies: Body) -> tuple[QuotaFacts, ...]:
    return tuple(found for body in bodies if (found := cut.of(body)) is not None)


def asks(**amounts: str) -> Body:
    return {"resourceRequest": amounts}


def priority(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("quotas", "one", "limit"),
    [
        pytest.param([quota(used={"cpu": "4"})], asks(cpu="2"), Limit(3, "q", "cpu"), id="what is left"),
        pytest.param([quota(hard={"requests.cpu": "10"})], asks(cpu="3"), Limit(3, "q", "cpu"), id="as requests.cpu"),
        pytest.param([quota(hard={"limits.cpu": "1"})], asks(cpu="3"), NONE, id="not limits"),
        pytest.param([quota(hard={f"requests.{GPU}": "4"})], asks(**{GPU: "2"}), Limit(2, "q", GPU), id="extended"),
        pytest.param([quota(used={"cpu": "12"})], asks(cpu="1"), Limit(0, "q", "cpu"), id="too much in use"),
        pytest.param([quota(hard={"memory": "1Gi"})], asks(cpu="1"), NONE, id="what is not asked for"),
        pytest.param([quota("a"), quota("b", hard={"cpu": "3"})], asks(cpu="1"), Limit(3, "b", "cpu"), id="least"),
        pytest.param([quota(hard={"cpu": "500m"})], asks(cpu="200m"), Limit(2, "q", "cpu"), id="thousandths"),
        pytest.param([quota(scopes=["BestEffort"])], asks(cpu="1"), NONE, id="other scopes do not count"),
        pytest.param([quota(hard={"cpu": "many"})], asks(cpu="1"), NONE, id="a limit that cannot be read"),
        pytest.param([], asks(cpu="1"), NONE, id="no quota"),
        pytest.param([quota()], None, NONE, id="nothing is asked for"),
    ],
)  # fmt: skip
def test_a_quota_limits_what_its_namespace_may_ask_for(quotas: list[Body], one: Body | None, limit: Limit) -> None:
    assert allowance.limit(facts(*quotas), SHOP, allowance.of_replica(one)) == limit


def test_other_namespaces_are_not_limited() -> None:
    assert allowance.limit(facts(quota()), Space("other"), allowance.of_replica(asks(cpu="1"))) == NONE


@pytest.mark.parametrize(
    ("scope", "name", "counts"),
    [
        (priority("In", "high", "low"), "high", True),
        (priority("In", "high"), "", False),
        (priority("NotIn", "high"), "low", True),
        (priority("NotIn", "high"), "high", False),
        (priority("NotIn", "high"), "", True),
        (priority("Exists"), "low", True),
        (priority("Exists"), "", False),
        (priority("DoesNotExist"), "", True),
        (priority("DoesNotExist"), "low", False),
        (priority("Gt", "1"), "low", False),
    ],
)
def test_a_quota_of_priority_classes_counts_for_pods_of_these(scope: dict[str, Any], name: str, counts: bool) -> None:
    found = facts(quota(scopeSelector=scope))
    assert bool(allowance.limit(found, Space("shop", name), allowance.of_replica(asks(cpu="1"))).quota) is counts


def test_the_plain_scope_asks_for_any_class() -> None:
    (found,) = facts(quota(scopes=["PriorityClass"]))
    assert found.classes == (("Exists", ()),)


def test_of_two_names_for_one_resource_the_smaller_limit_holds() -> None:
    (found,) = facts(quota(hard={"cpu": "8", "requests.cpu": "5"}, used={"cpu": "1", "requests.cpu": "1"}))
    assert (found.hard, found.used) == ({"cpu": "5"}, {"cpu": "1"})


def test_sets_of_components_are_counted_whole() -> None:
    parts = (
        {"replicas": 1, "replicaRequirements": asks(cpu="1")},
        {"replicas": 2, "replicaRequirements": asks(cpu="2")},
    )
    assert allowance.limit(facts(quota(hard={"cpu": "14"})), SHOP, parts) == Limit(2, "q", "cpu")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"spec": {"template": {"spec": {"priorityClassName": "high"}}}}, "high"),
        ({"spec": {"priorityClassName": "high"}}, "high"),
        ({"spec": {"priorityClassName": "policy", "template": {"spec": {}}}}, ""),
        ({"spec": {"priorityClassName": 7}}, ""),
        ({"data": {}}, ""),
    ],
)
def test_the_priority_class_is_that_of_the_pods(body: Body, name: str) -> None:
    assert allowance.space_of(body, "shop") == Space("shop", name)


def test_it_is_one_more_estimator_and_the_smallest_answer_counts() -> None:
    capacity = Capacity({"allocatable": {"cpu": "9", "pods": "100"}}, {}, quotas=facts(quota(used={"cpu": "7"})))
    assert estimate.estimates(capacity, asks(cpu="1"), SHOP) == (
        Estimate("resource summary", 9, "cpu"),
        Estimate("quota shop/q", 3, "cpu"),
    )
    assert estimate.room(capacity, asks(cpu="1"), SHOP) == 3
    assert estimate.room(capacity, asks(cpu="1")) == 9
    assert estimate.room(Capacity(None, {}, quotas=capacity.quotas), asks(cpu="1"), SHOP) is None


def test_what_is_placed_is_gone_for_the_next() -> None:
    left = Allowances({"a": facts(quota()), "b": ()})
    before = left.copy()
    left.take(SHOP, allowance.of_replica(asks(cpu="2")), {"a": 3, "b": 1})
    room = {"a": 100, "b": 100, "c": None}
    assert left.limit(room, SHOP, allowance.of_replica(asks(cpu="1"))) == {"a": 4, "b": 100, "c": None}
    assert before.limit(room, SHOP, allowance.of_replica(asks(cpu="1"))) == {"a": 10, "b": 100, "c": None}
    assert (left.cover(SHOP), left.cover(Space("other"))) == (True, False)


@given(hard=st.integers(0, 50), used=st.integers(0, 60), placed=st.integers(0, 20), cpu=st.integers(1, 5))
def test_what_was_placed_within_the_limit_never_exceeds_it(hard: int, used: int, placed: int, cpu: int) -> None:
    one = allowance.of_replica(asks(cpu=str(cpu)))
    left = Allowances({"a": facts(quota(hard={"cpu": str(hard)}, used={"cpu": str(used)}))})
    room = left.limit({"a": 1000}, SHOP, one)["a"]
    assert room is not None
    given_ = min(placed, room)
    left.take(SHOP, one, {"a": given_})
    assert used + given_ * cpu <= max(hard, used)
    assert left.limit({"a": 1000}, SHOP, one)["a"] == max(0, hard - used - given_ * cpu) // cpu
