"""What the agents of many clusters are told of the same object."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitfed.agent_protocol import replica, values
from gitfed.daemon.fleet.member_protocol import Expected, news_in
from gitfed.daemon.fleet.pulled import slice as slices
from gitfed.daemon.fleet.pulled.connection import AgentConnection
from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.daemon.fleet.pulled.slice import Slice
from gitfed.daemon.fleet.pulled.worklist import PulledWorklist
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import BindingId, Body, Digest, ObjectKey, Origin
from gitfed.model.decisions import Scheduled
from gitfed.model.fleet import InventoryEntry, LiveObject
from gitfed.model.plan import Action, Binding, Change, RenderedManifest, Write
from gitfed.text import canonical

KEY = ObjectKey("", "ConfigMap", "shop", "web")
INTERPRETER = Interpreter(())


def _change(data: str, name: str = "web") -> Change:
    # Each cluster has a manifest of its own, as after a restart or where overrides came to the same.
    body: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": data}}
    digest, key = Digest(canonical.digest(body)), KEY._replace(name=name)
    rendered = RenderedManifest(key, BindingId("b"), body, digest, ("m",), None, Origin("a.yaml"))
    return Change("m", key, "v1", Action.CREATE, write=Write(rendered=rendered))


def _binding(rendered: RenderedManifest) -> Binding:
    return Binding(rendered.binding, rendered.key, "v1", rendered.origin, Scheduled())


def _told(slice_: Slice, data: str) -> bytes:
    """What the slice says of the body, after a change with this one."""
    change = _change(data)
    slice_.submit([change], (), {}, (), ())
    assert change.write.rendered is not None
    text: bytes = slice_.told._values[f"{values.BODY}{change.write.rendered.digest}"]
    return text


def test_a_body_that_many_clusters_have_is_held_once() -> None:
    many = [Slice(f"m{number}", "acme") for number in range(5)]
    texts = [_told(one, "same") for one in many]
    assert len({id(text) for text in texts}) == 1
    assert b'"a":"same"' in texts[0]


def test_a_change_that_many_clusters_get_alike_is_made_and_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices.time, "time", lambda: 1_800_000_000.0)
    many = [Slice(f"m{number}", "acme") for number in range(5)]
    for one in many:
        one.submit([_change("alike")], (), {}, (), ())
    assert len({id(one.tasks[KEY][0]) for one in many}) == 1
    assert len({id(one.told._values[values.of(values.CHANGE, KEY)]) for one in many}) == 1


def test_what_an_agent_did_for_the_hub_before_is_no_task_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr(slices.time, "time", lambda: now)
    before = Slice("m", "acme")
    before.submit([_change("first")], (), {}, (), ())
    done = {KEY: before.tasks[KEY][0].id}
    now += 1.0
    after = Slice("m", "acme")
    after.submit([_change("second")], (), done, (), ())
    assert after.tasks[KEY][0].id != done[KEY]
    assert after.setup.list != before.setup.list, "an agent takes a list by its number"


def _held(data: str) -> bool:
    return any(f'"{data}"'.encode() in text.content for text in list(slices._TEXTS.values()))


def test_a_body_goes_when_no_cluster_has_it_any_more() -> None:
    first, second = Slice("m1", "acme"), Slice("m2", "acme")
    for one in (first, second):
        _told(one, "replaced")
    _told(first, "kept")
    assert _held("replaced"), "the second has it still"
    _told(second, "kept")
    assert not _held("replaced")
    assert _held("kept")
    del first, second, one
    gc.collect()
    assert not _held("kept")


def test_a_change_that_is_asked_for_again_is_made_into_no_other_task() -> None:
    part, changes = Slice("m", "acme"), [_change("1", name) for name in ("a", "b", "c")]
    a, b, c = (one.key for one in changes)
    part.submit(changes, [b], {}, (), ())
    before, number = dict(part.tasks), part.setup.list
    part.submit(changes, [], {}, (), ())
    assert [part.tasks[key] is before[key] for key in (a, b, c)] == [True, True, True], "b is urgent until it is done"
    assert part.setup.list == number
    part.submit(changes, [a], {c: before[c][0].id}, (), ())
    assert [part.tasks[key] is before[key] for key in (a, b, c)] == [False, True, False]
    assert part.tasks[a][0].urgent
    assert part.tasks[c][0].id > before[c][0].id, "it was done, and is to be done again"


@dataclass
class _Plan:
    bindings: Mapping[ObjectKey, Any]
    rendered: Mapping[ObjectKey, tuple[RenderedManifest, ...]]
    changes: tuple[Change, ...] = ()


def test_a_plan_that_changes_one_object_looks_at_no_other_copy() -> None:
    part, looked = Slice("m", "acme"), list[str]()

    def repairs(cluster: str, key: ObjectKey) -> bool:
        looked.append(key.name)
        return True

    def follow(before: _Plan | None, changed: str = "", unlike: tuple[str, ...] = ()) -> _Plan:
        known = dict(before.rendered) if before else {}
        for name in (changed,) if before else ("a", "b", "c"):
            rendered = _change(f"{name}{before is None}", name).write.rendered
            assert rendered is not None
            known[rendered.key] = (rendered,)
        bindings = {
            key: before.bindings[key] if before and key.name != changed else _binding(rendered[0])
            for key, rendered in known.items()
        }
        plan: Any = _Plan(bindings, known)
        moved = {key: True for key in known if key.name in unlike}
        looked.clear()
        part.follow(Expected(
            plan, INTERPRETER, {"m": {key: one[0] for key, one in known.items()}}, (), (), frozenset(), repairs,
            unlike={"m": moved}, news=news_in(plan, before) if before else None,  # type: ignore[arg-type]
        ))  # fmt: skip
        return plan

    first = follow(None)
    assert looked == ["a", "b", "c"]
    second = follow(first, "b")
    assert looked == ["b"]
    third = follow(second, "b", unlike=("c",))
    assert looked == ["b", "c"]
    follow(third, "a")
    assert looked == ["a", "c"], "c is as it should be again"


class _Owner:
    def __init__(self) -> None:
        self.reports = Reports("m")
        self.refusals: list[tuple[str, str]] = []

    def submitted(self) -> None: ...

    def refused(self, change: Change, why: str) -> None:
        self.refusals.append((change.key.name, why))


def test_a_body_too_large_for_an_agent_fails_alone_and_is_said_once() -> None:
    part, owner = Slice("m", "acme"), _Owner()
    worklist = PulledWorklist(owner, AgentConnection("m", part.told, lambda: datetime.now(UTC)), part)
    large = [_change("usual"), _change("x" * (9 << 20), "large")]
    for _ in range(3):
        worklist.submit(large, ())
        assert [key.name for key in part.tasks] == ["web"]
    lists = part.setup.list
    assert owner.refusals == [("large", "it has 9437266 bytes, more than an agent is sent (8 MiB)")]
    worklist.submit(large, ())
    assert part.setup.list == lists, "no news for the agent"
    worklist.submit([_change("usual"), _change("cut", "large")], ())
    assert sorted(key.name for key in part.tasks) == ["large", "web"]
    worklist.submit(large, ())
    assert len(owner.refusals) == 2
    assert [key.name for key in part.tasks] == ["web"]
    assert not any(len(text) > 8 << 20 for text in part.told._values.values())


def _reported(uid: str) -> dict[str, Any]:
    status = {"replicas": 2, "conditions": [{"type": "Available", "status": "True"}]}
    return {"key": list(KEY), "cluster": "m", "uid": uid, "resource_version": "1", "ours": True, "status": status}


def test_a_status_that_many_clusters_tell_is_held_once() -> None:
    many = [Reports(f"m{number}") for number in range(5)]
    for number, one in enumerate(many):
        one.take(replica.ValueChange({values.of(values.OBJECT, KEY): _reported(str(number))}, frozenset()))
    found = [one.objects[KEY] for one in many]
    assert [one.uid for one in found] == ["0", "1", "2", "3", "4"]
    assert found[0].status == _reported("0")["status"]
    assert len({id(one.status) for one in found}) == 1


def test_a_change_is_open_until_its_own_task_is_over() -> None:
    part, owner = Slice("m", "acme"), _Owner()
    worklist = PulledWorklist(owner, AgentConnection("m", part.told, lambda: datetime.now(UTC)), part)
    worklist.submit([_change("a")], ())
    number = part.tasks[KEY][0].id

    def over(task: int, *, left: bool = False) -> bool:
        said = {"id": task, "number": 1, "action": "create", "left": left}
        owner.reports.take(replica.ValueChange({values.of(values.OVER, KEY): said}, frozenset()))
        return not worklist.has(KEY)

    assert not over(number - 1), "that of a list before"
    assert not over(number, left=True), "it is tried again"
    assert over(number)
    assert not over(number, left=True), "an agent that found it undone again"
    assert over(number)
    owner.reports.take(replica.ValueChange({}, frozenset({values.of(values.OVER, KEY)})))
    assert worklist.has(KEY), "nobody says so any more"


def test_what_was_done_is_not_asked_for_again_before_the_agent_told_what_came_of_it() -> None:
    part, change = Slice("m", "acme"), _change("a")
    part.submit([change], (), {}, (), ())
    before, number = part.setup.list, part.tasks[KEY][0].id
    entry = InventoryEntry(KEY, "", BindingId("b"), None)
    intended = LiveObject(KEY, "m", uid="", resource_version="", ours=False, entry=entry)
    again = replace(change, live=intended)  # a plan from before the object was heard of
    part.submit([again], (), {KEY: number}, (), (), behind=True)
    assert (part.setup.list, part.tasks[KEY][0].id) == (before, number)
    other = _change("b")
    part.submit([other], (), {KEY: number}, (), (), behind=True)
    assert (part.setup.list, part.tasks[KEY][0].id) == (before + 1, number + 1), "it is another order"
    part.submit([other], (), {KEY: number + 1}, (), (), behind=False)
    assert part.tasks[KEY][0].id == number + 2, "the agent told all, and the plan wants it still"
