"""While a gate holds a decision, the one before is in force: it is kept up like any other, and the next one shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.fleet import LiveObject, Reach
from gitfed.model.plan import Action, Plan
from gitfed.planning import build
from tests.e2e.world import deployment, policy
from tests.planning.stage import ONE, WEB, Stage
from tests.planning.tree import plan_of, read, settled

CONFIG = ObjectKey("", "ConfigMap", "shop", "web")
SPACE = ObjectKey("", "Namespace", "", "shop")
GRACEFUL = {"cluster": {"purgeMode": "Gracefully"}}


def names(*clusters: str) -> dict[str, Any]:
    return {"clusterAffinity": {"clusterNames": list(clusters)}}


def held(made: Stage, *, replicas: int = 10, to: dict[str, Any] | None = None, **spec: Any) -> Plan:
    """A move of all replicas, which no limit lets through."""
    made.files["web.json"] = deployment("web", replicas=replicas)
    made.files["policy.json"] = policy("web", None, placement=names("m2") if to is None else to, **spec)
    plan = made.turn()
    assert [one.name for one in plan.gates if one.held] == ["moved replicas"]
    assert made.where.startswith("m1=")
    return plan


def stage(clusters: int = 3, **more: Any) -> Stage:
    made = Stage(clusters, placement=names("m1"), replicas=10, **more)
    made.turn(2)
    return made


def lose(made: Stage, cluster: str) -> None:
    """It is there again without anything in it."""
    for copies in made.objects.values():
        copies.pop(cluster, None)


def acts(plan: Plan) -> list[tuple[str, str, str]]:
    return [
        (one.action.value, one.cluster, one.key.kind)
        for one in plan.changes or ()
        if one.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
    ]


def test_a_copy_that_is_lost_where_it_was_decided_is_made_again() -> None:
    made = stage()
    held(made)
    lose(made, "m1")
    assert acts(made.turn()) == [("create", "m1", "Namespace"), ("create", "m1", "Deployment")]
    assert made.copies == ["m1"]
    assert made.objects[SPACE].keys() >= {"m1"}


def test_what_somebody_changed_is_repaired() -> None:
    made = stage()
    held(made)
    copy = made.objects[WEB]["m1"]
    made.objects[WEB]["m1"] = LiveObject(
        WEB, "m1", "u", "8", ours=True, body={**made.bodies[WEB, "m1"], "spec": {}}, entry=copy.entry
    )
    assert acts(made.turn()) == [("update", "m1", "Deployment")]


def test_what_a_template_says_otherwise_goes_where_it_was_decided() -> None:
    made = stage()
    held(made)
    made.files["web.json"] = deployment("web", replicas=10, image="web:2")
    assert acts(made.turn()) == [("update", "m1", "Deployment")]
    body: Any = made.bodies[WEB, "m1"]
    assert body["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert acts(made.turn()) == []


@pytest.mark.parametrize("number", [9, 12])
def test_a_whole_copy_gets_the_number_that_its_template_says(number: int) -> None:
    made = stage()
    held(made)
    made.files["web.json"] = deployment("web", replicas=number)
    made.turn(2)
    assert made.where == f"m1={number}"
    assert made.objects[WEB]["m1"].entry is not None
    assert made.objects[WEB]["m1"].entry.replicas == number
    assert made.plan is not None
    assert made.plan.held_decisions[WEB].gate == "moved replicas"


def test_the_next_decision_is_shown_beside_the_one_in_force() -> None:
    plan = held(made := stage())
    waiting = plan.held_decisions[WEB]
    assert waiting.gate == "moved replicas"
    assert [share.cluster for share in waiting.binding.scheduled.shares] == ["m2"]
    assert [share.cluster for share in plan.bindings[WEB].scheduled.shares] == ["m1"]
    assert plan.wanted(WEB) is waiting.binding
    assert {(one.cluster, one.gate) for one in plan.changes or () if one.key == WEB} == {
        ("m1", "moved replicas"), ("m2", "moved replicas"),
    }  # fmt: skip
    assert plan.bindings[WEB].decision is made.decision


def test_nothing_is_written_down_while_a_decision_is_held() -> None:
    made = stage()
    before = made.decision
    held(made)
    made.turn(3)
    assert made.decision is before


def test_what_is_held_costs_nothing_while_nothing_happens() -> None:
    files = {"web.json": deployment("web", replicas=20), "p.json": policy("p", ["a"])}
    live, decisions = settled(files)
    repo, memo = read({**files, "p.json": policy("p", ["b"])}, "2"), build.Memo()
    for _ in range(2):
        plan = plan_of(repo, live, decisions, memo=memo)
    assert plan.held_decisions.keys() == {WEB}
    assert memo.recomputed == 0
    assert plan == plan_of(repo, live, decisions)


def test_the_digest_that_is_consented_to_does_not_depend_on_what_stands() -> None:
    made = stage()
    digest = held(made).digest
    assert made.turn().digest == digest


def test_what_it_refers_to_stays_with_it() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"}}
    body = json.loads(deployment("web", replicas=10))
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "web"}}]
    files = {"config.json": json.dumps(config), "web.json": json.dumps(body)}
    made = Stage(3, files, placement=names("m1"), failover=GRACEFUL)
    made.turn(3)
    made.files["policy.json"] = policy("web", None, placement=names("m2"), propagateDeps=True)
    plan = made.turn()
    assert plan.held_decisions.keys() == {WEB}
    lose(made, "m1")
    made.turn()
    assert sorted(made.objects[CONFIG]) == ["m1"]
    assert made.copies == ["m1"]


def test_an_eviction_that_began_before_comes_to_its_end() -> None:
    made = Stage(placement=ONE, replicas=10, failover=GRACEFUL)
    made.turn(2)
    made.fail("m1")
    for second in (30, 35, 335, 635):
        made.at(second).turn()
    assert (made.where, made.tasks) == ("m2=10", ["m1"])
    made.files["policy.json"] = policy("web", None, placement=names("m3"), failover=GRACEFUL)
    plan = made.at(636).turn()
    assert plan.held_decisions.keys() == {WEB}
    assert (made.where, made.tasks) == ("m2=10", [])
    made.at(700).recover("m1").turn(2)
    assert made.copies == ["m2"]


def test_state_that_a_failover_brought_stays_on_a_copy_that_cannot_be_decided() -> None:
    made = stage()
    before = replace(
        made.decision,
        failover=replace(made.decision.failover, injected=(("m1", (("state", "7"),)),)),
        scheduling_suspended=True,
    )
    made.decisions = replace(made.decisions, bindings={WEB: before})
    made.turn()
    assert made.labels("m1")["state"] == "7"


def test_a_move_between_clusters_that_nobody_can_read_is_held_too() -> None:
    made = stage()
    for name in made.names:
        made.reach[name] = Reach.NOT_READY
    made.files["policy.json"] = policy("web", None, placement={"clusterAffinity": {"clusterNames": ["m1"]}})
    made.turn()
    assert made.where == "m1=10"


def test_copies_withdrawn_from_clusters_that_nobody_can_read_count_as_deletions() -> None:
    """Else the decision would be on record when they can be read again, and there would be nothing left to count."""
    made = Stage(12, placement={}, replicas=2, guards={"maxMovedReplicasPercent": 100})
    made.turn(2)
    for name in made.names:
        made.reach[name] = Reach.UNKNOWN
    made.files["policy.json"] = policy("web", ["m1"])
    plan = made.turn()
    assert {one.name: one.value for one in plan.gates if one.held} == {"deletion percent": "46%"}
    assert plan.held_decisions[WEB].gate == "deletion percent"
    for name in made.names:
        made.reach[name] = Reach.READY
    made.turn(3)
    assert len(made.copies) == 12


def test_a_limit_that_held_moves_pass_holds_the_deletions_beside_them() -> None:
    """Twelve go: eight with their template, four because a policy leaves. Without the four, eight would be few."""
    files = {f"old-{n}.json": deployment(f"old-{n}", replicas=0) for n in range(4)}
    rule = json.loads(policy("old", ["m1", "m2"]))
    rule["spec"]["resourceSelectors"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"old-{n}"} for n in range(4)
    ]
    made = Stage(6, {**files, "old.json": json.dumps(rule)}, placement={}, replicas=1,
                 guards={"maxDeletions": 10, "maxDeletionPercent": 100, "maxMovedReplicasPercent": 100})  # fmt: skip
    made.turn(3)
    for path in files:
        del made.files[path]
    made.files["policy.json"] = policy("web", ["m1", "m2"])
    made.turn(3)
    assert len(made.copies) == 6
    assert all(len(copies) == 2 for key, copies in made.objects.items() if key.name.startswith("old-"))
