"""JSON patches: the operations, and that they are all or nothing."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import patch
from gitfed.text.patch import PatchOperation


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": 1}, [{"op": "add", "path": "/b"}], {"a": 1, "b": None}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"z": 0}}], {"z": 0}),
        ({"a": [1, 2]}, [{"op": "move", "from": "/a/0", "path": "/a/-"}], {"a": [2, 1]}),
        ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": {"x": 1}, "b": {"x": 1}}),
        ({"a": 1.0}, [{"op": "test", "path": "/a", "value": 1}], {"a": 1.0}),
        ({"a": {"x": [1]}}, [{"op": "test", "path": "/a", "value": {"x": [1]}}], {"a": {"x": [1]}}),
    ],
)
def test_an_operation_does_what_the_standard_says(document: Any, operations: Any, result: Any) -> None:
    assert patch.apply(document, patch.read(operations)) == result


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (PatchOperation("remove", "/x"), "cannot remove /x: /x does not exist"),
        (PatchOperation("replace", "/l/-", 1), "cannot replace /l/-: /l/-: '-' is no index of a list"),
        (PatchOperation("remove", ""), "cannot remove the whole document: the whole document cannot be removed"),
        (PatchOperation("test", "/t", 1), "cannot test /t: the value differs"),
        (PatchOperation("test", "/l", [1, 3]), "cannot test /l: the value differs"),
        (PatchOperation("move", "/m/x", source="/m"), "cannot move /m/x: a value cannot move into itself"),
        (PatchOperation("merge", "/t"), "cannot merge /t: 'merge' is no operation"),
        (PatchOperation("add", "t"), "cannot add t: JSON pointer 't' must begin with /"),
    ],
)
def test_a_refusal_names_operation_and_place(operation: PatchOperation, message: str) -> None:
    with pytest.raises(patch.PatchError) as caught:
        patch.apply({"t": True, "l": [1, 2], "m": {}}, [PatchOperation("add", "/z", 1), operation])
    assert str(caught.value) == message
    assert caught.value.index == 1
    assert caught.value.path == operation.path


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
operations = st.builds(
    PatchOperation,
    st.sampled_from(["add", "remove", "replace", "test", "move", "copy"]),
    st.sampled_from(["", "/a", "/b", "/a/b", "/a/0", "/a/-", "/a/1", "/c/a"]),
    values,
    st.sampled_from(["", "/a", "/b", "/a/0"]),
)


@given(values, st.lists(operations, max_size=4))
def test_a_patch_never_changes_the_document_it_is_given(document: Any, sequence: list[PatchOperation]) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(patch.PatchError):
        patch.apply(document, sequence)
    assert document == before
