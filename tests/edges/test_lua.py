"""Calls of scripts as others make them: values in and out, what is asked once, what has to be killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.edges.lua import Lua
from gitfed.edges.lua.request import Outcome, Request
from gitfed.edges.lua.runtime import Runtime
from gitfed.edges.lua.worker import Killed, Worker
from gitfed.interpret import kube_module
from gitfed.model.script import Call, Failed, Returned, Script

HANGS = "function F() local s = 'x' for i = 1, 9 do s = s .. s end return s:find('.-.-.-.-.-.-b') end"
BACKTRACKS = "function F(o) local s = 'xy' for i = 1, 9 do s = s .. s end return s:find('.-y.-x.-y') + o.n end"


@pytest.fixture
def lua() -> Iterator[Lua]:
    with Lua(kube_module.NAME, clock=lambda: 1_900_000_000.0) as opened:
        yield opened


def call(text: str, *arguments: Any, results: int = 1, now: str = "") -> Call:
    return Call(Script("s", text), "F", arguments, results, now)


def given_back(value: Any) -> Any:
    return Runtime({}).call(Request(Script("s", "function F(o) return o end"), "F", (value,))).values[0]


# -- values -------------------------------------------------------------------------------------------------------

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SCALARS = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(_TEXTS, inner, min_size=1, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(_VALUES)
def test_values_come_back_as_they_went_in(value: Any) -> None:
    assert given_back(value) == value


@pytest.mark.parametrize(
    ("value", "back"),
    [
        ({"a": None, "b": [1, None, 3], "c": [None]}, {"b": [1, 3], "c": []}),
        ({"a": {}, "b": []}, {"a": [], "b": []}),
        ({"n": 3.0}, {"n": 3}),
        ({"n": 2**63}, {"n": 2.0**63}),
        ({"n": 10**40}, {"n": 1e40}),
        ({"n": -0.0}, {"n": 0}),
        ("é✓\0\n", "é✓\0\n"),
        ("half \ud800 of a pair", "half ? of a pair"),
    ],
)
def test_what_lua_has_no_place_for_is_left_out_or_rounded(value: Any, back: Any) -> None:
    assert given_back(value) == back


def test_texts_that_are_no_utf_8_are_repaired(lua: Lua) -> None:
    assert lua.run(call("function F() return ('é'):sub(1, 1) .. string.char(255) end")) == Returned(
        ("string",), ("\ufffd\ufffd",)
    )


def test_an_object_that_is_nested_too_deeply_is_refused(lua: Lua) -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    assert lua.run(call("function F(o) return o end", deep)) == Failed(
        "s:1: a table nested more than 200 levels deep cannot be returned"
    )
    assert lua.run(call("function F(o) return #o.list end", {"list": [deep]})) == Failed(
        "s:1: the object is nested more than 200 levels deep"
    )


def test_parts_that_are_shared_in_python_are_not_in_lua(lua: Lua) -> None:
    part = {"n": 1}
    answer = lua.run(call("function F(o) o.a.n = 2 return o.b.n end", {"a": part, "b": part}))
    assert answer == Returned(("number",), (1,))


def test_only_the_wanted_results_are_looked_at(lua: Lua) -> None:
    text = "function F() return 1, 'two', print end"
    assert lua.run(call(text, results=2)) == Returned(("number", "string"), (1, "two"))
    assert lua.run(call("function F() end", results=2)) == Returned(("nil", "nil"), (None, None))


# -- once ---------------------------------------------------------------------------------------------------------


def test_an_answer_is_asked_for_once_per_content(lua: Lua) -> None:
    text = "function F(o) return {n = o.n} end"
    first = lua.run(call(text, {"n": 1}))
    assert lua.run(call(text, {"n": 1})) is first
    other = lua.run(call(text, {"n": 2}))
    assert lua.run(call(text, {"n": 2})) is other is not first


def test_true_is_not_one(lua: Lua) -> None:
    text = "function F(o, n) return type(n) end"
    assert [lua.run(call(text, {}, n)) for n in (1, True, 1.5)] == [
        Returned(("string",), (kind,)) for kind in ("number", "boolean", "number")
    ]


def test_an_answer_that_tells_the_time_is_asked_for_again() -> None:
    times = iter((100.0, 200.0))
    with Lua(kube_module.NAME, clock=lambda: next(times)) as lua:
        text = "function F() return os.time() end"
        assert [lua.run(call(text)) for _ in range(2)] == [Returned(("number",), (n,)) for n in (100, 200)]
        assert lua.run(call(text, now="2030-01-01T00:00:00Z")) == Returned(("number",), (1893456000,))


def test_a_fault_is_remembered_too(lua: Lua) -> None:
    text = "function F(o) error('no') end"
    first = lua.run(call(text, {}))
    assert first == Failed("s:1: no")
    assert lua.run(call(text, {})) is first


# -- what was changed ----------------------------------------------------------------------------------------------

BODY = {"kind": "K", "spec": {"n": 1, "list": [{"a": 1}, {"b": {}}], "empty": {}, "none": []}, "x": {"y": {"z": 1}}}


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("", ()),
        ("o.spec.n = 2", ([["spec", "n"], 2],)),
        ("o.spec.n = nil", ([["spec", "n"]],)),
        ("o.spec.new = {1, {a = {}}}", ([["spec", "new"], [1, {"a": []}]],)),
        ("o.spec.list[2].b.c = 'x'", ([["spec", "list", 1, "b"], {"c": "x"}],)),
        ("o.spec.list[1].a = 5", ([["spec", "list", 0, "a"], 5],)),
        ("o.spec.list[3] = {}", ([["spec", "list"], [{"a": 1}, {"b": []}, []]],)),
        ("o.spec.list = {}", ([["spec", "list"], []],)),
        ("o.spec.empty = {} o.spec.none = {}", ()),
        ("o.x = o.spec.list[1]", ([["x", "a"], 1], [["x", "y"]])),
        ("o.x.y = {z = 1}", ()),
        ("o['n\"a'] = true", ([['n"a'], True],)),
    ],
)  # fmt: skip
def test_what_a_script_changed_is_told_place_by_place(lua: Lua, text: str, edits: tuple[Any, ...]) -> None:
    script = Script("s", f"function F(o)\n{text}\nreturn o\nend")
    answer = lua.run(Call(script, "F", (BODY,), edits=True))
    assert isinstance(answer, Returned)
    assert (answer.kinds, answer.values, answer.edits) == (("table",), (), edits)


def test_where_places_would_not_be_the_same_the_whole_answer_comes_back(lua: Lua) -> None:
    """A list without its nulls has other positions; and what is no object any more has no places."""
    script = Script("s", "function F(o) o.a[2] = 9 return o end")
    assert lua.run(Call(script, "F", ({"a": [1, None, 3]},), edits=True)) == Returned(("table",), ({"a": [1, 9]},))
    script = Script("s", "function F(o) return {1, 2} end")
    assert lua.run(Call(script, "F", ({"a": 1},), edits=True)) == Returned(("table",), ([1, 2],))
    script = Script("s", "function F(o) return 5 end")
    assert lua.run(Call(script, "F", ({"a": 1},), edits=True)) == Returned(("number",), (5,))


@pytest.mark.parametrize("text", ["o[1] = 2", "o.spec[1] = 2", "o.spec.list.x = 1", "o.spec.list[9] = 1", "o.x = o"])
def test_what_cannot_be_returned_cannot_be_told_either(lua: Lua, text: str) -> None:
    script = Script("s", f"function F(o)\n{text}\nreturn o\nend")
    answer = lua.run(Call(script, "F", (BODY,), edits=True))
    assert isinstance(answer, Failed)
    assert "cannot be returned" in answer.message


def test_the_worker_tells_what_was_changed_too(lua: Lua) -> None:
    text = BACKTRACKS.replace("return", "local x =").replace(" + o.n", " o.n = 2 return o")
    answer = lua.run(Call(Script("s", text), "F", ({"n": 1, "rest": [{}, 3]},), edits=True))
    assert isinstance(answer, Returned)
    assert answer.edits == ([["n"], 2],)


# -- the worker ----------------------------------------------------------------------------------------------------


def test_a_pattern_with_many_ways_to_match_is_answered(lua: Lua) -> None:
    assert lua.run(call(BACKTRACKS, {"n": 5})) == Returned(("number",), (6,))
    assert lua.run(call(BACKTRACKS, {"n": 6})) == Returned(("number",), (7,))
    assert lua.run(call(f"{BACKTRACKS} -- and wrong", {})) == Failed(
        "s:1: attempt to perform arithmetic on field 'n' (a nil value)"
    )


def test_the_functions_of_kube_are_there_too(lua: Lua) -> None:
    text = BACKTRACKS.replace("return", "local x =").replace(" + o.n", " return require('kube').resourceAdd('1', '2')")
    assert lua.run(call(text, {})) == Returned(("string",), ("3",))


def test_a_script_that_hangs_is_killed_and_all_others_go_on() -> None:
    with Lua(kube_module.NAME, seconds=0.5) as lua:
        assert lua.run(call(HANGS)) == Failed("s: was stopped after 0.5 seconds without an end", permanent=False)
        assert lua.run(call(HANGS)) == Failed(
            "s: was stopped because it did not end, and is not tried again yet", permanent=False
        )
        assert lua.run(call("function F() return 1 end")) == Returned(("number",), (1,))
        assert lua.run(call(BACKTRACKS, {"n": 5})) == Returned(("number",), (6,))


def test_a_script_that_was_killed_is_tried_again_later() -> None:
    now, tried = 0.0, []
    worker = Worker(kube_module.NAME, seconds=0.3, clock=lambda: now)
    try:
        for now in (0, 29, 31, 150, 152):
            (told,) = worker.call([Request(Script("s", HANGS), "F")])
            assert isinstance(told, Killed)
            if str(told) == "was stopped after 0.3 seconds without an end":
                tried.append(now)
            else:
                assert str(told) == "was stopped because it did not end, and is not tried again yet"
    finally:
        worker.close()
    assert tried == [0, 31, 152]


HANGS_AT = (
    "function F(o) local s = 'x' for i = 1, 9 do s = s .. s end "
    "if o.hangs then s:find('.-.-.-.-.-.-b') end return o.n end"
)


def _of_batch(worker: Worker, *bodies: Any, text: str = HANGS_AT) -> list[Any]:
    """The value of each call, or what is said in its place."""
    found = worker.call([Request(Script("s", text), "F", (body,)) for body in bodies])
    return [one.values[0] if isinstance(one, Outcome) else str(one) for one in found]


@pytest.fixture
def worker() -> Iterator[Worker]:
    opened = Worker(kube_module.NAME, seconds=0.4)
    yield opened
    opened.close()


STOPPED = "was stopped after 0.4 seconds without an end"
RESTS = "was stopped because it did not end, and is not tried again yet"


def test_of_many_calls_only_the_one_that_hangs_is_lost(worker: Worker) -> None:
    bodies = [{"n": n, "hangs": n == 70} for n in range(150)]
    assert _of_batch(worker, *bodies) == [STOPPED if n == 70 else n for n in range(150)]
    assert _of_batch(worker, *bodies) == [RESTS if n == 70 else n for n in range(150)]


def test_a_script_of_which_several_calls_hang_is_left_alone_and_others_are_not(worker: Worker) -> None:
    bodies = [{"n": n, "hangs": n in (1, 3, 4, 5)} for n in range(8)]
    assert _of_batch(worker, *bodies) == [0, STOPPED, 2, STOPPED, STOPPED, RESTS, RESTS, RESTS]
    assert _of_batch(worker, {"n": 9}, text=f"{HANGS_AT} -- another") == [9]


def test_what_hung_before_is_tried_last() -> None:
    now = 0.0
    worker = Worker(kube_module.NAME, seconds=0.3, clock=lambda: now)
    try:
        for n in range(3):
            _of_batch(worker, {"n": n, "hangs": True})
        now = 31.0
        told = _of_batch(worker, *({"n": n, "hangs": True} for n in range(3)), {"n": 3}, {"n": 4})
    finally:
        worker.close()
    assert told == [STOPPED.replace("0.4", "0.3")] * 3 + [3, 4]


def test_the_limits_hold_for_each_of_many_calls(lua: Lua) -> None:
    text = (
        "function F(o) if o.n == 1 then while true do end end "
        "local t = {} while o.n == 3 do t[#t + 1] = {} end return o.n end"
    )
    assert _of_batch(lua._worker, *({"n": n} for n in range(5)), text=text) == [
        0, "s:1: needs more than 10,000,000 instructions (an endless loop?)", 2,
        "s:1: needs more than 48 MiB of memory", 4,
    ]  # fmt: skip


def test_many_large_calls_with_large_answers_hold_nobody_up(worker: Worker) -> None:
    """More in both directions than the pipes hold."""
    bodies = [{"n": n, "text": "x" * 200_000} for n in range(60)]
    found = worker.call([Request(Script("s", "function F(o) return o end"), "F", (body,)) for body in bodies])
    assert [one.values[0] for one in found if isinstance(one, Outcome)] == bodies


def test_a_worker_that_ends_in_a_call_costs_that_call_and_between_calls_none(
    worker: Worker,
) -> None:
    assert _of_batch(worker, {"n": 1}) == [1]
    process = worker._process
    assert process is not None
    threading.Timer(0.1, lambda: os.kill(process.pid, signal.SIGKILL)).start()
    told = _of_batch(worker, {"n": 2, "hangs": True}, {"n": 3})
    assert told == ["its process ended without an answer", 3]


def test_who_gives_up_in_the_middle_leaves_no_answers_for_others(worker: Worker) -> None:
    def interrupted() -> Iterator[Request]:
        for n in range(40):
            yield Request(Script("s", HANGS_AT), "F", ({"n": n, "much": "x" * 20_000},))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.call(interrupted())
    assert _of_batch(worker, {"n": 100}, {"n": 101}) == [100, 101]


@pytest.mark.parametrize("value", [2**70, -(2**64), "half \ud800 of a pair", {"a": 2**65, "b": ["\ud800"]}])
def test_what_json_can_hardly_say_gets_to_the_worker_too(lua: Lua, value: Any) -> None:
    text = BACKTRACKS.replace("return", "local x =").replace(" + o.n", " return o")
    assert lua.run(call(text, {"n": 1, "v": value})) == lua.run(
        call("function F(o) return o end", {"n": 1, "v": value})
    )


def test_many_calls_are_answered_as_each_of_them_alone(lua: Lua) -> None:
    """Here and in the worker, known and not, good and bad, each asked for once."""
    texts = (BACKTRACKS, "function F(o) return o.n end", "function F(o) error('no') end")
    calls = [call(text, {"n": n}) for text in texts for n in (1, 2, 2, None)]
    first = lua.run(calls[1])
    together = lua.run_all(calls)
    assert together[1] is together[2] is first
    with Lua(kube_module.NAME) as other:
        assert together == [other.run(one) for one in calls]


def test_a_worker_that_ends_is_started_again(lua: Lua) -> None:
    assert lua.run(call(BACKTRACKS, {"n": 5})) == Returned(("number",), (6,))
    process = lua._worker._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert lua.run(call(BACKTRACKS, {"n": 6})) == Returned(("number",), (7,))


def test_the_worker_sees_nothing_of_our_environment(lua: Lua, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    lua.run(call(BACKTRACKS, {"n": 5}))
    process = lua._worker._process
    assert process is not None
    with open(f"/proc/{process.pid}/environ", "rb") as environment:
        assert b"secret" not in environment.read()


def test_a_worker_ends_with_its_owner() -> None:
    lua = Lua(kube_module.NAME)
    lua.run(call(BACKTRACKS, {"n": 5}))
    process = lua._worker._process
    assert process is not None
    pid = process.pid
    del lua, process
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# -- what is said about scripts -----------------------------------------------------------------------------------


def test_a_script_is_checked_without_being_run(lua: Lua) -> None:
    assert lua.check(Script("s", "error('never') function F() end")) == ""
    assert lua.check(Script("s", "function F(")) == "s:1: <name> or '...' expected near '<eof>'"


def test_answers_that_depend_on_chance_or_order_are_reported(lua: Lua) -> None:
    texts = {
        "first": "function F(o) for k in pairs(o) do return k end end",
        "sum": "function F(o) local n = 0 for k, v in pairs(o) do n = n + v end return n end",
        "chance": "function F(o) return math.random() end",
        "unused": "function F(o) math.random() return 1 end",
    }
    for name, text in texts.items():
        lua.run(Call(Script(name, text), "F", ({"a": 1, "b": 2},)))
    assert sorted(lua.notes().values()) == [
        "chance: what F returns depends on random numbers",
        "first: what F returns depends on the order of pairs()",
    ]
