"""What makes a definition invalid, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim import crd
from tests.crd import made

Body = dict[str, Any]
SCHEMA = "spec.validation.openAPIV3Schema"


def complaints(body: Body) -> list[str]:
    return [error.message() for error in crd.definition_kind().validate(made.stored(body))]


def of_schema(schema: Body, **more: Any) -> list[str]:
    return complaints(made.definition(made.version(schema=schema, **more)))


def of_field(field: Body) -> list[str]:
    return of_schema({"type": "object", "properties": {"a": field}})


def test_a_plain_definition_is_fine() -> None:
    assert complaints(made.definition()) == []


FIELDS: dict[str, tuple[Body, list[str]]] = {
    "a field needs a type": (
        {},
        [f"{SCHEMA}.properties[a].type: Required value: must not be empty for specified object fields"],
    ),
    "items of a list need a type": (
        {"type": "array", "items": {}},
        [f"{SCHEMA}.properties[a].items.type: Required value: must not be empty for specified array items"],
    ),
    "a default holds against its schema": (
        {"type": "integer", "minimum": 3, "default": 1},
        [f"{SCHEMA}.properties[a].default: Invalid value: 1:  in body should be greater than or equal to 3"],
    ),
    "a default has no unknown fields": (
        {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}},
        [f'{SCHEMA}.properties[a].default: Invalid value: {{"c":1}}: must not have unknown fields'],
    ),
    "a pattern compiles": (
        {"type": "string", "pattern": "a("},
        [
            f'{SCHEMA}.properties[a].pattern: Invalid value: "a(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `a(`"
        ],
    ),
    "properties exclude additionalProperties": (
        {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        [
            f"{SCHEMA}.properties[a].additionalProperties: Forbidden: "
            "additionalProperties and properties are mutual exclusive"
        ],
    ),
    "unique items are too slow": (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        [
            f"{SCHEMA}.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
            "complexity becomes quadratic"
        ],
    ),
    "a keyed list names its keys": (
        {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
        [
            f"{SCHEMA}.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
            "x-kubernetes-list-type is map"
        ],
    ),
    "a key is required or has a default": (
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
        [
            f"{SCHEMA}.properties[a].items.properties[k].default: Required value: this property is in "
            "x-kubernetes-list-map-keys, so it must have a default or be a required property"
        ],
    ),
    "list types are three": (
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"},
        [
            f'{SCHEMA}.properties[a].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", '
            '"set", "map"'
        ],
    ),
    "unknown fields are preserved or not said": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        [
            f"{SCHEMA}.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or "
            "undefined"
        ],
    ),
    "a branch has no type": (
        {"type": "string", "anyOf": [{"type": "string"}]},
        [f"{SCHEMA}.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"],
    ),
    "except that of int-or-string": (
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        [],
    ),
    "references are not supported": (
        {"type": "string", "$ref": "x"},
        [f"{SCHEMA}.properties[a].$ref: Forbidden: $ref is not supported"],
    ),
}


@pytest.mark.parametrize(("field", "wanted"), FIELDS.values(), ids=FIELDS.keys())
def test_a_field_is_refused(field: Body, wanted: list[str]) -> None:
    assert of_field(field) == wanted


RULE_PATH = f"{SCHEMA}.properties[a].x-kubernetes-validations[0]"


def shown(**fields: Any) -> str:
    """A rule as Go prints it."""
    names = ("Rule", "Message", "MessageExpression", "Reason", "FieldPath", "OptionalOldSelf")
    empty = {"Reason": "null", "OptionalOldSelf": "null"}
    return "{" + ",".join(f'"{name}":{fields.get(name, empty.get(name, chr(34) * 2))}' for name in names) + "}"


RULES: dict[str, tuple[Body, list[str]]] = {
    "a rule says something": ({"rule": " "}, [f"{RULE_PATH}.rule: Required value: rule is not specified"]),
    "a message has one line": (
        {"rule": "true", "message": "a\nb"},
        [f'{RULE_PATH}.message: Invalid value: "a\\nb": must not contain line breaks'],
    ),
    "reasons are four": (
        {"rule": "true", "reason": "Because"},
        [
            f'{RULE_PATH}.reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
        ],
    ),
    "a field path leads somewhere": (
        {"rule": "true", "fieldPath": ".nope"},
        [f'{RULE_PATH}.fieldPath: Invalid value: ".nope": must be a valid path'],
    ),
    "a rule compiles": (
        {"rule": "self.nope"},
        [
            f"{RULE_PATH}.rule: Invalid value: {shown(Rule=chr(34) + 'self.nope' + chr(34))}: compilation failed: "
            "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^"
        ],
    ),
    "a rule is true or false": (
        {"rule": "self.b"},
        [
            f"{RULE_PATH}.rule: Invalid value: {shown(Rule=chr(34) + 'self.b' + chr(34))}: cel expression must "
            "evaluate to a bool"
        ],
    ),
    "optionalOldSelf needs oldSelf": (
        {"rule": "true", "optionalOldSelf": True},
        [f"{RULE_PATH}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
    ),
}


@pytest.mark.parametrize(("rule", "wanted"), RULES.values(), ids=RULES.keys())
def test_a_rule_is_refused(rule: Body, wanted: list[str]) -> None:
    field = {"type": "object", "properties": {"b": {"type": "string"}}, "x-kubernetes-validations": [rule]}
    assert of_field(field) == wanted


def test_a_former_self_needs_a_counterpart() -> None:
    items = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    assert of_field({"type": "array", "items": items}) == [
        f'{SCHEMA}.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf '
        f"cannot be used on the uncorrelatable portion of the schema within {SCHEMA}.properties[a]"
    ]


def test_versions_that_differ_are_named_each() -> None:
    other = {"type": "object", "properties": {"a": {"type": "text"}}}
    assert complaints(made.definition(made.version(), made.version("v2", other))) == [
        'spec.versions[1].schema.openAPIV3Schema.properties[a].type: Unsupported value: "text": supported values: '
        '"array", "boolean", "integer", "number", "object", "string"'
    ]


def test_metadata_is_implicit() -> None:
    schema = {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"x": {"type": "string"}}}}}
    assert of_schema(schema) == [
        f"{SCHEMA}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
        "metadata is implicitly specified"
    ]


def test_a_branch_speaks_of_known_fields() -> None:
    branch = {"required": ["x"], "properties": {"x": {"minLength": 1}}}
    assert of_schema({"type": "object", "oneOf": [branch]}) == [
        f"{SCHEMA}.properties[x]: Required value: because it is defined in {SCHEMA}.oneOf[0].properties[x]"
    ]


SUBRESOURCES: dict[str, tuple[Body, list[str]]] = {
    "scale reads below spec": (
        {"scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".status.x"}},
        [
            'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
        ],
    ),
    "scale needs both paths": (
        {"scale": {}},
        [
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ],
    ),
}


@pytest.mark.parametrize(("value", "wanted"), SUBRESOURCES.values(), ids=SUBRESOURCES.keys())
def test_a_subresource_is_refused(value: Body, wanted: list[str]) -> None:
    assert of_schema(made.OPEN, subresources=value) == wanted


def test_columns_have_names_types_and_paths() -> None:
    assert of_schema(made.OPEN, additionalPrinterColumns=[{"type": "text", "jsonPath": "spec"}]) == [
        "spec.additionalPrinterColumns[0].name: Required value",
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
        "boolean,date,integer,number,string",
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
    ]


def test_selectable_fields_are_plain_fields() -> None:
    schema = made.with_spec(a={"type": "string"}, l={"type": "array", "items": {"type": "string"}})
    fields = [{"jsonPath": path} for path in (".spec.a", ".spec.l", ".spec.x", ".spec.a")]
    assert of_schema(schema, selectableFields=fields) == [
        'spec.selectableFields[1].jsonPath: Invalid value: ".spec.l": must point to a field of type string, boolean '
        "or integer. Enum string fields and strings with formats are allowed.",
        'spec.selectableFields[2].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid '
        "field",
        'spec.selectableFields[3].jsonPath: Duplicate value: ".spec.a"',
    ]


def test_names_follow_the_rules_of_names() -> None:
    (text,) = complaints(made.definition(shortNames=["W"]))
    assert text.startswith('spec.names.shortNames[0]: Invalid value: "W": a DNS-1035 label must consist of')


def test_an_established_definition_keeps_scope_kind_group_and_plural() -> None:
    old = made.established(made.definition())
    new = {**old, "spec": {**old["spec"], "scope": "Cluster", "names": {**old["spec"]["names"], "kind": "Gadget"}}}
    assert [error.message() for error in crd.definition_kind().validate_update(new, old)] == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Gadget": field is immutable',
    ]


def test_a_version_that_was_stored_must_stay() -> None:
    old = made.established(made.definition())
    new = {**old, "spec": {**old["spec"], "versions": [made.version("v2", storage=True) | {"storage": True}]}}
    new = crd.definition_kind().prepare_update(new, old, made.CONTEXT)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert [error.message() for error in crd.definition_kind().validate_update(new, old)] == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
        "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 "
        "and removes v1 from status.storedVersions"
    ]


def test_unknown_formats_and_sets_of_objects_are_warned_of() -> None:
    schema = made.with_spec(
        a={"type": "string", "format": "fancy"},
        s={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
        },
    )
    assert crd.definition_kind().warnings(made.stored(made.definition(made.version(schema=schema))), None) == [
        'unrecognized format "fancy"',
        'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL '
        "validation rules",
    ]
