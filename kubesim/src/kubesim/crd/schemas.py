"""Checks the schema of one version of a definition: walks it in the order in which Kubernetes complains.

``structural`` has the shape, ``defaults`` what defaults must hold, ``markers`` the list and map types, ``rule_check``
the validation rules; what is supported, and where, is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kubesim import status
from kubesim.crd import defaults, golang, markers, paths, rule_check, shape, structural
from kubesim.status import FieldError

Schema = Mapping[str, Any]
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_ROOT_WITH_STATUS: Final = (
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a schema we are, as far as it decides what is allowed."""

    no_default: str = ""
    """Why a default is forbidden here; empty: it is not."""
    in_meta: bool = False
    uncorrelatable: str = ""
    """The list or map within which ``oldSelf`` has no counterpart."""


def check(schema: Schema, path: str, *, status_enabled: bool) -> list[FieldError]:
    """``path`` is that of ``openAPIV3Schema``."""
    errors = _root(schema, path) if status_enabled else []
    if schema.get("nullable"):
        errors.append(status.forbidden_field(paths.child(path, "nullable"), "nullable cannot be true at the root"))
    unsupported = any(schema.get(name) for name in structural.UNSUPPORTED)
    found = [] if unsupported else structural.check(schema, path)
    typed = not found and not unsupported
    if typed:
        found = defaults.check(schema, path, root=True)
        typed = not found
    errors += found
    schema_errors, rule_errors = _walk(schema, path, _Place(), schema if typed else None, root=True)
    return errors + schema_errors + rule_errors


def _root(schema: Schema, path: str) -> list[FieldError]:
    kind = schema.get("type") or ""
    if kind != "object" and kind:
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [status.invalid_value(paths.child(path, "type"), kind, detail)]
    allowed = {name for name, _ in _ROOT_WITH_STATUS}
    for name, value in schema.items():
        if value not in (None, "", False, [], {}) and name not in allowed:
            names = " ".join(shown for _, shown in _ROOT_WITH_STATUS)
            detail = f"only [{names}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [status.invalid_value(path, golang.fragment(golang.schema(schema)), detail)]
    return []


def _walk(
    schema: Schema, path: str, place: _Place, types: Schema | None, *, root: bool = False
) -> tuple[list[FieldError], list[FieldError]]:
    """(complaints about the schema, complaints about rules). ``types`` is ``None`` where rules cannot be compiled."""
    errors = _supported(schema, path, place)
    rule_errors: list[FieldError] = []

    def into(inner: Any, where: str, inside: _Place, inner_types: Any = None) -> None:
        if isinstance(inner, Mapping):
            more, more_rules = _walk(inner, where, inside, inner_types if isinstance(inner_types, Mapping) else None)
            errors.extend(more)
            rule_errors.extend(more_rules)

    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(status.forbidden_field(paths.child(path, "uniqueItems"), detail))
    rest = schema.get("additionalProperties")
    if rest is not None:
        where = paths.child(path, "additionalProperties")
        if schema.get("properties") and rest is not True:
            errors.append(status.forbidden_field(where, "additionalProperties and properties are mutual exclusive"))
        inside = (
            replace(place, no_default="inside additionalProperties applying to object metadata")
            if place.in_meta
            else place
        )
        into(rest, where, inside, types and rest)
    is_resource = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, inner in structural.fields(schema, "properties").items():
        inside = place
        if is_resource and name in shape.META:
            inside = replace(place, in_meta=True, no_default=f"in top-level {name}" if root else place.no_default)
        into(inner, paths.key(paths.child(path, "properties"), name), inside, types and inner)
    into(schema.get("not"), paths.child(path, "not"), place)
    for kind in ("allOf", "oneOf", "anyOf"):
        for at, branch in enumerate(schema.get(kind) or ()):
            into(branch, paths.index(paths.child(path, kind), at), place)
    for name, inner in structural.fields(schema, "definitions").items():
        into(inner, paths.key(paths.child(path, "definitions"), name), place)
    items = schema.get("items")
    if items is not None:
        inside = place
        if schema.get("x-kubernetes-list-type") != "map" and not place.uncorrelatable:
            inside = replace(place, uncorrelatable=path)
        if isinstance(items, Mapping):
            into(items, paths.child(path, "items"), inside, types and items)
        else:
            for at, inner in enumerate(items):
                into(inner, paths.index(paths.child(path, "items"), at), inside)
    errors += markers.check(schema, path)
    errors += rule_check.check_texts(schema, path)
    if types is not None and not errors:
        rule_errors += rule_check.check_programs(schema, path, root=root, uncorrelatable=place.uncorrelatable)
    return errors, rule_errors


def _supported(schema: Schema, path: str, place: _Place) -> list[FieldError]:
    errors = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        errors.append(status.not_supported(paths.child(path, "type"), kind, _TYPES))
    if schema.get("default") is not None and place.no_default:
        errors.append(status.forbidden_field(paths.child(path, "default"), f"must not be set {place.no_default}"))
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        if schema.get(name):
            errors.append(status.forbidden_field(paths.child(path, name), f"{name} is not supported"))
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        errors.append(status.forbidden_field(paths.child(path, "type"), detail))
    if isinstance(schema.get("items"), list):
        errors.append(
            status.forbidden_field(paths.child(path, "items"), "items must be a schema object and not an array")
        )
    if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
        where = paths.child(path, "x-kubernetes-embedded-resource")
        errors.append(status.forbidden_field(where, "must not be used inside of resource meta"))
    return errors
