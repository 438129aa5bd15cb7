"""What a custom kind does to its objects: prune, default, refuse, compare with what was there before."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubesim import crd
from tests.crd import made
from tests.crd.made import kind_of, widget, with_spec

Body = dict[str, Any]


def refusals(schema: Body, **fields: Any) -> list[str]:
    return [error.message() for error in kind_of(schema).validate(widget(**fields))]


VALUES: dict[str, tuple[Body, Any, list[str]]] = {
    "a null where none is allowed": (
        {"type": "string"},
        None,
        ['spec.a: Invalid value: "null": spec.a in body must be of type string: "null"'],
    ),
    "a null where it is": ({"type": "string", "nullable": True}, None, []),
    "a whole number written with a point": ({"type": "integer"}, 1.0, []),
    "an integer for a number": ({"type": "number"}, 1, []),
    "true is no integer": (
        {"type": "integer"},
        True,
        ['spec.a: Invalid value: "boolean": spec.a in body must be of type integer: "boolean"'],
    ),
    "true is not in an enum of one": (
        {"enum": [1], "x-kubernetes-preserve-unknown-fields": True},
        True,
        ['spec.a: Unsupported value: true: supported values: "1"'],
    ),
    "too short": (
        {"type": "string", "minLength": 2},
        "a",
        ['spec.a: Invalid value: "a": spec.a in body should be at least 2 chars long'],
    ),
    "an exclusive bound": (
        {"type": "number", "maximum": 2.5, "exclusiveMaximum": True},
        2.5,
        ["spec.a: Invalid value: 2.5: spec.a in body should be less than 2.5"],
    ),
    "no multiple": (
        {"type": "integer", "multipleOf": 3},
        4,
        ["spec.a: Invalid value: 4: spec.a in body should be a multiple of 3"],
    ),
    "too few items": (
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        [],
        ["spec.a: Invalid value: 0: spec.a in body should have at least 1 items"],
    ),
    "too many properties": (
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
        {"x": "1", "y": "2"},
        ["spec.a: Too many: 2: must have at most 1 items"],
    ),
    "beyond 32 bits": (
        {"type": "integer", "format": "int32"},
        2**31,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a'],
    ),
    "none of the alternatives": (
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
        },
        {},
        [
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found none valid',
            "spec.a.x: Required value",
        ],
    ),
    "both alternatives": (
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
        },
        {"x": 1, "y": 1},
        [
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found 2 valid '
            "alternatives"
        ],
    ),
    "what must not be": (
        {"type": "string", "not": {"enum": ["x"]}},
        "x",
        ['<nil>: Invalid value: "": "spec.a" must not validate the schema (not)'],
    ),
    "no address": (
        {"type": "string", "format": "ipv4"},
        "1.2.3",
        ['spec.a: Invalid value: "1.2.3": spec.a in body must be of type ipv4: "1.2.3"'],
    ),
    "an unknown format is no rule": ({"type": "string", "format": "fancy"}, "anything", []),
    "a set repeats itself": (
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        ["a", "b", "a", "a"],
        ['spec.a[2]: Duplicate value: "a"'],
    ),
}


@pytest.mark.parametrize(("field", "value", "wanted"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_judged(field: Body, value: Any, wanted: list[str]) -> None:
    assert refusals(with_spec(a=field), spec={"a": value}) == wanted


def test_unknown_fields_are_dropped_and_told_in_order() -> None:
    schema = with_spec(
        a={"type": "string"},
        keep={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"k": {"type": "object"}}},
        items={"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
    )
    body = widget(spec={"a": "1", "b": 1, "keep": {"any": 1, "k": {"gone": 1}}, "items": [{"x": "1", "y": 2}]}, zzz=1)
    pruned, unknown = kind_of(schema).decode(body)  # type: ignore[misc]
    assert pruned["spec"] == {"a": "1", "keep": {"any": 1, "k": {}}, "items": [{"x": "1"}]}
    assert unknown == ["spec.b", "spec.items[0].y", "spec.keep.k.gone", "zzz"]
    assert body["spec"]["b"] == 1, "what was sent is not touched"


def test_a_body_without_unknown_fields_is_not_copied() -> None:
    body = widget(spec={"a": "1"})
    kind = kind_of(with_spec(a={"type": "string"}))
    assert kind.decode is not None
    assert kind.decode(body)[0] is body
    assert kind.default(body) is body
    assert kind.from_storage(body) is body


def test_defaults_are_filled_in_where_a_field_is_absent_or_null() -> None:
    schema = with_spec(
        n={"type": "integer", "default": 7},
        deep={"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "d"}}},
        maybe={"type": "string", "nullable": True, "default": "m"},
        each={"type": "array", "items": {"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}}},
    )
    body = widget(spec={"n": None, "maybe": None, "each": [{}]})
    assert kind_of(schema).default(body)["spec"] == {
        "n": 7,
        "deep": {"x": "d"},
        "maybe": None,
        "each": [{"p": "TCP"}],
    }


def test_an_update_may_keep_what_a_laxer_schema_let_in() -> None:
    kind = kind_of(with_spec(a={"type": "string", "maxLength": 1}, b={"type": "integer", "maximum": 5}))
    old = widget(spec={"a": "long", "b": 1})
    assert kind.validate_update(widget(spec={"a": "long", "b": 2}), old) == []
    assert [error.message() for error in kind.validate_update(widget(spec={"a": "other", "b": 9}), old)] == [
        "spec.a: Too long: may not be more than 1 bytes",
        "spec.b: Invalid value: 9: spec.b in body should be less than or equal to 5",
    ]


def test_items_of_keyed_lists_are_compared_by_their_keys() -> None:
    items = {
        "type": "object",
        "required": ["k"],
        "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}},
    }
    field = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items}
    kind = kind_of(with_spec(l=field))
    old = widget(spec={"l": [{"k": "a", "v": 9}]})
    moved = widget(spec={"l": [{"k": "b", "v": 1}, {"k": "a", "v": 9}]})
    assert kind.validate_update(moved, old) == []
    assert [error.field for error in kind.validate_update(widget(spec={"l": [{"k": "b", "v": 9}]}), old)] == [
        "spec.l[0].v"
    ]


def rule(text: str, **more: Any) -> Body:
    return {"rule": text, **more}


def test_transition_rules_run_on_updates_only() -> None:
    field = {"type": "string", "x-kubernetes-validations": [rule("self == oldSelf", message="fixed")]}
    kind = kind_of(with_spec(a=field))
    assert kind.validate(widget(spec={"a": "x"})) == []
    assert [error.message() for error in kind.validate_update(widget(spec={"a": "y"}), widget(spec={"a": "x"}))] == [
        'spec.a: Invalid value: "y": fixed'
    ]


def test_an_optional_former_self_makes_the_rule_run_always() -> None:
    checks = [rule("oldSelf.hasValue() || self == 'new'", optionalOldSelf=True)]
    kind = kind_of(with_spec(a={"type": "string", "x-kubernetes-validations": checks}))
    assert kind.validate(widget(spec={"a": "new"})) == []
    assert [error.message() for error in kind.validate(widget(spec={"a": "x"}))] == [
        "spec.a: Invalid value: \"x\": failed rule: oldSelf.hasValue() || self == 'new'"
    ]


def test_a_message_may_be_computed() -> None:
    checks = [rule("self <= 3", message="plain", messageExpression="'at most 3, not ' + string(self)")]
    assert refusals(with_spec(a={"type": "integer", "x-kubernetes-validations": checks}), spec={"a": 5}) == [
        "spec.a: Invalid value: 5: at most 3, not 5"
    ]


def test_a_message_that_fails_gives_way_to_the_plain_one() -> None:
    checks = [rule("self.size() > 1", message="plain", messageExpression="self[5]")]
    field = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": checks}
    assert refusals(with_spec(a=field), spec={"a": []}) == ["spec.a: Invalid value: plain"]


REASONS = {
    "FieldValueRequired": "spec.x: Required value: why",
    "FieldValueForbidden": "spec.x: Forbidden: why",
    "FieldValueDuplicate": "spec.x: Duplicate value",
    "FieldValueInvalid": "spec.x: Invalid value: why",
}


@pytest.mark.parametrize(("reason", "wanted"), REASONS.items())
def test_a_rule_chooses_its_reason_and_field(reason: str, wanted: str) -> None:
    schema = with_spec(x={"type": "string"})
    schema["properties"]["spec"]["x-kubernetes-validations"] = [
        rule("false", reason=reason, fieldPath=".x", message="why")
    ]
    assert refusals(schema, spec={"x": "1"}) == [wanted]


def test_rules_wait_until_types_are_right() -> None:
    schema = with_spec(a={"type": "integer"})
    schema["properties"]["spec"]["x-kubernetes-validations"] = [rule("self.a > 1")]
    assert refusals(schema, spec={"a": "x"}) == [
        'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct "
        "the existing errors to complete validation",
    ]


def test_an_evaluation_that_fails_is_told() -> None:
    field = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "x-kubernetes-validations": [rule("self['x'] == '1'")],
    }
    assert refusals(with_spec(a=field), spec={"a": {}}) == [
        "spec.a: Invalid value: \"object\": no such key: x evaluating rule: self['x'] == '1'"
    ]


def test_times_and_quantities_have_their_types_in_rules() -> None:
    schema = with_spec(
        start={"type": "string", "format": "date-time"},
        end={"type": "string", "format": "date-time"},
        pause={"type": "string", "format": "duration"},
    )
    schema["properties"]["spec"]["x-kubernetes-validations"] = [
        rule("self.start + self.pause < self.end", message="late")
    ]
    times = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z"}
    assert refusals(schema, spec={**times, "pause": "30m"}) == []
    assert refusals(schema, spec={**times, "pause": "2h"}) == ["spec: Invalid value: late"]


def test_rules_at_the_root_see_the_name() -> None:
    schema = {
        **with_spec(a={"type": "string"}),
        "x-kubernetes-validations": [rule("self.metadata.name != 'w'", message="no w")],
    }
    assert refusals(schema) == ["<nil>: Invalid value: no w"]


def test_names_that_cel_cannot_say_are_escaped() -> None:
    schema = with_spec(**{"a-b": {"type": "integer"}, "namespace": {"type": "string"}})
    checks = [rule("self.a__dash__b > 1 && self.__namespace__ == 'x'")]
    schema["properties"]["spec"]["x-kubernetes-validations"] = checks
    assert refusals(schema, spec={"a-b": 2, "namespace": "x"}) == []


def test_status_is_apart_when_the_definition_says_so() -> None:
    schema = {"type": "object", "properties": {"status": {"type": "object", "properties": {"p": {"type": "string"}}}}}
    kind = kind_of(schema, subresources={"status": {}})
    old = widget(spec=1, status={"p": "old"})
    assert kind.prepare_create(widget(status={"p": "x"}), made.CONTEXT) == widget()
    assert kind.prepare_update(widget(status={"p": "x"}), old, made.CONTEXT)["status"] == {"p": "old"}
    changed = kind.prepare_status(widget(spec=2, status={"p": "new"}), old)
    assert (changed["spec"], changed["status"]) == (1, {"p": "new"})
    assert not kind.generation_moves(widget(spec=1, status={"p": "new"}), old)
    assert [error.message() for error in kind.validate_status(widget(status={"p": 5}), old)] == [
        'status.p: Invalid value: "integer": p in body must be of type string: "integer"'
    ]


def test_without_it_status_counts_like_everything_else() -> None:
    kind = kind_of(made.OPEN)
    assert kind.generation_moves(widget(status=1), widget(status=2))
    assert not kind.generation_moves(widget(metadata={"name": "w", "labels": {}}), widget())


def test_versions_are_faces_of_the_same_object() -> None:
    body = made.established(
        made.definition(
            made.version(schema=with_spec(a={"type": "string"}, b={"type": "string"})),
            made.version("v1beta1", with_spec(a={"type": "string"}, n={"type": "integer", "default": 1})),
            made.version("v2alpha1") | {"served": False},
        )
    )
    first, beta = crd.custom_kinds(body)
    assert (first.version, beta.version) == ("v1", "v1beta1")
    stored = first.to_storage(widget(spec={"a": "1", "b": "2"}))
    assert beta.from_storage(stored) == widget(spec={"a": "1"}) | {"apiVersion": "example.com/v1beta1"}
    assert first.storage_key == beta.storage_key == "widgets.example.com"


def test_a_deprecated_version_points_to_a_better_one() -> None:
    versions = [
        made.version(),
        made.version("v1beta1", deprecated=True),
        made.version("v2beta1", deprecated=True, deprecationWarning="use v1"),
    ]
    kinds = {kind.version: kind for kind in crd.custom_kinds(made.established(made.definition(*versions)))}
    assert kinds["v1beta1"].deprecated == "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"
    assert kinds["v2beta1"].deprecated == "use v1"
    assert kinds["v1"].deprecated == ""


def test_scale_paths_must_hold_small_numbers() -> None:
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    kind = kind_of(made.OPEN, subresources={"scale": paths})
    assert kind.scale is not None
    assert kind.scale.replicas == ("spec", "n")
    errors = kind.validate(widget(spec={"n": -1}, status={"n": 2**31, "s": 5}))
    assert [error.message() for error in errors] == [
        ".spec.n: Invalid value: -1: should be a non-negative integer",
        ".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
        '.status.s: Invalid value: "": .status.s accessor error: 5 is of the type int64, expected string',
    ]


def test_columns_pick_values_by_their_paths() -> None:
    columns = [
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {"name": "First", "type": "string", "jsonPath": ".spec.items[*].key"},
        {"name": "Label", "type": "string", "jsonPath": ".metadata.labels.example\\.com/x"},
        {"name": "All", "type": "string", "jsonPath": ".spec.items"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Gone", "type": "number", "jsonPath": ".spec.gone"},
    ]
    kind = kind_of(made.OPEN, additionalPrinterColumns=columns)
    body = widget(
        spec={"count": 3, "items": [{"key": "a"}, {"key": "b"}]},
        status={"conditions": [{"type": "Other", "status": "?"}, {"type": "Ready", "status": "True"}]},
    )
    body["metadata"] |= {"labels": {"example.com/x": "y"}, "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert kind.row is not None
    assert kind.row(body, datetime(2026, 1, 1, 0, 5, tzinfo=UTC)) == [
        "w", "True", 3, "a", "y", '[{"key":"a"},{"key":"b"}]', "5m", None
    ]  # fmt: skip
    assert [column.name for column in kind.columns][:2] == ["Name", "Ready"]


def test_finalizers_without_a_domain_are_warned_of() -> None:
    body = widget()
    body["metadata"]["finalizers"] = ["hold", "example.com/hold", "foregroundDeletion"]
    assert kind_of(made.OPEN).warnings(body, None) == [
        'metadata.finalizers: "hold": prefer a domain-qualified finalizer name to avoid accidental conflicts with '
        "other finalizer writers"
    ]
