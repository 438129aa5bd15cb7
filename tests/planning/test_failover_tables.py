"""The tables of the reference (Karmada: failover §2), row by row, where the timelines of `test_failover` pass them by.

| Table | Where |
|---|---|
| §2 taints at once by the Ready condition | here |
| §2.2 the five steps of v1.3 | `test_failover`: timelines |
| §2.3 ClusterTaintPolicy | here, and `test_failover` |
| §2.3 taints against tolerations | `placement/test_tolerate`; what lies in the past here |
| §2.4 both timelines | `test_failover`, with detection in `daemon/test_rehearsal` and `daemon/test_facts` |
| §2.5 tasks | `test_failover` for one target; several targets, and health that nobody knows, here |
| §2.6 application failover | `test_failover` |
| §2.7 values by path | here, and the vectors of `conformance/jsonpath` |
| §2.7 injection | `test_failover`: state |
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitfed.documents import facts
from gitfed.model.decisions import EvictionTask
from gitfed.placement.scheduling.cluster import candidate
from gitfed.text import jsonpath
from tests.e2e.world import cluster
from tests.planning.stage import WEB, Stage

# -- §2: by the Ready condition ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "taint"),
    [
        (None, ["cluster.karmada.io/not-ready:NoSchedule"]),
        ("False", ["cluster.karmada.io/not-ready:NoSchedule"]),
        ("Unknown", ["cluster.karmada.io/unreachable:NoSchedule"]),
        ("True", []),
    ],
)
@pytest.mark.parametrize("before", ["not-ready", "unreachable"])
def test_the_ready_condition_closes_a_cluster_at_once(ready: str | None, taint: list[str], before: str) -> None:
    """Karmada's own document, status and all; whatever taint of that kind it had is replaced."""
    conditions = [{"type": "CompleteAPIEnablements", "status": "True"}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": ready})
    document = {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
        "spec": {"syncMode": "Push", "taints": [{"key": f"cluster.karmada.io/{before}", "effect": "NoSchedule"}]},
        "status": {"conditions": conditions, "kubernetesVersion": "v1.33.0"},
    }  # fmt: skip
    assert [str(one) for one in candidate(None, facts.from_document(document)).taints] == taint


# -- §2.3: policies and tolerations --------------------------------------------------------------------------------


def rule(name: str = "rule", *, add: Any = (), remove: Any = (), value: str = "", clusters: Any = None) -> str:
    def conditions(listed: Any) -> list[dict[str, Any]]:
        return [{"conditionType": kind, "operator": how, "statusValues": values} for kind, how, values in listed]

    target = {"targetClusters": {"clusterNames": clusters}} if clusters else {}
    return json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": name},
            "spec": {**target, "addOnConditions": conditions(add), "removeOnConditions": conditions(remove),
                     "taints": [{"key": "dead", "effect": "NoExecute", **({"value": value} if value else {})}]},
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("add", "tainted"),
    [
        ([], False),
        ([("Ready", "In", ["True"])], True),
        ([("Ready", "In", ["False", "Unknown"])], False),
        ([("Ready", "NotIn", ["False"])], True),
        ([("Ready", "NotIn", ["True"])], False),
        ([("Absent", "In", ["True"])], False),
        ([("Absent", "NotIn", ["True"])], False),
        ([("Ready", "In", ["True"]), ("Disk", "In", ["False"])], True),
        ([("Ready", "In", ["True"]), ("Disk", "In", ["Unknown"])], False),
    ],
    ids=str,
)
def test_when_the_conditions_of_a_taint_policy_hold(add: Any, tainted: bool) -> None:
    stage = Stage(files={"rule.json": rule(add=add)})
    stage.more["m1"] = {"Disk": "False"}
    stage.turn()
    assert (stage.taints("m1") == ["dead:NoExecute"]) is tainted


def test_an_existing_taint_keeps_its_value_and_stays_on_a_former_target() -> None:
    ready = [("Ready", "In", ["True"])]
    stage = Stage(files={"a.json": rule("a", add=ready, value="first"), "b.json": rule("b", add=ready, value="second")})
    stage.turn()
    assert stage.taints("m1") == ["dead=first:NoExecute"]
    stage.files["a.json"] = rule("a", add=ready, value="other")
    stage.at(10).turn()
    assert stage.taints("m1") == ["dead=first:NoExecute"]
    stage.files |= {"a.json": rule("a", add=ready, clusters=["m2"]), "b.json": rule("b", add=ready, clusters=["m2"])}
    stage.at(20).turn()
    assert stage.taints("m1") == ["dead=first:NoExecute"]


def test_of_one_policy_adding_comes_before_removing() -> None:
    ready = [("Ready", "In", ["True"])]
    stage = Stage(files={"rule.json": rule(add=ready, remove=ready)})
    stage.turn()
    assert (stage.taints("m1"), stage.tasks) == ([], [])


