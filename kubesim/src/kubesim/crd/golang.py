"""Definitions as Go prints its structs: complaints quote the offending version or rule whole, with Go's names in Go's
order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

_SCHEMA: Final = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)


def fragment(value: Any) -> orjson.Fragment:
    """JSON whose keys stay in order when a complaint prints it."""
    return orjson.Fragment(orjson.dumps(value))


def rule(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Rule": value.get("rule") or "",
        "Message": value.get("message") or "",
        "MessageExpression": value.get("messageExpression") or "",
        "Reason": value.get("reason"),
        "FieldPath": value.get("fieldPath") or "",
        "OptionalOldSelf": value.get("optionalOldSelf"),
    }


def schema(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    shown: dict[str, Any] = {}
    for name, key, empty in _SCHEMA:
        inner = value.get(key, empty)
        if inner is not None and inner != empty:
            inner = _inner(key, inner)
        shown[name] = inner
    return shown


def _inner(key: str, value: Any) -> Any:
    if key == "items":
        single = isinstance(value, Mapping)
        return {
            "Schema": schema(value) if single else None,
            "JSONSchemas": None if single else [schema(one) for one in value],
        }
    if key in ("additionalProperties", "additionalItems"):
        single = isinstance(value, Mapping)
        return {"Allows": True if single else value, "Schema": schema(value) if single else None}
    if key in ("allOf", "oneOf", "anyOf"):
        return [schema(one) for one in value]
    if key == "not":
        return schema(value)
    if key in ("properties", "patternProperties", "definitions"):
        return {name: schema(one) for name, one in sorted(value.items())}
    return [rule(one) for one in value] if key == "x-kubernetes-validations" else value


def version(value: Mapping[str, Any]) -> dict[str, Any]:
    columns, selectable = value.get("additionalPrinterColumns"), value.get("selectableFields")
    return {
        "Name": value.get("name") or "",
        "Served": bool(value.get("served")),
        "Storage": bool(value.get("storage")),
        "Deprecated": bool(value.get("deprecated")),
        "DeprecationWarning": value.get("deprecationWarning"),
        "Schema": {"OpenAPIV3Schema": schema(value["schema"].get("openAPIV3Schema"))}
        if value.get("schema") is not None
        else None,
        "Subresources": _subresources(value.get("subresources")),
        "AdditionalPrinterColumns": [_column(column) for column in columns] if columns else None,
        "SelectableFields": [{"JSONPath": one.get("jsonPath") or ""} for one in selectable] if selectable else None,
    }


def _subresources(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    scale = value.get("scale")
    return {
        "Status": {} if value.get("status") is not None else None,
        "Scale": {
            "SpecReplicasPath": scale.get("specReplicasPath") or "",
            "StatusReplicasPath": scale.get("statusReplicasPath") or "",
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        }
        if scale is not None
        else None,
    }


def _column(value: Mapping[str, Any]) -> dict[str, Any]:
    names = (("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description"))
    shown: dict[str, Any] = {name: value.get(key) or "" for name, key in names}
    return {**shown, "Priority": value.get("priority") or 0, "JSONPath": value.get("jsonPath") or ""}
