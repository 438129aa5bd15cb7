"""Whether a later manifest tells a server anything: the answer does not depend on what the two share in memory."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.planning.objects import diff, manifest_diff
from tests.support import edits

_INTERPRETER = Interpreter((Native(),))
_LISTS = ["containers", "env", "ports", "finalizers", "initContainers"]
_NAMES = st.sampled_from(["name", "labels", "matchLabels", "selector", "template", "limits", "cpu", "data", *_LISTS])
_SCALARS = st.sampled_from(["a", "b", "100m", "0.1", "", 0, 1, 80, True, None])
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(_NAMES, inner, max_size=4),
        st.lists(inner, max_size=3),
        st.lists(st.dictionaries(_NAMES, inner, max_size=4).map(lambda item: {"name": "x", **item}), max_size=3),
    ),
    max_leaves=20,
)
_TEXTS = st.sampled_from(["YQ==", "Yg==", "YQ"])
_MEMBERS = st.dictionaries(_NAMES, _VALUES, max_size=5)
_FIXED = ("apiVersion", "kind", "metadata")
_KINDS = st.sampled_from([("apps/v1", "Deployment"), ("v1", "Secret"), ("v1", "Service"), ("shop.example/v1", "Order")])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A manifest, and what edits made of it: what they did not touch is the same object in both."""
    api_version, kind = draw(_KINDS)
    values = _TEXTS if kind == "Secret" else _VALUES
    rest = {"data": draw(st.dictionaries(_NAMES, _TEXTS))} if kind == "Secret" else draw(_MEMBERS)
    metadata = {"name": "web", "labels": {"app": "web"}}
    before: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    after = before
    for _ in range(draw(st.integers(1, 3))):
        free = [place for place in edits.places(after) if place[0] not in _FIXED]
        place = draw(st.sampled_from([("metadata", "labels"), *free]))
        after = edits.edited(draw, after, place, _NAMES, values if place[0] != "metadata" else _TEXTS)
    return before, after


@given(pairs())
@settings(max_examples=400, deadline=None)
def test_what_two_manifests_share_is_left_out_without_a_difference(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    before, after = pair
    apart = copy.deepcopy(before)
    assert manifest_diff.differs(before, after, _INTERPRETER) == manifest_diff.differs(apart, after, _INTERPRETER)


@given(pairs())
@settings(max_examples=400, deadline=None)
def test_what_surely_differs_is_found_by_the_whole_comparison(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    before, after = pair
    if after["kind"] != "Secret" and diff.surely_differs(before, after):
        assert diff.diff(after, before, owned=manifest_diff.record(before))
