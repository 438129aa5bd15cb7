"""Status back: what became of the copies, and what that makes of their template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import BindingId, Body, Commit, ObjectKey, Origin
from gitfed.model.decisions import Decision, EvictionTask, FailoverState, PolicyRef, Scheduled, Share
from gitfed.model.fleet import ClusterLive, Health, InventoryEntry, LiveObject
from gitfed.model.plan import Binding
from gitfed.model.status import BindingStatus
from gitfed.planning import status
from gitfed.source import repo as source
from tests.e2e.world import deployment
from tests.planning.stage import WEB, Stage
from tests.planning.tree import Tree

POLICY = PolicyRef("PropagationPolicy", "shop", "web")
KEY = ObjectKey("apps", "Deployment", "shop", "web")
INTERPRETER = Interpreter((Native(),))
TEMPLATE: Body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
                  "spec": {"replicas": 3}}  # fmt: skip


def binding(*clusters: str, policy: PolicyRef | None = POLICY, decision: Decision | None = None) -> Binding:
    scheduled = Scheduled(tuple(Share(name, 3) for name in clusters), policy, replicas=3)
    return Binding(BindingId("b"), KEY, "apps/v1", Origin("web.yaml"), scheduled, decision=decision)


def live(cluster: str, *, available: int = 3, ours: bool = True) -> LiveObject:
    counts = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": available, "availableReplicas": available}
    body = {**TEMPLATE, "metadata": {**TEMPLATE["metadata"], "uid": "u", "resourceVersion": "5", "generation": 2},
            "status": {**counts, "observedGeneration": 2}}  # fmt: skip
    health = (Health.CURRENT, "fine") if available == 3 else (Health.IN_PROGRESS, f"{available} of 3 are available")
    return LiveObject(KEY, cluster, "u", "5", ours, body=body, health=health[0], health_message=health[1],
                      entry=InventoryEntry(KEY, "u", BindingId("b"), 3))  # fmt: skip


def of(
    one: Binding, copies: list[LiveObject], outstanding: Mapping[str, str] | None = None, unread: tuple[str, ...] = ()
) -> BindingStatus:
    clusters = {
        name: ClusterLive(name, inventory_read=name not in unread, error="no route" if name in unread else "")
        for name in ("a", "b", "c")
    }
    here = {copy.cluster: copy for copy in copies}
    asked = status.StatusQuery(one, TEMPLATE, here, outstanding or {})
    return status.of_all([asked], clusters, INTERPRETER, "2026-03-01T12:00:00Z", {})[0]


def test_every_copy_applied_is_a_success_and_their_statuses_are_added_up() -> None:
    found = of(binding("a", "b"), [live("a"), live("b", available=1)])
    assert found.fully_applied.as_json() == {
        "type": "FullyApplied", "status": "True", "reason": "FullyAppliedSuccess", "message": "every copy is applied",
    }  # fmt: skip
    assert [(copy.cluster, copy.applied, copy.health) for copy in found.copies] == [
        ("a", True, "Healthy"),
        ("b", True, "Unhealthy"),
    ]
    assert found.status == {
        "replicas": 6, "updatedReplicas": 6, "readyReplicas": 4, "availableReplicas": 4, "observedGeneration": 1,
    }  # fmt: skip
    assert (found.applied, found.healthy) == (2, 1)


def test_what_is_left_to_be_done_is_not_applied_and_says_how_it_runs_meanwhile() -> None:
    found = of(binding("a", "b"), [live("a"), live("b", available=2)], {"b": "waits for OverridePolicy/shop/eu"})
    item = found.copies[1].as_json()
    assert (item["applied"], item["appliedMessage"], item["health"]) == (
        False, "waits for OverridePolicy/shop/eu", "Unhealthy",
    )  # fmt: skip
    assert item["status"]["availableReplicas"] == 2
    assert found.fully_applied.reason == "FullyAppliedFailed"
    assert found.fully_applied.message == "1 of 2 copies are applied; b: waits for OverridePolicy/shop/eu"
    assert found.status is not None
    assert (found.status["replicas"], found.status["availableReplicas"]) == (6, 5)
    assert "observedGeneration" not in found.status
    assert (found.applied, found.healthy) == (1, 1)


def test_an_orphan_is_where_its_copies_are() -> None:
    one = binding(policy=None, decision=Decision(KEY, "apps/v1"))
    found = of(one, [live("a"), live("b", ours=False), live("c", available=0)])
    assert [(copy.cluster, copy.applied, copy.health) for copy in found.copies] == [
        ("a", True, "Healthy"), ("c", True, "Unhealthy"),
    ]  # fmt: skip
    assert found.fully_applied.status
    assert found.status is not None
    assert found.status["replicas"] == 6


def test_what_a_cluster_refused_is_told_by_whom_has_not_tried() -> None:
    stage = Stage(2, placement={"clusterAffinity": {"clusterNames": ["m1", "m2"]}})
    stage.turn()
    stage.files["web.json"] = deployment("web", replicas=2, image="nginx:2")
    plan = stage.build()
    said = {"clusterName": "m1", "applied": False, "appliedMessage": "denied by quota", "health": "Unknown"}
    past = replace(
        stage.decisions, applied_commit=plan.commit, unfinished={"m1": frozenset({str(WEB)})},
        statuses={WEB: {"aggregatedStatus": [said, {**said, "clusterName": "m2"}]}},
    )  # fmt: skip
    assert status.refusals(plan, past) == {("m1", WEB): "denied by quota"}
    assert status.refusals(plan, replace(past, applied_commit=Commit("2" * 40))) == {}
    snapshot = stage.snapshot().live
    assert snapshot is not None
    repo = source.read(Tree(stage.files, plan.commit))
    found = status.of_plan(plan, repo, snapshot, INTERPRETER, "now", status.refusals(plan, past))
    assert [copy.message for copy in found[WEB].copies] == ["denied by quota", "to be updated"]


def test_a_missing_copy_says_so() -> None:
    found = of(binding("a"), [])
    assert found.copies[0].message == "is not there"
    assert not found.fully_applied.status


def test_nowhere_is_not_applied() -> None:
    assert of(binding(), []).fully_applied.message == "it is placed nowhere"


def test_somebody_elses_object_is_not_a_copy() -> None:
    assert of(binding("a"), [live("a", ours=False)]).copies[0].message == "is there and not ours"


def test_a_cluster_that_cannot_be_read_keeps_what_was_known_with_unknown_health() -> None:
    found = of(binding("a"), [live("a")], unread=("a",))
    assert (found.copies[0].applied, found.copies[0].health, found.copies[0].health_message) == (
        True, "Unknown", "no route",
    )  # fmt: skip


def test_a_gracefully_evicted_object_is_expected_and_a_purged_one_is_not() -> None:
    tasks = (
        EvictionTask("b", {"fromCluster": "b", "purgeMode": "Gracefully"}),
        EvictionTask("c", {"fromCluster": "c", "purgeMode": "Directly"}),
    )
    one = binding("a", decision=Decision(KEY, "apps/v1", failover=FailoverState(evictions=tasks)))
    assert [copy.cluster for copy in of(one, [live("a"), live("b"), live("c")]).copies] == ["a", "b"]


def test_a_rule_that_fails_is_said_and_leaves_no_status() -> None:
    class Broken(Native):
        def answer(self, operation: Any, inputs: Any) -> Any:
            from gitfed.interpret.registry import InterpretError, Operation

            if operation is Operation.AGGREGATE:
                raise InterpretError("no such field")
            return super().answer(operation, inputs)

    clusters = {"a": ClusterLive("a", inventory_read=True)}
    asked = status.StatusQuery(binding("a"), TEMPLATE, {"a": live("a")}, {})
    (found,) = status.of_all([asked], clusters, Interpreter((Broken(),)), "now", {})
    assert (found.status, found.error) == (None, "no such field")
