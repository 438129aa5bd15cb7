"""Laws of ownership, on random objects of a type with every sort of list and map."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fields.bodies import writer

from kubesim import managed, schema
from kubesim.managed import compare, entries, fieldset, merge, tracking, typed
from kubesim.status import ApiError

Body = dict[str, Any]

_ITEM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "value": {"type": "integer"},
        "args": {"type": "array", "items": {"type": "string"}},
    },
}
WIDGET = schema.from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "whole": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "additionalProperties": {"type": "string"},
                    },
                    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "list": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": _ITEM,
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    }
)
VERSION = "example.com/v1"

WORDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["x", "y"])
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"name": WORDS}, optional={"value": st.integers(0, 1), "args": st.lists(TEXTS, min_size=1, max_size=2)}
    ),
    unique_by=lambda item: item["name"],
    min_size=1,
    max_size=3,
)
MAPS = st.dictionaries(WORDS, TEXTS, min_size=1, max_size=3)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "number": st.integers(0, 1),
        "map": MAPS,
        "whole": MAPS,
        "set": st.lists(WORDS, unique=True, min_size=1, max_size=3),
        "list": ITEMS,
        "free": st.dictionaries(WORDS, st.one_of(TEXTS, MAPS), min_size=1, max_size=2),
    },
)


def widget(spec: Body) -> Body:
    return {"apiVersion": VERSION, "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def apply(live: Body | None, spec: Body, manager: str, second: int = 0, *, force: bool = True) -> Body:
    return managed.apply(live, widget(spec), writer(manager, second, VERSION), WIDGET, force=force)


def fields(body: Body, manager: str) -> set[tuple[str, ...]]:
    for entry in body["metadata"].get("managedFields", []):
        if entry["manager"] == manager:
            return set(fieldset.paths(entry["fieldsV1"]))
    return set()


def value(body: Body) -> Any:
    """The body without owners; what holds nothing is left out."""
    return _filled(entries.bare(body))


def _filled(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: filled for key, inner in part.items() if (filled := _filled(inner)) not in (None, {}, [])}
    return [_filled(item) for item in part] if isinstance(part, list) else part


@given(SPECS, SPECS)
def test_apply_is_idempotent(first: Body, second: Body) -> None:
    body = apply(apply(None, first, "other", 1), second, "one", 2)
    assert apply(body, second, "one", 3) == body


@given(SPECS, SPECS)
def test_forced_what_was_applied_is_there(first: Body, second: Body) -> None:
    body = apply(apply(None, first, "other", 1), second, "one", 2)
    assert merge.merge(WIDGET, body, widget(second)) is body


@given(SPECS, SPECS)
def test_the_applier_owns_exactly_what_it_names(first: Body, second: Body) -> None:
    body = apply(apply(None, first, "other", 1), second, "one", 2)
    named = fieldset.difference(typed.fields_of(WIDGET, widget(second)), _IDENTITY)
    assert fields(body, "one") == set(fieldset.paths(named))


_IDENTITY = {"f:apiVersion": {}, "f:kind": {}, "f:metadata": {".": {}, "f:name": {}}}


@given(SPECS)
def test_applying_nothing_takes_everything_away(spec: Body) -> None:
    body = managed.apply(
        apply(None, spec, "one", 1),
        {"apiVersion": VERSION, "kind": "Widget", "metadata": {"name": "w"}},
        writer("one", 2, VERSION),
        WIDGET,
    )
    assert _filled(body) == {"apiVersion": VERSION, "kind": "Widget", "metadata": {"name": "w"}}


@given(SPECS, SPECS)
def test_an_owner_that_comes_and_goes_leaves_no_trace(first: Body, second: Body) -> None:
    before = apply(None, first, "one", 1)
    try:
        body = apply(before, second, "two", 2, force=False)
    except ApiError:
        return
    after = apply(body, {}, "two", 3)
    assert compare.compare(WIDGET, _kept(value(before)), _kept(value(after))).is_empty()
    assert fields(after, "one") == fields(before, "one")


def _kept(body: Body) -> Body:
    """With a spec, even an empty one: who applies ``spec: {}`` owns it."""
    return {"spec": {}, **body}


@given(SPECS, SPECS)
def test_disjoint_fields_never_conflict_and_nobody_loses_any(first: Body, second: Body) -> None:
    second = {key: inner for key, inner in second.items() if key not in first}
    one = apply(None, first, "one", 1, force=False)
    both = apply(one, second, "two", 2, force=False)
    assert fields(both, "one") == fields(one, "one")
    assert value(both) == value(apply(apply(None, second, "two", 1), first, "one", 2))


FLAT = st.fixed_dictionaries({}, optional={"number": st.integers(0, 1), "map": MAPS, "whole": MAPS, "list": ITEMS})
"""Without values that can change their shape: of such a one the parts are lost without a conflict."""


@given(FLAT, FLAT)
def test_equal_values_are_shared_and_different_ones_conflict(first: Body, second: Body) -> None:
    one = apply(None, first, "one", 1)
    two = apply(one, second, "two", 2)
    taken = fields(one, "one") - fields(two, "one")
    if not taken:
        assert apply(one, second, "two", 2, force=False) == two
        return
    with pytest.raises(ApiError) as conflict:
        apply(one, second, "two", 2, force=False)
    assert conflict.value.details is not None
    told = [cause["field"] for cause in conflict.value.details["causes"]]
    assert told == [fieldset.written(path) for path in fieldset.paths(_set_of(taken))]


def _set_of(paths: set[tuple[str, ...]]) -> fieldset.FieldSet:
    total: fieldset.FieldSet = {}
    for path in paths:
        single: fieldset.FieldSet = {}
        for step in reversed(path):
            single = {step: single}
        total = fieldset.union(total, single)
    return total


@given(SPECS, SPECS)
def test_nothing_is_owned_that_is_not_there(first: Body, second: Body) -> None:
    body = apply(None, first, "one", 1)
    after = managed.update(body, {**body, "spec": second}, writer("two", 2, VERSION), WIDGET)
    there = set(fieldset.paths(compare._whole(WIDGET, after)))
    assert fields(after, "one") | fields(after, "two") <= there


@given(SPECS, SPECS)
def test_what_differs_merged_in_and_what_is_gone_removed_gives_the_new_body(first: Body, second: Body) -> None:
    old, new = widget(first), widget(second)
    change = compare.compare(WIDGET, old, new)
    merged = merge.merge(WIDGET, merge.remove(WIDGET, old, change.removed), new)
    assert compare.compare(WIDGET, merged, new).is_empty()


@given(SPECS, SPECS, SPECS, SPECS)
def test_pruning_in_one_version_is_pruning_across_versions(made: Body, first: Body, second: Body, other: Body) -> None:
    body = managed.update(None, widget(made), writer("maker", 0, VERSION), WIDGET)
    body["metadata"]["uid"] = "u"
    body = apply(apply(body, first, "one", 1), other, "two", 2)
    owners = entries.read(entries.stored_list(body))
    who = entries.identity("one", entries.APPLY, VERSION, "")
    last = owners[who] if who in owners else entries.Entry({}, VERSION)
    named = fieldset.difference(typed.fields_of(WIDGET, widget(second)), _IDENTITY)
    owners[who] = entries.Entry(named, VERSION)
    merged = merge.merge(WIDGET, entries.bare(body), widget(second))
    face = tracking.Face(VERSION, WIDGET, {}, lambda body, version: None)
    assert tracking._prune(face, merged, owners, last) == tracking._prune_across(face, merged, owners, last)


@given(SPECS, SPECS)
def test_bodies_are_never_changed_in_place(first: Body, second: Body) -> None:
    body = apply(None, first, "one", 1)
    kept, config = copy.deepcopy(body), widget(second)
    managed.apply(body, config, writer("two", 2, VERSION), WIDGET, force=True)
    managed.update(body, {**body, "spec": second}, writer("two", 2, VERSION), WIDGET)
    assert body == kept
    assert config == widget(second)
