"""The plan as a whole: what every decision rests on must hold for any repository, fleet and history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.interpret import readiness
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, InterpretError, NoAnswer, Operation, OperationInputs, Replicas
from gitfed.model.base import Commit, Kind, ObjectKey
from gitfed.model.decisions import Decision, Decisions, Share
from gitfed.model.fleet import (
    ApiEnablements,
    ClusterFacts,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    Health,
    InventoryEntry,
    LiveObject,
    LiveState,
    Reach,
)
from gitfed.model.operator_orders import Approval
from gitfed.model.plan import Action
from gitfed.model.repo import Possible, UnreadFile
from gitfed.planning import build
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, config_map, deployment, policy
from tests.e2e.world import settings as federation
from tests.planning.tree import (
    CLUSTERS,
    INTERPRETER,
    NOW,
    WEB,
    WEB_KEY,
    Tree,
    acts,
    carried_out,
    decided,
    empty,
    fleet,
    plan_of,
    read,
    settled,
)

# -- any repository -------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["web", "cache", "db", "mail"])
TARGETS = st.lists(st.sampled_from(CLUSTERS), min_size=1, unique=True)


@st.composite
def repositories(draw: st.DrawFn) -> dict[str, str]:
    files: dict[str, str] = {}
    for name in draw(st.lists(NAMES, unique=True)):
        files[f"apps/{name}.json"] = deployment(
            name, replicas=draw(st.integers(0, 7)), image=draw(st.sampled_from(["x:1", "x:2"]))
        )
    for name in draw(st.lists(NAMES, unique=True)):
        files[f"conf/{name}.json"] = config_map(name, {"k": draw(st.sampled_from(["1", "2"]))})
    for index in range(draw(st.integers(0, 3))):
        kinds = draw(st.sampled_from([(("apps/v1", "Deployment"),), (("v1", "ConfigMap"),)]))
        placement = draw(st.sampled_from([{}, {"replicaScheduling": {"replicaSchedulingType": "Divided"}}]))
        files[f"policies/{index}.json"] = policy(f"p{index}", draw(TARGETS), kinds, placement=placement)
    if draw(st.booleans()):
        files["override.json"] = orjson.dumps(
            {
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "o"},
                "spec": {"overrideRules": [{"targetCluster": {"clusterNames": draw(TARGETS)}, "overriders": {
                    "labelsOverrider": [{"operator": "add", "value": {"where": "there"}}]}}]},
            }
        ).decode()  # fmt: skip
    return files


@given(repositories(), st.integers())
def test_the_order_of_files_never_matters(files: dict[str, str], seed: int) -> None:
    assert plan_of(read(files), empty()) == plan_of(read(files, shuffled=seed), empty())


@given(repositories())
def test_planning_against_the_plans_own_result_gives_no_change(files: dict[str, str]) -> None:
    repo = read(files)
    first = plan_of(repo, empty())
    decisions = decided(first, Decisions(repository_id="r"))
    for bodies in (True, False):
        again = plan_of(repo, carried_out(first, empty(), bodies=bodies), decisions)
        assert acts(again) == []
        assert all(binding.decision is decisions.bindings.get(key) for key, binding in again.bindings.items())


@given(st.lists(repositories(), min_size=2, max_size=5), st.data())
@settings(max_examples=60)
def test_an_incremental_build_equals_a_full_one(history: list[dict[str, str]], data: st.DataObject) -> None:
    memo, now = build.Memo(), NOW
    live, decisions = empty(), Decisions(repository_id="r")
    for number, files in enumerate(history):
        repo = read(files, str(number + 1))
        health = data.draw(st.sampled_from([Health.CURRENT, Health.IN_PROGRESS]))
        bodies = data.draw(st.booleans())
        for _ in range(2):
            now += timedelta(seconds=1)
            warm = plan_of(repo, live, decisions, now, memo=memo)
            assert warm == plan_of(repo, live, decisions, now)
            live = carried_out(warm, live, health=health, bodies=bodies)
            decisions = decided(warm, decisions)


@given(repositories(), repositories(), st.data())
def test_nothing_outside_our_inventory_is_ever_deleted(
    before: dict[str, str], after: dict[str, str], data: st.DataObject
) -> None:
    live = carried_out(plan_of(read(before), empty()), empty())
    spoiled: dict[ObjectKey, dict[str, LiveObject]] = {}
    for key, copies in live.objects.items():
        for name, copy in copies.items():
            fate = data.draw(st.sampled_from(["ours", "label only", "entry only", "neither"]))
            changed = {
                "ours": copy,
                "label only": replace(copy, ours=False, entry=None),
                "entry only": replace(copy, ours=False),
                "neither": replace(copy, ours=False, entry=None),
            }[fate]
            spoiled.setdefault(key, {})[name] = changed
    unreadable = data.draw(st.sampled_from([None, *CLUSTERS]))
    clusters = {name: ClusterLive(name, inventory_read=name != unreadable) for name in CLUSTERS}
    plan = plan_of(read(after, "2"), LiveState(clusters, spoiled))
    for change in plan.changes or ():
        if change.action is Action.DELETE:
            assert change.live is not None
            assert change.live.ours
            assert change.cluster != unreadable


@given(repositories())
def test_an_incomplete_snapshot_prunes_nothing(files: dict[str, str]) -> None:
    live = carried_out(plan_of(read(files), empty()), empty())
    plan = plan_of(replace(read({}, "2"), unread=(UnreadFile("a.yaml", "", (Possible(),)),)), live)
    assert not [change for change in plan.changes or () if change.action is Action.DELETE]


@given(repositories())
def test_replicas_are_conserved_by_division(files: dict[str, str]) -> None:
    for binding in plan_of(read(files)).bindings.values():
        divided = binding.decision and (binding.decision.placement or {}).get("replicaScheduling")
        if (
            divided
            and binding.scheduled.condition
            and binding.scheduled.condition.status
            and binding.scheduled.replicas
        ):
            assert sum(share.replicas or 0 for share in binding.scheduled.shares) == binding.scheduled.replicas


# -- single rules ---------------------------------------------------------------------------------------------------


def test_only_what_a_change_touches_is_computed_again() -> None:
    files = {**{f"d{n}.json": deployment(f"d{n}") for n in range(50)}, "p.json": policy("p", CLUSTERS)}
    memo, memory = build.Memo(), ReadCache()
    tree = {"gitfed.json": federation()} | {f"clusters/{name}.json": cluster(name) for name in CLUSTERS} | files
    repo = source.read(Tree(tree, Commit("1" * 40)), memory=memory)
    first = plan_of(repo, empty(), memo=memo)
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    plan_of(repo, live, decisions, memo=memo)
    changed = source.read(Tree({**tree, "d7.json": deployment("d7", image="x:9")}, Commit("2" * 40)), memory=memory)
    decisions = replace(decisions, applied_commit=Commit("1" * 40))
    plan_of(repo, live, decisions, memo=memo)
    plan = plan_of(changed, live, replace(decisions), memo=memo)
    assert acts(plan) == [("update", name, "d7") for name in CLUSTERS]
    assert memo.recomputed == 1


def test_a_move_waits_for_its_replacement_to_be_healthy() -> None:
    live, decisions = settled(WEB)
    moved = read({**WEB, "p.json": policy("p", ["b"])}, "2")
    first = plan_of(moved, live, decisions)
    assert acts(first) == [("create", "b", "shop"), ("create", "b", "web")]
    kept = [change for change in first.changes or () if change.action is Action.KEEP and change.key == WEB_KEY]
    assert [(change.cluster, str(change.reason)) for change in kept] == [("a", "move: stays until b is healthy")]
    decisions = decided(first, decisions)
    sick = plan_of(moved, carried_out(first, live, health=Health.IN_PROGRESS), decisions)
    assert acts(sick) == []
    well = plan_of(moved, carried_out(first, live), decisions)
    assert acts(well) == [("delete", "a", "web")]
    assert (well.totals.move, well.totals.delete) == (1, 0)
    left = [change for change in well.changes or () if change.action is Action.KEEP]
    assert [(change.cluster, change.key.kind) for change in left] == [("a", "Namespace")]


def test_what_somebody_else_has_under_that_name_is_no_replacement() -> None:
    """Else a move to where the name is taken would leave the workload nowhere."""
    live, decisions = settled(WEB)
    theirs = replace(live.objects[WEB_KEY]["a"], cluster="b", uid="theirs", ours=False, entry=None,
                     body=orjson.loads(deployment("web")))  # fmt: skip
    live = LiveState(live.clusters, {**live.objects, WEB_KEY: {**live.objects[WEB_KEY], "b": theirs}})
    plan = plan_of(read({**WEB, "p.json": policy("p", ["b"])}, "2"), live, decisions)
    said = [(one.cluster, one.action.value, str(one.reason)) for one in plan.changes or () if one.key == WEB_KEY]
    assert said == [
        ("b", "skip", "exists and is not ours: set work.karmada.io/conflict-resolution: overwrite on the template to "
         "adopt it"),
        ("a", "keep", "move: stays until b is healthy"),
    ]  # fmt: skip


def test_no_fitting_cluster_keeps_the_copies_and_says_so() -> None:
    live, decisions = settled(WEB)
    nowhere = plan_of(read({**WEB, "p.json": policy("p", ["nowhere"])}, "2"), live, decisions)
    assert acts(nowhere) == []
    assert [share.cluster for share in nowhere.bindings[WEB_KEY].scheduled.shares] == ["a"]
    said = [problem for problem in nowhere.problems if "0/3 clusters are available" in problem.message]
    assert said[0].hint == "its copies stay in a"


def test_an_orphan_stays_and_is_reported() -> None:
    live, decisions = settled(WEB)
    plan = plan_of(read({"web.json": WEB["web.json"]}, "2"), live, decisions)
    orphans = [change for change in plan.changes or () if change.key == WEB_KEY]
    assert [(change.action, str(change.reason)) for change in orphans] == [
        (Action.KEEP, "orphaned: no policy selects its template any more")
    ]


def test_a_removed_template_leaves_its_clusters_unless_it_is_protected() -> None:
    live, decisions = settled(WEB)
    gone = read({"p.json": WEB["p.json"]}, "2")
    assert acts(plan_of(gone, live, decisions)) == [("delete", "a", "web")]
    protected = {
        key: {name: replace(copy, protected=True) for name, copy in copies.items()}
        for key, copies in live.objects.items()
    }
    plan = plan_of(gone, replace(live, objects=protected), decisions)
    assert acts(plan) == []
    preserved = {
        key: replace(one, ownership=replace(one.ownership, preserve=True)) for key, one in decisions.bindings.items()
    }
    assert acts(plan_of(gone, live, replace(decisions, bindings=preserved))) == []


def test_a_namespace_goes_with_its_file_when_nothing_that_we_see_is_left_in_it() -> None:
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}).decode()
    inside = {"c.json": config_map("c", {}, namespace="team"),
              "p.json": policy("p", ["a"], (("v1", "ConfigMap"),), namespace="team")}  # fmt: skip
    live, decisions = settled({"ns.json": body, **inside})
    plan = plan_of(read({}, "2"), live, decisions)
    assert acts(plan) == [("delete", "a", "c"), ("delete", "b", "team"), ("delete", "c", "team")]
    kept = [str(change.reason) for change in plan.changes or () if change.action is Action.KEEP]
    assert kept == ["stays until ConfigMap/team/c has left it"]


def test_a_namespace_that_does_not_go_says_what_is_left_in_it() -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    live, decisions = settled({"ns.json": orjson.dumps(body).decode()})
    left = {"type": "NamespaceFinalizersRemaining", "status": "True",
            "message": "Some content has finalizers remaining: kubernetes.io/pvc-protection in 1 instance"}  # fmt: skip
    marked = {**body, "metadata": {"name": "team", "deletionTimestamp": "2026-03-01T11:00:00Z"},
              "status": {"phase": "Terminating", "conditions": [left]}}  # fmt: skip
    health, message = readiness.readiness(marked)
    key = ObjectKey("", "Namespace", "", "team")
    held = replace(live.objects[key]["a"], body=marked, health=health, health_message=message,
                   deletion_held=readiness.is_held(marked))  # fmt: skip
    plan = plan_of(read({}, "2"), LiveState(live.clusters, {key: {"a": held}}), decisions)
    assert [(change.cluster, change.action, str(change.reason)) for change in plan.changes or ()] == [
        ("a", Action.KEEP, "being deleted, waits for what is in it (Some content has finalizers remaining: "
         "kubernetes.io/pvc-protection in 1 instance)")
    ]  # fmt: skip


def test_what_holds_a_deletion_is_told_by_the_object_and_not_by_words() -> None:
    """An object that only says it waits is about to go: nobody has to be told."""
    live, decisions = settled({"ns.json": '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}'})
    key = ObjectKey("", "Namespace", "", "team")
    going = replace(live.objects[key]["a"], health=Health.TERMINATING, health_message="being deleted, waits for nobody")
    for held, kept in ((False, []), (True, [Action.KEEP])):
        seen = LiveState(live.clusters, {key: {"a": replace(going, deletion_held=held)}})
        assert [one.action for one in plan_of(read({}, "2"), seen, decisions).changes or ()] == kept


def test_a_namespace_that_no_file_declares_is_made_where_its_content_goes() -> None:
    plan = plan_of(read(WEB), empty())
    assert acts(plan) == [("create", "a", "shop"), ("create", "a", "web")]


def test_what_was_not_observed_is_neither_created_nor_deleted() -> None:
    clusters = {**empty().clusters, "a": ClusterLive("a", inventory_read=False, error="connection refused")}
    plan = plan_of(read(WEB), LiveState(clusters, {}))
    assert acts(plan) == []
    assert {str(change.reason) for change in plan.changes or ()} == {"not observed: the cluster could not be read"}
    unread = {**empty().clusters, "a": ClusterLive("a", True, unread=frozenset({Kind("apps", "Deployment")}))}
    plan = plan_of(read(WEB), LiveState(unread, {}))
    assert acts(plan) == [("create", "a", "shop")]


def test_what_could_not_be_looked_up_is_not_taken_for_absent() -> None:
    unlooked = {**empty().clusters, "a": ClusterLive("a", True, unlooked=frozenset({WEB_KEY}))}
    plan = plan_of(read(WEB), LiveState(unlooked, {}))
    assert acts(plan) == [("create", "a", "shop")]
    (left,) = [change for change in plan.changes or () if change.key == WEB_KEY]
    assert (left.action, str(left.reason)) == (Action.SKIP, "not observed: it could not be looked up")


def test_an_object_of_somebody_else_is_adopted_only_when_asked() -> None:
    theirs = LiveObject(WEB_KEY, "a", "x", "3", ours=False, body={"metadata": {}})
    live = replace(empty(), objects={WEB_KEY: {"a": theirs}})
    plan = plan_of(read(WEB), live)
    assert ("create", "a", "web") not in acts(plan)
    assert ("update", "a", "web") not in acts(plan)
    asked = plan_of(read({**WEB, "p.json": policy("p", ["a"], conflictResolution="Overwrite")}), live)
    change = next(change for change in asked.changes or () if change.key == WEB_KEY)
    assert (change.action, change.write.adopt) == (Action.UPDATE, True)


def test_our_intention_alone_does_not_make_an_object_ours() -> None:
    entry = InventoryEntry(WEB_KEY, "", plan_of(read(WEB)).bindings[WEB_KEY].id)
    theirs = LiveObject(WEB_KEY, "a", "x", "3", ours=False, body={"metadata": {}}, entry=entry)
    plan = plan_of(read(WEB), replace(empty(), objects={WEB_KEY: {"a": theirs}}))
    change = next(change for change in plan.changes or () if change.key == WEB_KEY)
    assert change.action is Action.SKIP


def drifted(live: LiveState) -> LiveState:
    copy = live.objects[WEB_KEY]["a"]
    assert copy.body is not None
    spec = {**copy.body["spec"], "replicas": 9}
    return replace(live, objects={**live.objects, WEB_KEY: {"a": replace(copy, body={**copy.body, "spec": spec})}})


def test_drift_is_repaired_or_only_shown() -> None:
    live, decisions = settled(WEB)
    plan = plan_of(read(WEB), drifted(live), decisions)
    change = next(change for change in plan.changes or () if change.key == WEB_KEY)
    assert (change.action, change.drift) == (Action.UPDATE, True)
    assert [(one.pointer, one.before, one.after) for one in change.write.diff] == [("/spec/replicas", 9, 2)]
    off = plan_of(read({**WEB, "gitfed.json": federation(sync={"selfHeal": False})}), drifted(live), decisions)
    change = next(change for change in off.changes or () if change.key == WEB_KEY)
    assert (change.action, str(change.reason)) == (
        Action.SKIP,
        "drift: changed by another client, and selfHeal is off",
    )


def test_a_suspended_policy_writes_nothing() -> None:
    plan = plan_of(read({**WEB, "p.json": policy("p", ["a"], suspension={"dispatching": True})}), empty())
    change = next(change for change in plan.changes or () if change.key == WEB_KEY)
    assert (change.action, str(change.reason)) == (Action.SKIP, "suspended by its policy")


def test_a_failing_override_holds_its_clusters_only() -> None:
    rule = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "o"},
        "spec": {"overrideRules": [{"targetCluster": {"clusterNames": ["b"]}, "overriders": {"plaintext": [
            {"path": "/spec/nothing/here", "operator": "replace", "value": 1}]}}]},
    }  # fmt: skip
    plan = plan_of(read({**WEB, "p.json": policy("p", ["a", "b"]), "o.json": orjson.dumps(rule).decode()}), empty())
    assert ("create", "a", "web") in acts(plan)
    assert ("create", "b", "web") not in acts(plan)
    assert any("ClusterOverridePolicy/o" in problem.message for problem in plan.problems)


class Failing:
    """A rule for Deployments that fails at one operation, `times` times."""

    name = "customization"

    def __init__(self, operation: Operation, error: Exception, times: int) -> None:
        self.operation, self.error, self.left = operation, error, times

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return kind == "Deployment" and operation is self.operation

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return inputs.object if operation is not Operation.REPLICA else Replicas(4, None)


UNANSWERED = [
    (Operation.REPLICA, "web: no answer"),
    (Operation.REVISE, "replicas could not be set: no answer"),
    (Operation.RETAIN, "what the clusters keep is unknown: no answer"),
]


@pytest.mark.parametrize(("operation", "message"), UNANSWERED)
def test_a_rule_that_fails_holds_its_object_and_says_so_until_it_is_repaired(
    operation: Operation, message: str
) -> None:
    both = {**WEB, "c.json": config_map("c", {"k": "1"}),
            "p.json": policy("p", ["a"], (("apps/v1", "Deployment"), ("v1", "ConfigMap")),
                             placement={"replicaScheduling": {"replicaSchedulingType": "Divided"}})}  # fmt: skip
    before = read(both)
    first = plan_of(before, empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    files = {"web.json": deployment("web", image="x:2", replicas=4), "c.json": config_map("c", {"k": "2"})}
    changed = read({**both, **files}, "2")
    interpreter = Interpreter((Failing(operation, InterpretError("no answer"), 9), Native()))
    memo = build.Memo()
    for _ in range(2):
        plan = build.build(changed, fleet(live), decisions, interpreter, NOW, memo=memo)
        written = {change.key.name: change for change in plan.changes or () if change.action is Action.UPDATE}
        # With the replicas unknown those of the last decision hold; all else of the object is known.
        assert set(written) == ({"c", "web"} if operation is Operation.REPLICA else {"c"})
        assert [problem.message for problem in plan.problems if message in problem.message]
    if operation is Operation.REPLICA:
        rendered = written["web"].write.rendered
        assert rendered is not None
        assert (rendered.body["spec"]["replicas"], rendered.replicas) == (2, 2)


@pytest.mark.parametrize(("operation", "message"), UNANSWERED)
def test_a_rule_that_had_to_be_stopped_is_asked_again_though_nothing_changed(
    operation: Operation, message: str
) -> None:
    files = {**WEB, "p.json": policy("p", ["a"], placement={"replicaScheduling": {"replicaSchedulingType": "Divided"}})}
    first = plan_of(read(files), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    changed = read({**files, "web.json": deployment("web", image="x:2", replicas=4)}, "2")
    interpreter = Interpreter((Failing(operation, NoAnswer("no answer"), 1), Native()))
    memo = build.Memo()
    held = build.build(changed, fleet(live), decisions, interpreter, NOW, memo=memo)
    assert [problem for problem in held.problems if message in problem.message]
    again = build.build(changed, fleet(live), decisions, interpreter, NOW, memo=memo)
    assert [change.write.rendered and change.write.rendered.replicas for change in again.changes or ()] == [4]
    assert not [problem for problem in again.problems if message in problem.message]


def test_what_is_as_it_should_be_needs_no_rule_that_may_answer_later() -> None:
    files = {**WEB, "p.json": policy("p", ["a"])}
    first = plan_of(read(files), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    failing = Failing(Operation.RETAIN, NoAnswer("no answer"), 99)
    memo = build.Memo()
    for _ in range(2):
        asked = failing.left
        interpreter = memo.rules.interpreter or Interpreter((failing, Native()))
        assert isinstance(interpreter, Interpreter)
        plan = build.build(read(files), fleet(live), decisions, interpreter, NOW, memo=memo)
        assert (plan.changes, plan.problems) == ((), ())
        assert failing.left < asked


# -- gates ----------------------------------------------------------------------------------------------------------


def maps(count: int) -> dict[str, str]:
    files = {f"c{n}.json": config_map(f"c{n}", {"n": str(n)}) for n in range(count)}
    return {**files, "p.json": policy("p", ["a"], (("v1", "ConfigMap"),))}


def test_a_gate_holds_what_it_counts_and_nothing_else() -> None:
    live, decisions = settled(maps(12))
    later = {"p.json": maps(0)["p.json"], "c0.json": config_map("c0", {"n": "new"})}
    plan = plan_of(read(later, "2"), live, decisions)
    assert acts(plan) == [("update", "a", "c0")]
    held = [one for one in plan.gates if one.held]
    assert [(one.name, one.held) for one in held] == [("deletion percent", 11)]


def test_an_approval_lets_through_so_many_changes_of_its_commit() -> None:
    live, decisions = settled(maps(12))
    repo = read({"p.json": maps(0)["p.json"]}, "2")
    plan = plan_of(repo, live, decisions)
    approval = Approval(plan.digest, repo.commit, (("deletion percent", 12),), "me", NOW)
    approved = plan_of(repo, live, replace(decisions, approvals=(approval,)))
    assert len(acts(approved)) == 12
    assert approved.digest == plan.digest
    other = replace(approval, commit=Commit("9" * 40))
    assert acts(plan_of(repo, live, replace(decisions, approvals=(other,)))) == []


def test_few_objects_are_not_counted_in_percent() -> None:
    live, decisions = settled(maps(3))
    plan = plan_of(read({"p.json": maps(0)["p.json"]}, "2"), live, decisions)
    assert len(acts(plan)) == 3


def test_history_that_does_not_descend_holds_everything() -> None:
    live, decisions = settled(WEB)
    plan = plan_of(
        read({**WEB, "web.json": deployment("web", image="x:9")}, "2"), live, replace(decisions, descends=False)
    )
    assert acts(plan) == []
    assert [one.name for one in plan.gates if one.held] == ["history"]


def test_history_holds_a_commit_that_changes_nothing_until_a_person_consents() -> None:
    live, decisions = settled(WEB)
    repo = read(WEB, "2")
    plan = plan_of(repo, live, replace(decisions, descends=False))
    (gate,) = (one for one in plan.gates if one.held)
    assert (gate.name, gate.held) == ("history", 1)
    assert gate.messages == (
        "222222222222 does not descend from 111111111111, which was applied last: the history was rewritten, or this "
        "is another repository. Nothing of it is carried out until a person consents",
    )
    approval = Approval(plan.digest, repo.commit, (("history", 1),), "me", NOW)
    consented = plan_of(repo, live, replace(decisions, descends=False, approvals=(approval,)))
    assert [one.held for one in consented.gates if one.name == "history"] == [0]
    assert consented.digest == plan.digest


def test_an_unknown_state_holds_everything() -> None:
    plan = plan_of(read(WEB), empty(), Decisions(known=False))
    assert acts(plan) == []
    assert [one.name for one in plan.gates if one.held] == ["state"]


def test_too_many_moved_replicas_wait_and_the_decision_with_them() -> None:
    files = {"web.json": deployment("web", replicas=20), "p.json": policy("p", ["a"])}
    live, decisions = settled(files)
    moved = plan_of(read({**files, "p.json": policy("p", ["b"])}, "2"), live, decisions)
    assert ("create", "b", "web") not in acts(moved)
    assert [one.name for one in moved.gates if one.held] == ["moved replicas"]
    assert decided(moved, decisions).bindings[WEB_KEY] is decisions.bindings[WEB_KEY]


def test_a_held_move_is_decided_anew_at_the_time_of_every_build() -> None:
    """Else a move that a person lets through at noon would be remembered as one of the night before."""
    files = {"web.json": deployment("web", replicas=20), "p.json": policy("p", ["a"])}
    live, decisions = settled(files)
    repo, memo = read({**files, "p.json": policy("p", ["b"])}, "2"), build.Memo()
    for hours in (1, 2):
        now = NOW + timedelta(hours=hours)
        plan = plan_of(repo, live, decisions, now, memo=memo)
        decision = plan.held_decisions[WEB_KEY].binding.decision
        assert decision is not None
        assert (decision.scheduled.shares, decision.last_scheduled) == ((Share("b", 20),), now)
        decisions = decided(plan, decisions)


@pytest.mark.parametrize("reach", [Reach.NOT_READY, Reach.UNKNOWN])
def test_a_cluster_in_trouble_keeps_what_it_has_and_takes_nothing_new(reach: Reach) -> None:
    _, decisions = settled(WEB)
    repo = read({**WEB, "p.json": policy("p", ["a", "b"])})
    known: Mapping[ObjectKey, Decision] = decisions.bindings
    snapshot = fleet(None, a=reach, b=reach)
    plan = build.build(repo, snapshot, Decisions(bindings=known), INTERPRETER, NOW)
    binding = plan.bindings[WEB_KEY]
    assert [share.cluster for share in binding.scheduled.shares] == ["a"]
    assert [rejection.cluster for rejection in binding.reasons.rejections] == ["b", "c"]


def test_time_alone_changes_nothing() -> None:
    live, decisions = settled(WEB)
    repo = read(WEB)
    later = build.build(repo, fleet(live), decisions, INTERPRETER, NOW + timedelta(days=30))
    assert acts(later) == []
    assert later.bindings[WEB_KEY].decision is decisions.bindings[WEB_KEY]


def test_a_definition_enables_its_kind_where_it_is_placed_in_the_same_commit() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "lamps", "kind": "Lamp"},
                 "versions": [{"name": "v1", "served": True, "storage": True}]},
    }  # fmt: skip
    everything = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "crds"},
        "spec": {"resourceSelectors": [
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}],
            "placement": {"clusterAffinity": {"clusterNames": ["a", "b"]}}},
    }  # fmt: skip
    lamp = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "desk", "namespace": "shop"}}
    files = {
        "crd.json": orjson.dumps(definition).decode(), "all.json": orjson.dumps(everything).decode(),
        "lamp.json": orjson.dumps(lamp).decode(), "p.json": policy("p", ["a", "b", "c"], (("example.com/v1", "Lamp"),)),
    }  # fmt: skip
    served = ApiEnablements(frozenset({("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("v1", "Namespace")}))
    facts = {name: ClusterFacts(name, apis=served) for name in CLUSTERS}
    memo = build.Memo()
    for commit in ("1", "2"):
        snapshot = FleetSnapshot(FactsRef("test"), facts)
        plan = build.build(read(files, commit), snapshot, Decisions(), INTERPRETER, NOW, memo=memo)
        binding = plan.bindings[ObjectKey("example.com", "Lamp", "shop", "desk")]
        assert [share.cluster for share in binding.scheduled.shares] == ["a", "b"]
        assert [(one.cluster, one.reason) for one in binding.reasons.rejections] == [
            ("c", "cluster(s) did not have the API resource")
        ]


def test_a_cluster_without_a_weight_gets_nothing_whether_a_decision_stands_or_not() -> None:
    files = {"web.json": deployment("web"), "p.json": weighted(a=1, b=1)}
    first = plan_of(read(files))
    second = plan_of(read(files), decisions=decided(first, Decisions(repository_id="r")))
    for plan in (first, second):
        assert {one.cluster: one.reason for one in plan.bindings[WEB_KEY].reasons.rejections} == {
            "c": "it has no weight in staticWeightList"
        }


def weighted(**weights: int) -> str:
    listed = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]
    scheduling = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                  "weightPreference": {"staticWeightList": listed}}  # fmt: skip
    return policy("web", None, placement={"replicaScheduling": scheduling})
