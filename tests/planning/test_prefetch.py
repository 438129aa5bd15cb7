"""Questions that a build has for scripts are asked at once, and asking so changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, Operation
from gitfed.interpret.scripted import Scripted
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, ClusterLive, FactsRef, FleetSnapshot, LiveObject, LiveState
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.script import Call, Failed, Returned, Script
from gitfed.planning import build, status
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, policy
from tests.source.trees import tree

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FLEET = FleetSnapshot(FactsRef("test"), {name: ClusterFacts(name) for name in ("a", "b")})


def widget(name: str, replicas: int = 2, kind: str = "Widget") -> dict[str, Any]:
    return {"apiVersion": "e.com/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"},
            "spec": {"replicas": replicas}}  # fmt: skip


def repository(*widgets: dict[str, Any], memory: ReadCache | None = None) -> RepoSnapshot:
    selected = policy("p", None, (("e.com/v1", "Widget"),), propagateDeps=True)
    files = {f"{one['kind']}-{one['metadata']['name']}.json": json.dumps(one) for one in widgets}
    clusters = {f"clusters/{name}.json": cluster(name) for name in FLEET.clusters}
    snapshot = source.read(tree({**clusters, **files, "policy.json": selected}), memory=memory or ReadCache())
    assert not [one for one in snapshot.problems if one.severity == "error"]
    return snapshot


class Scripts:
    """What scripts would say, and how they were asked: each message as {function: names}."""

    def __init__(self) -> None:
        self.messages: list[dict[str, list[str]]] = []

    def run(self, calls: Sequence[Call]) -> list[Returned | Failed]:
        message: dict[str, list[str]] = {}
        for call in calls:
            message.setdefault(call.function, []).append(call.arguments[0]["metadata"]["name"])
        self.messages.append({function: sorted(names) for function, names in message.items()})
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Returned | Failed:
        body = call.arguments[0]
        if body["metadata"]["name"] == "bad":
            return Failed("s:1: no")
        if call.function == "GetReplicas":
            return Returned(("number", "nil"), (body["spec"]["replicas"], None))
        if call.function == "ReviseReplica":
            return Returned(("table",), (), edits=([["spec", "replicas"], call.arguments[1]],))
        if call.function == "Retain":
            return Returned(("table",), (), edits=([["spec", "paused"], call.arguments[1]["spec"]["paused"]],))
        if call.function == "AggregateStatus":
            return Returned(("table",), ({**body, "status": {"copies": len(call.arguments[1])}},))
        if call.function == "InterpretHealth":
            return Returned(("boolean",), (True,))
        return Returned(("table",), ([],) if call.function == "GetDependencies" else ({"n": 1},))


OPERATIONS = (Operation.REPLICA, Operation.REVISE, Operation.DEPENDENCY, Operation.HEALTH, Operation.STATUS)


def interpreter(scripts: Scripts, *more: Operation) -> Interpreter:
    asked = (*OPERATIONS, *more)
    rules = {("e.com/v1", kind, one): (Script("s", "…"),) for kind in ("Widget", "Gadget") for one in asked}
    return Interpreter([Scripted("customization", rules, scripts.run), Native()])


def plan(repo: RepoSnapshot, answers: Interpreter, memo: build.Memo | None = None) -> Plan:
    return build.build(repo, FLEET, Decisions(repository_id="r"), answers, NOW, memo=memo)


def test_a_cold_plan_asks_each_kind_of_question_once_for_all_templates() -> None:
    scripts = Scripts()
    unselected = widget("alone", kind="Gadget")
    repo = repository(*(widget(f"w{n}") for n in range(5)), unselected)
    assert not plan(repo, interpreter(scripts)).problems
    everyone = [f"w{n}" for n in range(5)]
    assert scripts.messages == [
        {"GetReplicas": everyone}, {"GetDependencies": everyone}, {"ReviseReplica": everyone},
    ]  # fmt: skip


def test_a_push_asks_about_what_changed() -> None:
    scripts, memo, memory = Scripts(), build.Memo(), ReadCache()
    answers = interpreter(scripts)
    widgets = {name: widget(name) for name in ("x", "y", "z")}
    plan(repository(*widgets.values(), memory=memory), answers, memo)
    scripts.messages.clear()
    widgets["y"] = widget("y", 3)
    plan(repository(*widgets.values(), memory=memory), answers, memo)
    assert scripts.messages == [{"GetReplicas": ["y"]}, {"GetDependencies": ["y"]}, {"ReviseReplica": ["y"]}]
    scripts.messages.clear()
    plan(repository(*widgets.values(), memory=memory), answers, memo)
    assert scripts.messages == []


def test_a_plan_is_the_same_whether_or_not_its_questions_were_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(widget("x"), widget("bad"), widget("y", 7))
    foreseen = plan(repo, interpreter(Scripts()))
    monkeypatch.setattr(Interpreter, "prepare", lambda _self, _questions: None)
    scripts = Scripts()
    assert plan(repo, interpreter(scripts)) == foreseen
    assert len(scripts.messages) > 5
    assert foreseen.problems


def test_the_statuses_of_many_bindings_ask_once_and_again_only_about_other_copies() -> None:
    scripts = Scripts()
    memory: status.Memory = {}
    answers = interpreter(scripts)
    repo = repository(widget("x"), widget("y"))
    found = plan(repo, answers)
    scripts.messages.clear()

    def statuses(**versions: str) -> list[Any]:
        asked: list[status.StatusQuery] = []
        for key, binding in found.bindings.items():
            if key.kind != "Widget":
                continue
            body = {**repo.manifests[key].body, "status": {"n": 1}}
            copies = {
                name: LiveObject(key, name, "u", versions.get(key.name, "1"), True, body=dict(body))
                for name in ("a", "b")
            }
            asked.append((binding, repo.manifests[key].body, copies, {}))
        clusters = {name: ClusterLive(name, inventory_read=True) for name in ("a", "b")}
        return status.of_all(asked, clusters, answers, "2026-03-01T12:00:00Z", memory)

    first = statuses()
    assert [copy.health for one in first for copy in one.copies] == ["Healthy"] * 4
    assert scripts.messages == [{"InterpretHealth": ["x", "x", "y", "y"], "ReflectStatus": ["x", "x", "y", "y"]}]
    assert statuses() == first
    assert statuses(y="2") == first
    assert scripts.messages[1:] == [{"InterpretHealth": ["y", "y"], "ReflectStatus": ["y", "y"]}]


def test_what_was_said_of_a_copy_is_forgotten_when_the_copy_is_gone() -> None:
    scripts = Scripts()
    memory: status.Memory = {}
    answers = interpreter(scripts)
    repo = repository(widget("x"))
    found = plan(repo, answers)
    key = ObjectKey("e.com", "Widget", "shop", "x")
    body = repo.manifests[key].body
    for names in (("a", "b"), ("b",)):
        copies = {name: LiveObject(key, name, "u", "1", True, body=body) for name in names}
        status.of_all([status.StatusQuery(found.bindings[key], body, copies, {})], {}, answers, "", memory)
        assert sorted(memory[key]) == list(names)


def test_what_the_clusters_keep_of_a_template_is_asked_at_once() -> None:
    scripts = Scripts()
    answers = interpreter(scripts, Operation.RETAIN)
    repo = repository(widget("x"), widget("y", 4))
    clusters = {name: ClusterLive(name, inventory_read=True) for name in ("a", "b")}
    objects: dict[ObjectKey, dict[str, LiveObject]] = {}
    for key, classes in plan(repo, answers).rendered.items():
        if key.kind == "Widget":
            (rendered,) = classes
            spec = {**rendered.body["spec"], "replicas": 9}
            objects[key] = {
                name: LiveObject(key, name, "u", "1", True, body={**rendered.body, "spec": {**spec, "paused": name}})
                for name in ("a", "b")
            }
    scripts.messages.clear()
    live = LiveState(clusters, objects)
    found = build.build(
        repo, replace(FLEET, live=live), Decisions(repository_id="r"), interpreter(scripts, Operation.RETAIN), NOW
    )
    messages = [message for message in scripts.messages if "Retain" in message]
    assert messages[::3] == [{"Retain": ["x", "x"]}, {"Retain": ["y", "y"]}]
    kept = {(change.key.name, change.cluster): change.write.body for change in found.changes or () if change.write.body}
    assert {where: (body["spec"]["paused"], body["spec"]["replicas"]) for where, body in kept.items()} == {
        ("x", "a"): ("a", 2), ("x", "b"): ("b", 2), ("y", "a"): ("a", 4), ("y", "b"): ("b", 4),
    }  # fmt: skip


def test_the_sums_of_many_bindings_are_asked_at_once() -> None:
    scripts = Scripts()
    answers = interpreter(scripts, Operation.AGGREGATE)
    repo = repository(widget("x"), widget("y"), widget("bad"))
    asked: list[status.StatusQuery] = [
        (binding, repo.manifests[key].body, {}, {})
        for key, binding in plan(repo, answers).bindings.items()
        if key.kind == "Widget"
    ]
    scripts.messages.clear()
    found = status.of_all(asked, {}, answers, "2026-03-01T12:00:00Z", {})
    assert scripts.messages == [{"AggregateStatus": ["bad", "x", "y"]}]
    assert {one.key.name: (one.status, one.error) for one in found} == {
        "bad": (None, "Widget AggregateStatus: s:1: no"), "x": ({"copies": 2}, ""), "y": ({"copies": 2}, ""),
    }  # fmt: skip