def test_a_taint_of_a_policy_is_borne_as_long_as_the_placement_tolerates_it() -> None:
    """The second timeline of §2.4: "immediately unless the placement tolerates"."""
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    tolerations = [{"key": "dead", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]
    stage = Stage(
        files={"rule.json": rule(add=[("Ready", "In", ["False", "Unknown"])])},
        placement={**one, "clusterTolerations": tolerations},
    )
    stage.turn()
    stage.at(35).fail("m1").turn()
    assert (stage.taints("m1"), stage.tasks, stage.due()) == (["dead:NoExecute"], [], 95)
    stage.at(94).turn()
    assert stage.tasks == []
    stage.at(95).turn()
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])


@pytest.mark.parametrize(("added", "leaves"), [("11:59:00", 240), ("11:54:00", 0)])
def test_a_toleration_counts_from_the_time_of_the_taint(added: str, leaves: int) -> None:
    """Five minutes of toleration, a taint of one or six minutes ago."""
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    tolerations = [{"key": "t1", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    stage = Stage(placement={**one, "clusterTolerations": tolerations})
    stage.turn()
    taint = {"key": "t1", "effect": "NoExecute", "timeAdded": f"2026-03-01T{added}Z"}
    stage.files["clusters/m1.json"] = cluster("m1", taints=[taint])
    stage.turn()
    if leaves:
        assert (stage.tasks, stage.due()) == ([], leaves)
        stage.at(leaves).turn()
    assert (stage.where, stage.tasks) == ("m2=2", ["m1"])


# -- §2.5: tasks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slow", "healthy", "kept"),
    [
        (set(), {}, False),
        (set(), {"m1": None}, False),
        ({"m1"}, {}, True),
        ({"m2"}, {}, True),
        (set(), {"m2": False}, True),
    ],
    ids=["all are healthy", "no rule knows its health, and it is up", "one is not up", "the other one", "one is ill"],
)
def test_a_task_is_over_when_every_target_is_healthy(
    slow: set[str], healthy: dict[str, bool | None], kept: bool
) -> None:
    two = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}
    stage = Stage(placement=two)
    stage.turn()
    assert stage.where == "m1=2 m2=2"
    leaving(stage)
    stage.slow, stage.healthy = slow, healthy
    stage.at(5).turn()
    assert (stage.tasks == ["m3"]) is kept


def test_a_task_is_not_over_because_of_copies_of_a_placement_that_is_not_decided_yet() -> None:
    """The reference: the scheduler is behind by one generation. Here: what is wanted could not be placed."""
    stage = Stage(placement={"clusterAffinity": {"clusterNames": ["m1"]}})
    stage.turn()
    leaving(stage)
    stage.fail("m1")
    stage.at(5).turn()
    assert stage.tasks == ["m3"]


def test_a_copy_that_was_never_seen_is_not_healthy() -> None:
    stage = Stage()
    stage.turn()
    leaving(stage)
    stage.objects[WEB].clear()
    stage.refusing.add("m1")
    stage.at(5).turn()
    assert stage.tasks == ["m3"]


def leaving(stage: Stage) -> None:
    """There is a task to leave m3, made when the clock began."""
    raw = {"fromCluster": "m3", "reason": "TaintUntolerated", "creationTimestamp": "2026-03-01T12:00:00Z"}
    decision = replace(stage.decision, failover=replace(stage.decision.failover, evictions=(EvictionTask("m3", raw),)))
    stage.decisions = replace(stage.decisions, bindings={**stage.decisions.bindings, WEB: decision})


# -- §2.7: values by path --------------------------------------------------------------------------------------------

STATUS = {"jobStatus": {"jobID": "5f3"}, "replicas": 3, "n": 1234567, "l": ["a", "b"], "z": None, "o": [{"k": "x"}]}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{ .jobStatus.jobID }", "5f3"),
        ("{.jobStatus.jobID}", "5f3"),
        ("{$.jobStatus.jobID}", "5f3"),
        ("{..jobID}", "5f3"),
        ("job-{.jobStatus.jobID}", "job-5f3"),
        ("{.replicas}", "3"),
        ("{.n}", "1234567"),
        ("{.z}", "null"),
        ('{.o[?(@.k=="q")].k}', ""),
    ],
)
def test_a_value_by_its_path(template: str, value: str) -> None:
    """`{.n}` is ours: the reference prints a float, which is no label value."""
    assert jsonpath.label_value(template, STATUS) == value


@pytest.mark.parametrize(
    "template", [".jobStatus.jobID", "{.l}", "{.l[*]}", "{.status.replicas}", "{.missing}", "{.l[5]}"]
)
def test_what_is_no_label_value_or_not_there_is_an_error(template: str) -> None:
    """The first three are handed on by the reference, and the copy in the new cluster is then refused."""
    with pytest.raises(jsonpath.JsonPathError):
        jsonpath.label_value(template, STATUS)
