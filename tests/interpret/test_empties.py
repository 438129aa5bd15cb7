"""What an answer of Lua meant: whole, or told place by place; both ways must mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.edges.lua import Lua
from gitfed.interpret import empties, kube_module
from gitfed.model.script import Call, Returned, Script

NAMES = st.sampled_from(["a", "b", "c"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.sampled_from(["", "x", "ä", 0.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(NAMES, VALUES, min_size=1, max_size=3)
PLACES = st.lists(st.sampled_from([".a", ".b", ".c", "[1]", "[2]"]), min_size=1, max_size=3).map("".join)
NEW = st.sampled_from(["nil", "{}", "1", "'new'", "{x = {}}", "{1, {}}", "o.a", "{y = o.b}"])


@pytest.fixture(scope="module")
def lua() -> Iterator[Lua]:
    with Lua(kube_module.NAME) as runtime:
        yield runtime


@settings(max_examples=200)
@given(body=BODIES, changes=st.lists(st.tuples(PLACES, NEW), max_size=4))
def test_a_change_told_by_places_means_what_the_whole_answer_means(
    lua: Lua, body: dict[str, Any], changes: list[tuple[str, str]]
) -> None:
    """Places that are not there are passed over: the script would fail in both."""
    steps = "\n".join(f"pcall(function() o{place} = {value} end)" for place, value in changes)
    script = Script("s", f"function F(o)\n{steps}\nreturn o\nend")
    whole = lua.run(Call(script, "F", (body,)))
    told = lua.run(Call(Script("s", script.text + " "), "F", (body,), edits=True))
    assert type(whole) is type(told)
    if isinstance(whole, Returned) and isinstance(told, Returned) and told.edits is not None:
        values: Any = whole.values
        if values == ([],):
            assert empties.edited(body, told.edits, (body,)) == {}
        else:
            (value,) = values
            assert empties.edited(body, told.edits, (body,)) == empties.restored(value, (body,))


def test_what_was_not_touched_is_the_very_same() -> None:
    body: dict[str, Any] = {"spec": {"n": 1, "deep": {"x": []}}, "metadata": {"labels": {}}}
    found: dict[str, Any] = empties.edited(body, [[["spec", "n"], 2]], (body,))
    assert found == {"spec": {"n": 2, "deep": {"x": []}}, "metadata": {"labels": {}}}
    assert found["metadata"] is body["metadata"]
    assert found["spec"]["deep"] is body["spec"]["deep"]
    assert body["spec"]["n"] == 1


def test_items_that_say_nothing_leave_a_list_from_its_end() -> None:
    body = {"list": [{"a": 1}, {"b": 2}, {"c": 3}]}
    edits: list[Any] = [[["list", 0], []], [["list", 1, "b"], 5], [["list", 2], []]]
    assert empties.edited(body, edits, (body,)) == {"list": [{"b": 5}]}
