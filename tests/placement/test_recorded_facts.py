"""What is believed of a cluster, what of it is written down and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.fleet import ApiEnablements, ClusterCondition, ClusterFacts, NodeFacts, QuotaFacts, Reach
from gitfed.placement import recorded_facts
from gitfed.placement.recorded_facts import Belief
from gitfed.text import quantity

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ready(reach: Reach = Reach.READY, status: str = "True", reason: str = "ClusterReady") -> ClusterFacts:
    return ClusterFacts("m1", reach, (ClusterCondition("Ready", status, reason, "", NOW),), ApiEnablements(frozenset()))


UP = ready()
DOWN = ready(Reach.NOT_READY, "False", "ClusterNotReachable")
SILENT = ready(Reach.UNKNOWN, "False", "ClusterNotReachable")


@pytest.mark.parametrize(
    ("looks", "published"),
    [
        pytest.param([(0, DOWN)], [DOWN], id="the first look counts at once"),
        pytest.param([(0, UP), (10, DOWN), (39, DOWN)], [UP, UP, UP], id="a failure is withheld"),
        pytest.param([(0, UP), (10, DOWN), (40, DOWN)], [UP, UP, DOWN], id="until it was seen for half a minute"),
        pytest.param(
            [(0, UP), (10, DOWN), (20, UP), (30, DOWN), (59, DOWN), (60, DOWN)], [UP, UP, UP, UP, UP, DOWN],
            id="a good look in between begins anew",
        ),
        pytest.param([(0, DOWN), (10, UP), (39, UP), (40, UP)], [DOWN, DOWN, DOWN, UP], id="so is a success"),
        pytest.param([(0, SILENT), (10, DOWN)], [SILENT, DOWN], id="from unknown to not ready at once"),
        pytest.param([(0, UP), (10, SILENT), (41, DOWN)], [UP, UP, DOWN], id="failures of two sorts are one"),
        pytest.param([(0, ClusterFacts("m1", Reach.UNKNOWN)), (1, UP)], [ClusterFacts("m1", Reach.UNKNOWN), UP],
                     id="no Ready condition yet"),
    ],
)  # fmt: skip
def test_when_a_change_is_believed(looks: list[tuple[float, ClusterFacts]], published: list[ClusterFacts]) -> None:
    belief: Belief | None = None
    found = []
    for when, seen in looks:
        belief = recorded_facts.believe(seen, belief, when)
        found.append(belief.facts)
    assert found == published


def test_thresholds_can_be_set() -> None:
    none = recorded_facts.Thresholds(failure=0, success=0)
    assert recorded_facts.believe(DOWN, Belief(UP), 5, none) == Belief(DOWN)


# -- when to look


@given(
    silent=st.lists(st.booleans(), max_size=30),
    every=st.floats(9, 11),
    threshold=st.sampled_from([30.0, 45.0, 60.0, 300.0]),
    begun=st.floats(0, 1000),
)
def test_a_cluster_that_stays_away_is_believed_to_be_away_when_its_time_is_over(
    silent: list[bool], every: float, threshold: float, begun: float
) -> None:
    """Whether a look is refused at once or ends with the time-out, also by turns before the last two."""
    longest, thresholds = 10.0, recorded_facts.Thresholds(threshold, threshold)
    answers = iter([*silent[: int(threshold / (every + longest)) - 1], *[all(silent)] * 100])
    now, belief = begun, recorded_facts.believe(DOWN, Belief(UP), begun, thresholds)
    while belief.facts is UP:
        now += recorded_facts.next_look(belief, now, every=every, longest=longest, thresholds=thresholds)
        now += longest if next(answers) else 0.0
        belief = recorded_facts.believe(DOWN, belief, now + 1e-6, thresholds)
    assert now - begun == pytest.approx(threshold, abs=1e-3)


def test_a_cluster_that_is_back_is_believed_to_be_when_its_time_is_over() -> None:
    now, belief, looks = 5.0, recorded_facts.believe(UP, Belief(DOWN), 5.0), []
    while belief.facts is DOWN:
        now += recorded_facts.next_look(belief, now, every=11.0, longest=10.0)
        looks.append(now)
        belief = recorded_facts.believe(UP, belief, now)
    assert looks == [16.0, 27.0, 35.0]


def test_who_has_no_doubt_looks_as_often_as_always() -> None:
    assert recorded_facts.next_look(None, 3, every=7.0, longest=10.0) == 7.0
    assert recorded_facts.next_look(Belief(UP), 3, every=7.0, longest=10.0) == 7.0


# -- when to write


def room(used: str, **more: Any) -> ClusterFacts:
    summary = {"allocatable": {"cpu": "100", "pods": "110"}, "allocated": {"cpu": used, "pods": "10"}, **more}
    return replace(UP, resource_summary=summary)


def due(known: ClusterFacts, seen: ClusterFacts, minutes: float | None = 5) -> bool:
    last = None if minutes is None else NOW - timedelta(minutes=minutes)
    return bool(recorded_facts.due({"m1": known}, {"m1": seen}, last_room=last, now=NOW))


def test_a_cluster_that_nobody_wrote_of_is_written_at_once() -> None:
    assert recorded_facts.due({}, {"m1": UP}, last_room=NOW, now=NOW) == {"m1": UP}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(DOWN, id="reach"),
        pytest.param(replace(UP, kubernetes_version="v2"), id="version"),
        pytest.param(replace(UP, apis=ApiEnablements(frozenset({("v1", "Pod")}))), id="APIs"),
        pytest.param(replace(UP, apis=ApiEnablements(frozenset(), complete=False)), id="completeness of APIs"),
        pytest.param(replace(UP, conditions=(*UP.conditions, ClusterCondition("X", "True"))), id="conditions"),
        pytest.param(room("10"), id="room that was not known"),
    ],
)
def test_what_a_cluster_is_and_serves_is_written_at_once(seen: ClusterFacts) -> None:
    assert due(UP, seen, minutes=0)


def test_another_message_or_time_of_a_condition_is_not_written() -> None:
    seen = replace(UP, conditions=(replace(UP.conditions[0], message="x", last_transition=NOW + timedelta(hours=1)),))
    assert not due(UP, seen)


@pytest.mark.parametrize(
    ("used", "more", "written"),
    [
        pytest.param("15", {}, False, id="five percent is not past five percent"),
        pytest.param("15001m", {}, True, id="a little more is"),
        pytest.param("5", {}, False, id="five less"),
        pytest.param("4", {}, True, id="six less"),
        pytest.param("10", {"allocating": {"cpu": "6"}}, True, id="what is waited for counts"),
        pytest.param("10", {"allocatable": {"cpu": "100", "pods": "110", "gpu": "1"}}, True, id="a new resource"),
        pytest.param("10", {"allocatable": {"cpu": "100"}}, True, id="a resource that went"),
        pytest.param("10", {"allocatableModelings": [{"grade": 1, "count": 1}]}, True, id="a node of a grade"),
    ],
)
def test_a_change_of_room_is_written_past_five_percent(used: str, more: dict[str, Any], written: bool) -> None:
    assert due(room("10"), room(used, **more)) is written


def test_room_that_runs_out_is_written_however_little_it_was() -> None:
    assert due(room("98"), room("100"))
    assert not due(room("97"), room("98"))


def test_room_is_written_every_five_minutes_at_most() -> None:
    assert not due(room("10"), room("50"), minutes=4.99)
    assert due(room("10"), room("50"), minutes=5)
    assert due(room("10"), room("50"), minutes=None)


def nodes(*found: NodeFacts) -> ClusterFacts:
    return replace(room("10"), nodes=found)


def a_node(name: str, used: str = "0", cpu: str = "4", **more: Any) -> NodeFacts:
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    return NodeFacts(name, {"cpu": cpu, "memory": "8Gi", "pods": "110"}, {"cpu": used}, labels, **more)


@pytest.mark.parametrize(
    ("after", "written"),
    [
        pytest.param(a_node("b", "100m"), False, id="a little less room on one of two"),
        pytest.param(a_node("b", "1"), True, id="much less"),
        pytest.param(a_node("c"), False, id="another name"),
        pytest.param(a_node("b", labels={"disk": "ssd"}), True, id="another label"),
        pytest.param(a_node("b", taints=({"key": "k", "effect": "NoSchedule"},)), True, id="a taint"),
        pytest.param(a_node("b", unschedulable=True), True, id="cordoned"),
    ],
)
def test_kinds_of_nodes_that_change_are_written(after: NodeFacts, written: bool) -> None:
    assert due(recorded_facts.written(nodes(a_node("a"), a_node("b"))), nodes(a_node("a"), after)) is written


@pytest.mark.parametrize(
    ("after", "written"),
    [
        pytest.param([("q", "10", "4500m")], False, id="five percent"),
        pytest.param([("q", "10", "4501m")], True, id="a little more"),
        pytest.param([("q", "12", "4")], True, id="another limit"),
        pytest.param([], True, id="it is gone"),
        pytest.param([("q", "10", "4"), ("r", "1", "0")], True, id="another quota"),
    ],
)
def test_a_quota_that_allows_more_or_less_is_written(after: list[tuple[str, str, str]], written: bool) -> None:
    def limited(found: list[tuple[str, str, str]]) -> ClusterFacts:
        quotas = tuple(QuotaFacts("shop", name, {"cpu": hard}, {"cpu": used}) for name, hard, used in found)
        return replace(room("10"), quotas=quotas)

    assert due(limited([("q", "10", "4")]), limited(after)) is written


def test_a_node_more_of_few_is_written_and_of_many_is_not() -> None:
    few = [a_node(f"n{number}") for number in range(4)]
    many = [a_node(f"n{number}") for number in range(40)]
    assert due(recorded_facts.written(nodes(*few)), nodes(*few, a_node("new")))
    assert not due(recorded_facts.written(nodes(*many)), nodes(*many, a_node("new")))


# -- the written form


def test_equal_nodes_become_one_class() -> None:
    found = recorded_facts.classes([a_node("a", "1"), a_node("b", "1"), a_node("c", "2"), a_node("d", "1")])
    assert sorted((one.name, one.count, one.requested["cpu"]) for one in found) == [("", 3, "1"), ("c", 1, "2")]
    assert {one.name: dict(one.labels) for one in found} == {"": {}, "c": {"kubernetes.io/hostname": "c"}}


def test_labels_that_only_tell_many_nodes_apart_are_left_out() -> None:
    (found,) = recorded_facts.classes(
        [a_node(f"n{number}", labels={"id": str(number), "zone": "a"}) for number in range(10)]
    )
    assert (found.labels, found.count) == ({"zone": "a"}, 10)


def test_few_nodes_are_written_exactly() -> None:
    found = recorded_facts.classes([a_node(f"n{number}", f"{number * 37}m") for number in range(100)])
    assert sorted(one.requested.get("cpu", "") for one in found) == sorted(f"{number * 37}m" for number in range(100))


USED = st.lists(st.integers(0, 4000), min_size=101, max_size=160, unique=True)


@given(USED)
def test_many_nodes_become_few_classes_that_promise_no_room_that_is_not_there(used: list[int]) -> None:
    found = recorded_facts.classes([a_node(f"n{number}", f"{milli}m") for number, milli in enumerate(used)])
    assert len(found) <= recorded_facts.MOST_CLASSES
    assert sum(one.count for one in found) == len(used)
    free = sorted(4000 - quantity.parse(one.requested.get("cpu", 0)).milli for one in found for _ in range(one.count))
    exact = sorted(4000 - milli for milli in used)
    assert all(told <= real for told, real in zip(free, exact, strict=True))
    assert all(told > real // 2 for told, real in zip(free, exact, strict=True) if real)


def test_of_many_nodes_those_with_almost_nothing_left_promise_no_more() -> None:
    left = range(160)
    nearly_full = [replace(a_node(f"n{free}"), requested={"memory": f"{8 * 2**30 - free}"}) for free in left]
    found = recorded_facts.classes(nearly_full)
    told = [
        8 * 2**30 - quantity.parse(one.requested["memory"]).milli // 1000 for one in found for _ in range(one.count)
    ]
    assert all(0 <= free <= real for free, real in zip(sorted(told), left, strict=True))


@given(st.permutations([a_node(f"n{number}", f"{number % 3}") for number in range(7)]))
def test_the_order_of_nodes_does_not_matter(found: list[NodeFacts]) -> None:
    assert {(one.count, tuple(one.requested.items())) for one in recorded_facts.classes(found)} == {
        (3, (("cpu", "0"),)), (2, (("cpu", "1"),)), (2, (("cpu", "2"),)),
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4000), st.sampled_from(["a", "b"])), max_size=150))
def test_what_was_just_written_is_not_due(found: list[tuple[int, str]]) -> None:
    seen = nodes(*(a_node(f"n{i}", f"{milli}m", labels={"zone": zone}) for i, (milli, zone) in enumerate(found)))
    assert recorded_facts.due({"m1": recorded_facts.written(seen)}, {"m1": seen}, last_room=None, now=NOW) == {}
