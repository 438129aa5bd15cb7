"""A body of which Lua takes in a part at a time answers every script as one that was taken in whole."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import MEMORY, Runtime
from gitfed.interpret import kube_module
from gitfed.model.script import Script
from tests.edges.lua_scripts import scripts

_NAMES = st.sampled_from(["a", "b", "c", "spec", "containers", "1"])
_TEXTS = st.sampled_from(["", "1.5", 'a"b', "\\", "{", "}]", "{}", '":1.5', "[1e3", "\n\x00", "100m", "é", "nulls"])
_NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, -0.0, 1.0, 1e300, 2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**15, 10**16]),
)
_PLAIN = st.one_of(st.booleans(), _NUMBERS, _TEXTS)
_VALUES = st.recursive(
    st.one_of(_PLAIN, _PLAIN, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=4)),
    max_leaves=14,
)
_OBJECTS = st.dictionaries(_NAMES, _VALUES, max_size=5)


@pytest.fixture(scope="module")
def runtimes() -> tuple[Runtime, Runtime]:
    return Runtime(kube_module.FUNCTIONS), Runtime(kube_module.FUNCTIONS)


def _answer(runtime: Runtime, script: str, arguments: tuple[Any, ...], edits: bool) -> Any:
    texts: list[bytes | None] = []
    for one in arguments:
        try:
            texts.append(orjson.dumps(one))
        except TypeError:
            texts.append(None)
    try:
        found = runtime.call(Request(Script("s", script), "F", arguments, tuple(texts), results=2, edits=edits))
    except ScriptError as error:  # of several things that cannot be returned, either may be met first
        return re.sub(r"(s:\d+: ).*cannot be returned", r"\1cannot be returned", str(error))
    changes = json.dumps(found.edits, sort_keys=True)
    flags = found.told_time, found.took_order, found.took_chance, found.line
    return found.kinds, json.dumps(found.values, sort_keys=True), changes, flags


@settings(max_examples=300, deadline=None)
@given(
    objects=st.tuples(_OBJECTS, _OBJECTS),
    calls=st.lists(st.tuples(scripts(), st.booleans()), min_size=1, max_size=3),
)
def test_no_script_can_tell_that_a_body_is_taken_in_by_parts(
    runtimes: tuple[Runtime, Runtime], objects: tuple[Any, Any], calls: list[tuple[str, bool]]
) -> None:
    by_parts, whole = runtimes
    for script, edits in calls:  # one after another: what a script has looked at stays for the next
        whole._intake.by_parts = False
        assert _answer(by_parts, script, objects, edits) == _answer(whole, script, objects, edits)


def _value(runtime: Runtime, line: str, *arguments: Any) -> Any:
    return runtime.call(Request(Script("s", f"function F(o, p)\n{line}\nend"), "F", arguments)).values[0]


def test_what_no_script_looks_at_is_not_taken_in() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    body = {"spec": {"replicas": 3, "template": {"items": list(range(15_000))}}, "zeros": [0] * 15_000}
    before = runtime._lua.get_memory_used()
    assert _value(runtime, "return o.spec.replicas", body) == 3
    assert _value(runtime, "o.spec.replicas = nil return o.spec.replicas == nil", body) is True
    assert runtime._lua.get_memory_used() < before + 20_000
    assert _value(runtime, "return #o.zeros + #o.spec.template.items", body) == 30_000
    assert runtime._lua.get_memory_used() > before + 200_000


def test_a_body_that_does_not_fit_into_the_memory_is_an_error_and_nobody_s_end() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    body = {"small": 1, "big": [[]] * (MEMORY // 64)}
    for line in (
        "return #o.big",
        "o.x = 1 return #o.big",
        "local n = 0 for k, v in pairs(o) do n = n + 1 end return n",
    ):
        with pytest.raises(ScriptError, match="needs more than 48 MiB of memory"):
            _value(runtime, line, body)
    assert _value(runtime, "return o.small", {"small": 1}) == 1


@pytest.mark.parametrize("filled", [False, True])
def test_a_script_that_needs_little_of_an_oversized_body_gets_it_at_any_memory(filled: bool) -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    fill = "local t = {} for i = 1, 200000 do t[i] = {i, i, i, i, i, i, i, i, i, i} end "
    if filled:
        _value(runtime, fill + "return #t", {})
    body = {"few": {"n": 1}, "many": {f"m{i}": "x" * 1000 for i in range(50_000)}, "big": [[]] * (MEMORY // 64)}
    assert _value(runtime, "o.x = 1 return o.few.n", body) == 1
    for line in ("return #o.big", "return o.many.m1", "return o"):
        with pytest.raises(ScriptError, match="needs more than 48 MiB of memory"):
            _value(runtime, line, body)


def test_a_script_that_fills_the_memory_gets_the_same_answer_and_the_same_limit() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    fill = "local t = {} for i = 1, %d do t[i] = {i, i, i, i, i, i, i, i, i, i} end "
    for count, needs_all in ((100, False), (250_000, True)):
        body = {"a": {"b": {"c": 7}}}
        script = Script("s", f"function F(o) {fill % count} o.x = 1 return o.a.b.c + #t end")
        assert runtime.call(Request(script, "F", (body,))).values == (7 + count,)
        assert (not runtime._intake._sources) is needs_all
    with pytest.raises(ScriptError, match="needs more than 48 MiB of memory"):
        _value(runtime, fill % 600_000 + "return o.a.b.c", {"a": {"b": {"c": 7}}})


def test_bodies_that_fit_alone_but_not_together_are_an_error_and_nobody_s_end() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    large: dict[str, Any] = {"n": 1, "big": [[]] * (MEMORY // 110)}
    small: dict[str, Any] = {"n": 2, "some": [[]] * 20_000}
    assert _value(runtime, "return o.n", large) == 1
    assert _value(runtime, "return #o.big", large) == MEMORY // 110
    assert _value(runtime, "return o.n + p.n", large, large | {"n": 3}) == 4
    with pytest.raises(ScriptError, match="needs more than 48 MiB of memory"):
        _value(runtime, "return #o.big + #p.big", large, large | {"n": 3})
    assert _value(runtime, "return o.n + p.n + #o.some", small, large) == 20_003
    assert _value(runtime, "return o.n + p.n + #p.some", large, small) == 20_003


class _Kind(StrEnum):
    JOB = "Job"


def test_what_json_takes_for_a_text_is_a_text() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    body = {"kind": _Kind.JOB, "spec": {"job": _Kind.JOB, "list": [_Kind.JOB], "at": at}}
    line = "return {o.kind .. o.spec.job .. o.spec.list[1] .. o.spec.at, type(o.kind), type(o.spec.at), #o.spec.list}"
    expected = ["JobJobJob2026-01-02T00:00:00+00:00", "string", "string", 1]
    assert _value(Runtime(kube_module.FUNCTIONS), line, body) == expected


def test_both_arguments_of_a_call_stay_whatever_the_memory_holds() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    line = "return #o.a.items + #p.a.items + o.n"
    for n in range(30):
        one, other = ({"n": n, "a": {"items": ["x" * 100 * k + str(n) for k in range(200)]}} for _ in range(2))
        assert _value(runtime, line, one, other) == 400 + n
        assert _value(runtime, line, other, one) == 400 + n


def test_a_body_that_others_pushed_out_is_taken_in_again() -> None:
    runtime = Runtime(kube_module.FUNCTIONS)
    bodies = [{"a": {"b": {"c": n}}} for n in range(40)]
    for _ in range(2):
        assert [_value(runtime, "return o.a.b.c", body) for body in bodies] == list(range(40))
    assert len(runtime._intake._sources) <= 2 * 8


def test_members_named_like_metamethods_are_members() -> None:
    names = ("__index", "__newindex", "__metatable", "__len", "__eq", "__call", "__gc", "__mode", "pending", "source")
    body = {"spec": {name: {"n": at, "in": {}} for at, name in enumerate(names)}}
    runtime = Runtime(kube_module.FUNCTIONS)
    found = _value(runtime, "local f = {} for k, v in pairs(o.spec) do f[k] = v.n end o.spec.x = 1 return f", body)
    assert found == {name: at for at, name in enumerate(names)}
    assert _value(runtime, "return o.spec.absent == nil and o.__index == nil and o.pending == nil", body) is True
