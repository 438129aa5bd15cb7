"""JSON pointers: reading, and changing by path-copy."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import pointer

DOCUMENT: dict[str, Any] = {"a": {"b/c": 1, "m~n": 2, "": 3}, "l": [10, {"x": 1}], "n": None, "s": "t"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", DOCUMENT),
        ("/a/b~1c", 1),
        ("/a/m~0n", 2),
        ("/a/", 3),
        ("/l/0", 10),
        ("/l/1/x", 1),
        ("/n", None),
    ],
)
def test_a_pointer_leads_to_its_value(text: str, value: object) -> None:
    assert pointer.get(DOCUMENT, pointer.parse(text)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "JSON pointer 'a' must begin with /"),
        ("/a~2", "JSON pointer '/a~2': ~ must be followed by 0 or 1"),
        ("/a~", "JSON pointer '/a~': ~ must be followed by 0 or 1"),
    ],
)
def test_text_that_is_no_pointer_is_refused(text: str, message: str) -> None:
    with pytest.raises(pointer.PointerError) as caught:
        pointer.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/x", "/x does not exist"),
        ("/a/x", "/a/x does not exist"),
        ("/l/2", "/l/2: the list has 2 elements"),
        ("/l/01", "/l/01: '01' is no index of a list"),
        ("/l/-", "/l/-: '-' is no index of a list"),
        ("/l/-1", "/l/-1: '-1' is no index of a list"),
        ("/l/x", "/l/x: 'x' is no index of a list"),
        ("/l/١", "/l/١: '١' is no index of a list"),
        ("/n/x", "/n/x leads into null"),
        ("/s/x", "/s/x leads into text"),
        ("/l/0/x", "/l/0/x leads into a number or boolean"),
    ],
)
def test_a_pointer_that_leads_nowhere_says_where_it_ends(text: str, message: str) -> None:
    with pytest.raises(pointer.PointerError) as caught:
        pointer.get(DOCUMENT, pointer.parse(text))
    assert str(caught.value) == message


def test_an_index_counts_from_the_end_only_where_that_is_allowed() -> None:
    assert pointer.get([1, 2, 3], ("-1",), negative=True) == 3
    assert pointer.remove([1, 2, 3], ("-3",), negative=True) == [2, 3]
    with pytest.raises(pointer.PointerError):
        pointer.get([1, 2, 3], ("-4",), negative=True)


def test_add_sets_a_member_and_inserts_into_a_list() -> None:
    assert pointer.add({"a": 1}, ("b",), 2) == {"a": 1, "b": 2}
    assert pointer.add({"l": [1, 2]}, ("l", "1"), 9) == {"l": [1, 9, 2]}
    assert pointer.add({"l": [1, 2]}, ("l", "2"), 9) == {"l": [1, 2, 9]}
    assert pointer.add({"l": [1, 2]}, ("l", "-"), 9) == {"l": [1, 2, 9]}
    assert pointer.add({"a": 1}, (), [3]) == [3]


def test_add_beyond_the_end_of_a_list_is_an_error() -> None:
    with pytest.raises(pointer.PointerError):
        pointer.add([1, 2], ("3",), 9)


def test_replace_wants_something_to_be_there() -> None:
    assert pointer.replace(DOCUMENT, ("a", "b/c"), 5)["a"]["b/c"] == 5
    with pytest.raises(pointer.PointerError, match="/x does not exist"):
        pointer.replace(DOCUMENT, ("x",), 5)


def test_the_whole_document_cannot_be_removed() -> None:
    with pytest.raises(pointer.PointerError, match="the whole document cannot be removed"):
        pointer.remove(DOCUMENT, ())


def test_put_creates_the_way_and_drop_does_not_mind_absence() -> None:
    assert pointer.put({}, ("a", "b", "c"), 1) == {"a": {"b": {"c": 1}}}
    assert pointer.put({"a": None}, ("a", "b"), 1) == {"a": {"b": 1}}
    assert pointer.put({"l": [{"x": 1}]}, ("l", "0", "y"), 2) == {"l": [{"x": 1, "y": 2}]}
    assert pointer.drop(DOCUMENT, ("a", "zzz")) is DOCUMENT
    assert "s" not in pointer.drop(DOCUMENT, ("s",))


def test_put_does_not_walk_through_text() -> None:
    with pytest.raises(pointer.PointerError, match="leads into text"):
        pointer.put({"a": "text"}, ("a", "b"), 1)


def test_a_change_shares_what_it_does_not_touch_and_leaves_the_original_alone() -> None:
    before = copy.deepcopy(DOCUMENT)
    changed = pointer.add(DOCUMENT, ("a", "new"), 1)
    assert before == DOCUMENT
    assert changed["l"] is DOCUMENT["l"]


@given(st.lists(st.text()))
def test_printing_and_parsing_a_pointer_is_identity(tokens: list[str]) -> None:
    assert pointer.parse(pointer.text(tuple(tokens))) == tuple(tokens)
