"""What nodes offer and pods ask for, in sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model import capacity
from gitfed.model.base import Body
from gitfed.model.capacity import Owner
from gitfed.model.declared.cluster import usual_models


def node(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": more.pop("labels", {})},
        "spec": more.pop("spec", {}),
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **more}},
    }


def pod(*cpus: str, on: str = "", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [asking(cpu) for cpu in cpus], **({"nodeName": on} if on else {}), **spec},
        "status": {"phase": phase},
    }


def asking(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


def tally(nodes: list[dict[str, Any]], pods: Sequence[dict[str, Any]] = ()) -> capacity.Tally:
    found = capacity.Tally()
    found.all_nodes(capacity.node_of(body) for body in nodes)
    found.all_pods((str(number), capacity.pod_of(body)) for number, body in enumerate(pods))
    return found


def test_the_summary_adds_up_nodes_and_pods() -> None:
    nodes = [node("n1"), node("n2", spec={"unschedulable": True})]
    pods = [
        pod("500m", "250m", on="n1"),
        pod("1", on="n2", overhead={"cpu": "100m", "memory": "64Mi"}),
        pod("3", on="n1", phase="Succeeded"),
        pod("2", phase="Pending"),
        pod("2", phase="Failed"),
    ]
    assert tally(nodes, pods).summary() == {
        "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "220"},
        "allocated": {"cpu": "1850m", "memory": "64Mi", "pods": "2"},
        "allocating": {"cpu": "4", "pods": "2"},
    }


def test_an_empty_cluster_offers_nothing() -> None:
    assert tally([]).summary(usual_models())["allocatable"] == {}


def test_an_init_container_only_lifts_a_whole_sum() -> None:
    pods = [pod("1", on="n1"), pod("1", on="n1", initContainers=[asking("1500m")])]
    assert tally([node("n1")], pods).summary()["allocated"]["cpu"] == "2"
    assert tally([node("n1")], pods[1:]).summary()["allocated"]["cpu"] == "1500m"


@pytest.mark.parametrize(
    ("body", "cpu"),
    [
        pytest.param(pod("1", "500m"), 1500, id="containers run side by side"),
        pytest.param(pod("1", initContainers=[asking("3"), asking("2")]), 3000, id="starting needs more"),
        pytest.param(
            pod("1", initContainers=[asking("500m", restartPolicy="Always")]), 1500, id="a sidecar stays"
        ),
        pytest.param(
            pod("1", initContainers=[asking("2"), asking("500m", restartPolicy="Always")]), 2000, id="a late sidecar"
        ),
        pytest.param(
            pod("1", initContainers=[asking("500m", restartPolicy="Always"), asking("2")]), 2500, id="an early sidecar"
        ),
        pytest.param(pod("1", overhead={"cpu": "100m"}), 1100, id="overhead"),
        pytest.param(pod("1", resources={"requests": {"cpu": "3"}}), 3000, id="the pod says it as a whole"),
        pytest.param(
            pod("1", resources={"requests": {"cpu": "3"}}, overhead={"cpu": "100m"}), 3100, id="and overhead on top"
        ),
        pytest.param(pod("huge"), 0, id="what cannot be read asks for nothing"),
    ],
)  # fmt: skip
def test_what_the_scheduler_of_a_cluster_keeps_free_for_a_pod(body: dict[str, Any], cpu: int) -> None:
    assert dict(capacity.pod_of(body).needs).get("cpu", 0) == cpu * 10**6


@pytest.mark.parametrize(
    ("cpu", "memory", "grade"),
    [
        ("1", "4Gi", 1), ("999m", "100Gi", 0), ("3", "17Gi", 2), ("4", "31Gi", 2), ("7900m", "63Gi", 3),
        ("8", "64Gi", 4), ("200", "5Gi", 1), ("128", "1024Gi", 8), ("500m", "64Gi", 0), ("3", "8Gi", 1),
        ("16", "128Gi", 5), ("200", "2Ti", 8),
    ],
)  # fmt: skip
def test_the_grade_of_a_node(cpu: str, memory: str, grade: int) -> None:
    found = tally([node("n1", cpu, memory)]).summary(usual_models())["allocatableModelings"]
    assert found == [{"grade": number, "count": int(number == grade)} for number in range(9)]


def test_the_grade_is_that_of_what_is_left() -> None:
    used = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    body = {"spec": {"containers": [used], "nodeName": "n1"}}
    graded = tally([node("n1", "8", "64Gi")], [body]).summary(usual_models())["allocatableModelings"]
    assert [item["count"] for item in graded] == [0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_node_where_more_is_promised_than_there_is_has_no_grade() -> None:
    graded = tally([node("n1", "1")], [pod("1100m", on="n1")]).summary(usual_models())["allocatableModelings"]
    assert sum(item["count"] for item in graded) == 0


@pytest.mark.parametrize("full", [0, 1, 2])
def test_a_node_without_pod_slots_is_left_out_and_no_other_for_it(full: int) -> None:
    nodes = [node(f"n{number}", pods="1") for number in range(3)]
    graded = tally(nodes, [pod("1", on=f"n{full}")]).summary(usual_models())["allocatableModelings"]
    assert sum(item["count"] for item in graded) == 2


def test_a_node_tells_what_is_offered_and_asked_for() -> None:
    body = node("n1", labels={"disk": "ssd"}, spec={"taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "x"}]})
    body["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    (found,) = tally([body], [pod("1", on="n1"), pod("1", on="gone")]).nodes()
    assert found.requested == {"cpu": "1", "pods": "1"}
    assert found.allocatable == {"cpu": "4", "memory": "8Gi", "pods": "110"}
    assert (found.labels, found.taints) == ({"disk": "ssd"}, ({"key": "k", "effect": "NoSchedule"},))
    assert (found.ready, found.unschedulable, found.count) == (True, False, 1)


def test_what_changes_nothing_says_so() -> None:
    found = tally([node("n1")], [pod("1", on="n1")])
    assert not found.put_node(capacity.node_of(node("n1")))
    assert not found.put_pod("0", capacity.pod_of(pod("1", on="n1")))
    assert not found.drop_pod("1")
    assert not found.drop_node("n2")
    assert found.put_pod("0", capacity.pod_of(pod("2", on="n1")))


NODES = st.builds(
    node,
    st.sampled_from(["n1", "n2", "n3"]),
    cpu=st.sampled_from(["1", "1500m", "4"]),
    memory=st.sampled_from(["8Gi", "1000M"]),
)
PODS = st.builds(
    pod,
    st.sampled_from(["0", "100m", "1"]),
    on=st.sampled_from(["", "n1", "n2", "n3"]),
    phase=st.sampled_from(["Running", "Pending", "Failed"]),
    initContainers=st.sampled_from([[], [asking("2")]]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), NODES),
        st.tuples(st.just("no node"), st.sampled_from(["n1", "n2", "n3"])),
        st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.one_of(st.none(), PODS)),
    )
)


@given(STEPS)
def test_sums_kept_step_by_step_equal_sums_made_at_once(steps: list[tuple[str, Any]]) -> None:
    followed = capacity.Tally()
    nodes: dict[str, capacity.Node] = {}
    pods: dict[str, capacity.Pod] = {}
    for what, value in steps:
        if what == "node":
            one = capacity.node_of(value)
            nodes[one.name] = one
            followed.put_node(one)
        elif what == "no node":
            nodes.pop(value, None)
            followed.drop_node(value)
        elif value is None:
            pods.pop(what, None)
            followed.drop_pod(what)
        else:
            pods[what] = capacity.pod_of(value)
            followed.put_pod(what, pods[what])
    whole = capacity.Tally()
    whole.all_nodes(nodes.values())
    whole.all_pods(pods.items())
    assert followed.summary(usual_models()) == whole.summary(usual_models())
    assert followed.nodes() == whole.nodes()
    again = capacity.Tally()
    again.all_nodes([capacity.node_of(node("other"))])
    again.all_pods([("other", capacity.pod_of(pod("1", on="other")))])
    again.all_nodes(nodes.values())
    again.all_pods(pods.items())
    assert again.summary(usual_models()) == whole.summary(usual_models())


def waiting(since: object, *, owner: str = "web-1", reason: str = "Unschedulable", **metadata: str) -> Body:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "lastTransitionTime": since}
    owners = [{"kind": "ReplicaSet", "name": owner}]
    return {
        "metadata": {"namespace": "shop", "ownerReferences": owners, **metadata},
        "status": {"conditions": [condition]},
    }


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(waiting("2026-03-01T11:59:59Z"), {Owner("shop", "web-1"): 1}, id="it waits for long"),
        pytest.param(waiting("2026-03-01T12:00:00Z"), {}, id="not for long enough"),
        pytest.param(waiting("2026-03-01T11:00:00Z", reason="SchedulingGated"), {}, id="for something else"),
        pytest.param(waiting("2026-03-01T11:00:00Z", deletionTimestamp="now"), {}, id="it is being deleted"),
        pytest.param(waiting("soon"), {}, id="nobody knows since when"),
        pytest.param(waiting(None), {}, id="nobody says since when"),
        pytest.param({**waiting("2026-03-01T11:00:00Z"), "spec": {"nodeName": "n1"}}, {}, id="it has a node after all"),
        pytest.param({"metadata": {"namespace": "shop"}}, {}, id="nobody owns it"),
    ],
)
def test_pods_that_no_node_was_found_for_are_counted_by_their_replica_set(
    body: Body, found: Mapping[Owner, int]
) -> None:
    tally = capacity.Tally()
    tally.put_pod("1", capacity.pod_of(body))
    assert tally.unschedulable(NOON) == found
    tally.put_pod("1", capacity.pod_of({"spec": {"nodeName": "n1"}}))
    assert tally.unschedulable(NOON) == {}


def test_waiting_pods_that_are_deleted_do_not_count_any_more() -> None:
    tally = capacity.Tally()
    for uid in ("1", "2"):
        tally.put_pod(uid, capacity.pod_of(waiting("2026-03-01T11:00:00Z")))
    assert tally.unschedulable(NOON) == {Owner("shop", "web-1"): 2}
    tally.drop_pod("1")
    assert tally.unschedulable(NOON) == {Owner("shop", "web-1"): 1}
    tally.all_pods([])
    assert tally.unschedulable(NOON) == {}
