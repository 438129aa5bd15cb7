from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import Commit
from gitfed.planning.review import events


def binding(clusters: dict[str, int | None], *, scheduled: tuple[str, str] | None = ("True", ""),
            copies: dict[str, str] | None = None, tasks: tuple[str, ...] = ()) -> dict[str, Any]:  # fmt: skip
    """`copies`: by cluster why it is not applied, "" when it is."""
    listed = [{"name": name} | ({} if count is None else {"replicas": count}) for name, count in clusters.items()]
    evictions = [{"fromCluster": name, "reason": "TaintUntolerated", "producer": "TaintManager"} for name in tasks]
    status: dict[str, Any] = {
        "aggregatedStatus": [
            {"clusterName": name, "applied": not why} | ({"appliedMessage": why} if why else {})
            for name, why in (copies or {}).items()
        ]
    }
    if scheduled:
        status["conditions"] = [{"type": "Scheduled", "status": scheduled[0], "reason": "x", "message": scheduled[1]}]
    return {"spec": {"clusters": listed, "gracefulEvictionTasks": evictions}, "status": status}


def said(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    return [(one.type, one.reason, one.message) for one in events.between(before, after)]


def test_a_placement_is_told_with_its_shares() -> None:
    after = binding({"eu-1": 6, "us-1": 4})
    assert said(None, after) == [("Normal", "ScheduleBindingSucceed", "placed on eu-1=6, us-1=4")]
    assert said(after, binding({"us-1": None})) == [("Normal", "ScheduleBindingSucceed", "placed on us-1")]
    assert said(after, after) == []


def test_a_refusal_is_told_once_for_each_reason() -> None:
    no = binding({}, scheduled=("False", "0/3 clusters are available"))
    assert said(None, no) == [("Warning", "ScheduleBindingFailed", "0/3 clusters are available")]
    assert said(no, no) == []
    assert said(no, binding({}, scheduled=("False", "0/4 clusters are available"))) == [
        ("Warning", "ScheduleBindingFailed", "0/4 clusters are available")
    ]


def test_an_eviction_is_told_when_it_begins() -> None:
    begun = binding({"b": 1}, tasks=("a",))
    assert said(binding({"b": 1}), begun) == [
        ("Normal", "EvictWorkloadFromClusterSucceed", "leaves a: TaintUntolerated by TaintManager")
    ]
    assert said(begun, begun) == []


def test_a_copy_is_told_when_it_is_written_and_when_it_cannot_be() -> None:
    waits = binding({"a": 1, "b": 1}, copies={"a": "", "b": "conflict"})
    assert said(binding({"a": 1, "b": 1}), waits) == [
        ("Normal", "SyncSucceed", "applied in a"),
        ("Warning", "SyncFailed", "not applied in b: conflict"),
    ]
    assert said(waits, binding({"a": 1, "b": 1}, copies={"a": "", "b": ""})) == [
        ("Normal", "SyncSucceed", "applied in b")
    ]
    assert said(waits, waits) == []
    assert said(waits, binding({"a": 1, "b": 1}, copies={"a": "", "b": "quota"})) == [
        ("Warning", "SyncFailed", "not applied in b: quota")
    ]


@given(st.recursive(st.none() | st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | (
    st.dictionaries(st.sampled_from(["spec", "status", "clusters", "conditions", "type", "name"]), inner)
)).filter(lambda one: isinstance(one, dict)))  # fmt: skip
def test_a_record_that_was_edited_by_hand_is_no_trouble(document: dict[str, Any]) -> None:
    assert isinstance(list(events.between(document, document)), list)
    assert [one.reason for one in events.between(document, None)] == ["BindingRemoved"]


def test_a_binding_that_ends_is_told() -> None:
    assert said(binding({"eu-1": 6}), None) == [("Normal", "BindingRemoved", "gone from every cluster")]
    assert said(None, None) == []


def cronjob(image: str, schedule: str = "@daily") -> dict[str, Any]:
    pod = {
        "spec": {"initContainers": [{"name": "wait", "image": "w:1"}], "containers": [{"name": "a", "image": image}]}
    }
    return {"kind": "CronJob", "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": pod}}}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (cronjob("a:1"), cronjob("a:2"), "TemplateChanged: by 1234567: a a:1 → a:2"),
        (cronjob("a:1"), cronjob("a:1", "@hourly"), "TemplateChanged: by 1234567"),
        ({"kind": "ConfigMap", "data": {}}, {"kind": "ConfigMap", "data": {"a": "b"}}, "TemplateChanged: by 1234567"),
        (cronjob("a:1"), None, "TemplateRemoved: 1234567 has it no more"),
        (cronjob("a:1"), cronjob("a:1"), None),
        (None, cronjob("a:1"), None),
        ({"spec": {"containers": "x"}}, {"spec": {"containers": [7, {"image": ""}]}}, "TemplateChanged: by 1234567"),
    ],
)
def test_what_a_commit_did_to_a_template_is_told(before: Any, after: Any, told: str | None) -> None:
    found = events.template_between(before, after, Commit("1234567890"))
    assert (f"{found.reason}: {found.message}" if found else None) == told


