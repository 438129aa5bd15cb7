"""Sets of fields: algebra against plain Python sets of paths, the written form, what a client may send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.managed import fieldset

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"s"', "i:0"])
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)
PATH_SETS = st.frozensets(PATHS, max_size=8)


def of(paths: Any) -> fieldset.FieldSet:
    """The set with exactly these members."""
    total: fieldset.FieldSet = {}
    for path in paths:
        single: fieldset.FieldSet = {}
        for step in reversed(path):
            single = {step: single}
        total = fieldset.union(total, single)
    return total


def members(fields: fieldset.FieldSet) -> frozenset[tuple[str, ...]]:
    return frozenset(fieldset.paths(fields))


@given(PATH_SETS)
def test_a_set_has_the_members_it_was_made_of(paths: frozenset[tuple[str, ...]]) -> None:
    assert members(of(paths)) == paths


@given(PATH_SETS, PATH_SETS)
def test_the_algebra_is_that_of_sets_of_paths(left: Any, right: Any) -> None:
    assert members(fieldset.union(of(left), of(right))) == left | right
    assert members(fieldset.difference(of(left), of(right))) == left - right
    assert members(fieldset.intersection(of(left), of(right))) == left & right


@given(PATH_SETS, PATH_SETS)
def test_operands_are_never_changed(left: Any, right: Any) -> None:
    one, two = of(left), of(right)
    fieldset.union(one, two)
    fieldset.difference(one, two)
    fieldset.intersection(one, two)
    assert (members(one), members(two)) == (left, right)


@given(PATH_SETS, PATHS)
def test_an_excluded_leaf_takes_everything_below_it(paths: Any, excluded: tuple[str, ...]) -> None:
    left = members(fieldset.without(of(paths), of([excluded])))
    assert left == {path for path in paths if path[: len(excluded)] != excluded}


def test_a_step_with_nothing_below_is_a_member_and_a_dot_says_so_above_others() -> None:
    assert members({"f:data": {".": {}, "f:k": {}}}) == {("f:data",), ("f:data", "f:k")}
    assert members({"f:data": {"f:k": {}}}) == {("f:data", "f:k")}


def test_taking_what_is_below_leaves_the_member_above() -> None:
    assert fieldset.difference({"f:data": {".": {}, "f:k": {}}}, {"f:data": {"f:k": {}}}) == {"f:data": {}}


def test_paths_of_field_names() -> None:
    fields = fieldset.from_paths([("status",), ("metadata", "labels")])
    assert fields == {"f:status": {}, "f:metadata": {"f:labels": {}}}
    assert fieldset.has(fields, ("metadata", "labels"))
    assert not fieldset.has(fields, ("metadata",))
    assert not fieldset.has(fields, ("spec",))


def test_members_are_told_level_by_level_fields_before_keys_before_values() -> None:
    fields = {
        'v:"z"': {},
        "i:10": {},
        "i:2": {},
        'k:{"port":80}': {".": {}, "f:b": {}},
        'k:{"port":9}': {},
        "f:b": {"f:c": {}},
        "f:a": {},
    }
    told = [fieldset.written(path) for path in fieldset.paths(fields)]
    assert told == [".a", "[port=9]", "[port=80]", '[="z"]', "[2]", "[10]", ".b.c", "[port=80].b"]


def test_a_path_is_written_with_keys_in_brackets() -> None:
    path = ("f:spec", "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}', "f:name")
    assert fieldset.written(path) == '.spec.ports[containerPort=80,protocol="TCP"].name'
    assert fieldset.written(("f:finalizers", 'v:"example.com/a"')) == '.finalizers[="example.com/a"]'
    assert fieldset.written(("f:flags", "v:true", "i:0")) == ".flags[=true][0]"


def test_a_sent_set_gets_canonical_keys() -> None:
    sent = {"f:ports": {'k:{"protocol":"TCP", "port":80}': {".": {}}}}
    assert fieldset.canonical(sent) == {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}}}}


@pytest.mark.parametrize(
    "sent", [[], "x", {"f:a": 1}, {"x:a": {}}, {"k:nope": {}}, {"k:{}": {}}, {"v:": {}}, {"i:one": {}}, {"": {}}]
)
def test_what_is_no_set_is_refused(sent: Any) -> None:
    with pytest.raises(ValueError):
        fieldset.canonical(sent)
