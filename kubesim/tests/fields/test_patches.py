"""JSON patches and merge patches: the RFCs' examples, Kubernetes' habits, refusals."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.patch import PatchError, json_patch, merge_patch, unknown_fields

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c~/d"]), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("body", "op", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {"b": 2}}, {"b": 2}),
        ({"a": 1}, {"op": "test", "path": "", "value": {"a": 1}}, {"a": 1}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/-1"}, {"a": [1]}),
        ({"a": 1}, {"op": "copy", "from": "/none", "path": "/b"}, {"a": 1, "b": None}),
        ({"a": 1}, {"op": "test", "path": "/none", "value": None}, {"a": 1}),
        ({"a": 1}, {"op": "add", "path": "/b"}, {"a": 1, "b": None}),
        ({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": 1}, {"op": "replace", "path": "/a", "value": None}, {"a": None}),
        ({"a": {}}, {"op": "replace", "path": "/a/new", "value": 1}, {"a": {"new": 1}}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/1", "value": 3}, {"a": [1, 3]}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, {"b": 1}),
        ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
        ({"a": {"x": 1}}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": {"x": 1}, "b": {"x": 1}}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": {"b": [1]}}, {"op": "test", "path": "/a", "value": {"b": [1]}}, {"a": {"b": [1]}}),
        ({"a/b": {"~": 1}}, {"op": "replace", "path": "/a~1b/~0", "value": 2}, {"a/b": {"~": 2}}),
    ],
)
def test_each_operation(body: Any, op: dict[str, Any], result: Any) -> None:
    before = copy.deepcopy(body)
    assert json_patch(body, [op]) == result
    assert body == before


@pytest.mark.parametrize(
    "op",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/a", "value": True},
        {"op": "test", "path": "/none", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/1"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/none/deeper", "value": 1},
        {"op": "add", "path": "/list/2", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "replace", "path": "/none/deeper", "value": 1},
        {"op": "copy", "from": "/none/deeper", "path": "/b"},
        {"op": "move", "from": "/none", "path": "/b"},
        {"op": "test", "path": "/a", "value": 1.0},
        {"op": "add", "path": "", "value": {}},
        {"op": "replace", "path": "", "value": 1},
        {"op": "add", "path": "/list/ 0", "value": 1},
        {"op": "add", "path": "/list/-3", "value": 1},
        {"op": "move", "from": "/map", "path": "/map/inner"},
        {"op": "move", "path": "/b"},
        {"op": "jump", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add"},
        {},
    ],
)
def test_an_operation_that_fails_refuses_the_whole_patch(op: dict[str, Any]) -> None:
    body = {"a": 1, "list": [0], "map": {}}
    with pytest.raises(PatchError) as caught:
        json_patch(body, [{"op": "add", "path": "/done", "value": 1}, op])
    assert caught.value.kind == "unprocessable"
    assert body == {"a": 1, "list": [0], "map": {}}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"op": "add"}, "object into Go value of type []handlers.jsonPatchOp"),
        ("x", "string into Go value of type []handlers.jsonPatchOp"),
        ([1], "number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], "number into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_a_body_that_is_no_list_of_operations_is_a_bad_request(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patch({}, patch)
    assert caught.value.kind == "bad_request"
    assert caught.value.message == f"error decoding patch: json: cannot unmarshal {message}"


def test_unknown_fields_of_operations_are_told() -> None:
    ops = [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/a", "why": "x"}]
    assert unknown_fields(ops) == ['json patch unknown field "[1].why"']


@given(JSON, JSON.filter(lambda value: isinstance(value, dict | list)))
def test_replacing_the_whole_gives_the_new(body: Any, value: Any) -> None:
    assert json_patch(body, [{"op": "replace", "path": "", "value": value}]) == value


@pytest.mark.parametrize(
    ("body", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a"], {"a": 1}, {"a": 1}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, [None], [None]),
    ],
)
def test_merge_patches_of_the_rfc(body: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((body, patch))
    assert merge_patch(body, patch) == result
    assert (body, patch) == before


@given(JSON, JSON)
def test_a_merge_patch_done_twice_is_done(body: Any, patch: Any) -> None:
    once = merge_patch(body, patch)
    assert merge_patch(once, patch) == once