def test_what_begins_to_be_held_is_told_of_its_cluster() -> None:
    before = {"clusters": {"m1": {"outcome": "applied"}, "m2": {"outcome": "held", "held": {"gate deletions": 3}}}}
    after = {"clusters": {"m1": {"outcome": "held", "held": {"gate deletions": 20, "suspended": 1}},
                          "m2": {"outcome": "held", "held": {"gate deletions": 3}}}}  # fmt: skip
    assert [(one.type, one.reason, one.cluster, one.message) for one in events.held_between(before, after)] == [
        ("Warning", "ChangesHeld", "m1", "held in m1: 20 by gate deletions, 1 suspended"),
    ]
    assert list(events.held_between(after, after)) == []


def test_what_people_order_is_told_of_what_they_named() -> None:
    at = "2026-08-22T10:04:00+00:00"
    web = {"of": "Deployment.apps/shop/web", "by": "ann", "at": at, "reason": "somebody debugs it"}
    m1 = {"of": "cluster/m1", "by": "bob", "at": at}
    quiet = {"of": "all", "by": "ann", "at": at, "scheduling": True}
    again = {"of": "Deployment.apps/shop/web", "by": "bob", "at": at}

    def told(before: Any, after: Any) -> list[tuple[str, str, str, str, str]]:
        return [(of, x.type, x.reason, x.cluster, x.message) for of, x in events.ordered_between(before, after)]

    before, after = {"suspensions": [m1]}, {"suspensions": [m1, web, quiet], "reconciliations": [again]}
    assert told(before, after) == [
        ("Deployment.apps/shop/web", "Warning", "Suspended", "", "suspended by ann: somebody debugs it"),
        ("all", "Warning", "Suspended", "", "scheduling suspended by ann"),
        ("Deployment.apps/shop/web", "Normal", "ReconcileOrdered", "", "to be looked at anew, by bob"),
    ]
    assert told(after, {"suspensions": [web]}) == [
        ("cluster/m1", "Normal", "Resumed", "m1", "resumed, it was suspended by bob"),
        ("all", "Normal", "Resumed", "", "scheduling resumed, it was suspended by ann"),
    ]
    assert told({"suspensions": [web]}, {"suspensions": [{**web, "reason": "still"}]}) == [
        ("Deployment.apps/shop/web", "Warning", "Suspended", "", "suspended by ann: still"),
    ]
    assert told(after, after) == []
    assert told({}, {"suspensions": 7, "reconciliations": [7]}) == []


@pytest.mark.parametrize("broken", [None, {}, {"clusters": 7}, {"clusters": {"m1": [], "m2": {"held": "x"}}}])
def test_a_state_that_was_edited_by_hand_tells_nothing_of_what_is_held(broken: Any) -> None:
    assert list(events.held_between({}, broken)) == []
