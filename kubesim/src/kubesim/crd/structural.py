"""Is a schema structural? Every value must have a known shape, and validations may only narrow it, never add to it.

Kubernetes: structural schemas. Complaints are sorted by text, as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import paths, regex
from kubesim.status import FieldError

Schema = Mapping[str, Any]
INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
UNSUPPORTED: Final = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_MISSING_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_EMPTY_WHEN_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_KEEPS_FALSE: Final = frozenset({"default", "additionalProperties"})


def check(schema: Schema, path: str) -> list[FieldError]:
    """Complaints about the whole schema, ``path`` being its place in the definition."""
    errors = _check(schema, "root", path) + _complete(schema, schema, path, path)
    return sorted(errors, key=lambda error: error.message())


def fields(schema: Schema, name: str) -> Mapping[str, Any]:
    """A map of schemas (``properties``), ordered by name: Kubernetes has no order there, people like one."""
    inner = schema.get(name) or {}
    return dict(sorted(inner.items()))


def _check(schema: Schema, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type") or ""
    items, rest = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        errors.append(status.required(paths.child(path, "items"), "must be specified"))
    if isinstance(items, Mapping):
        errors += _check(items, "item", paths.child(path, "items"))
    for name, inner in fields(schema, "properties").items():
        errors += _check(inner, "field", paths.key(paths.child(path, "properties"), name))
    if rest is not None:
        if level == "root":
            errors.append(
                status.forbidden_field(paths.child(path, "additionalProperties"), "must not be used at the root")
            )
        if isinstance(rest, Mapping):
            errors += _check(rest, "field", paths.child(path, "additionalProperties"))
    errors += _extensions(schema, path)
    skip_any = schema.get("anyOf") == INT_OR_STRING
    all_of = schema.get("allOf") or []
    skip_first = bool(all_of) and all_of[0].get("anyOf") == INT_OR_STRING
    errors += _validations(schema, level, path, skip_any=skip_any, skip_first=skip_first)
    errors += _types(schema, kind, level, path)
    errors += _meta(schema, level, path)
    return errors


def _extensions(schema: Schema, path: str) -> list[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return []
    detail = "must be false if x-kubernetes-int-or-string is true"
    names = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
    return [status.invalid_value(paths.child(path, name), True, detail) for name in names if schema.get(name)]


def _types(schema: Schema, kind: str, level: str, path: str) -> list[FieldError]:
    errors = []
    embedded = schema.get("x-kubernetes-embedded-resource")
    place = paths.child(path, "type")
    open_type = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(status.invalid_value(place, kind, detail) if kind else status.required(place, detail))
    elif not kind and not open_type:
        errors.append(status.required(place, _MISSING_TYPE[level]))
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(status.forbidden_field(paths.child(path, "additionalProperties"), detail))
    if level == "root" and kind not in ("", "object"):
        errors.append(status.invalid_value(place, kind, "must be object at the root"))
    return errors


def _meta(schema: Schema, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    properties = schema.get("properties") or {}
    embedded = schema.get("x-kubernetes-embedded-resource")
    is_resource = level == "root" or bool(embedded)
    inner = paths.child(path, "properties")
    for name in ("kind", "apiVersion"):
        if is_resource and name in properties and properties[name].get("type") != "string":
            place = paths.child(paths.key(inner, name), "type")
            errors.append(status.invalid_value(place, properties[name].get("type") or "", "must be string"))
    if "metadata" in properties:
        errors += _metadata(properties["metadata"], is_resource, level, paths.key(inner, "metadata"))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(status.required(inner, detail))
    return errors


def _metadata(schema: Schema, is_resource: bool, level: str, path: str) -> list[FieldError]:
    errors = []
    if is_resource and schema.get("type") != "object":
        errors.append(status.invalid_value(paths.child(path, "type"), schema.get("type") or "", "must be object"))
    if level == "root":
        rest = {name for name, value in schema.items() if value and name not in ("type", "default", "properties")}
        if rest or not set(schema.get("properties") or {}) <= {"name", "generateName"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(status.forbidden_field(path, detail))
    return errors


def _validations(
    schema: Schema, level: str, path: str, *, skip_any: bool = False, skip_first: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not skip_any:
        for at, branch in enumerate(schema.get("anyOf") or ()):
            errors += _nested(branch, level, paths.index(paths.child(path, "anyOf"), at))
    for at, branch in enumerate(schema.get("allOf") or ()):
        place = paths.index(paths.child(path, "allOf"), at)
        errors += _nested(branch, level, place, skip_any=skip_first and at == 0, rules_allowed=False)
    for at, branch in enumerate(schema.get("oneOf") or ()):
        errors += _nested(branch, level, paths.index(paths.child(path, "oneOf"), at))
    if schema.get("not") is not None:
        errors += _nested(schema["not"], level, paths.child(path, "not"))
    pattern = schema.get("pattern")
    if pattern:
        try:
            regex.compile_pattern(pattern)
        except regex.RegexError as problem:
            detail = f"must be a valid regular expression, but isn't: {problem}"
            errors.append(status.invalid_value(paths.child(path, "pattern"), pattern, detail))
    return errors


def _nested(
    schema: Schema, level: str, path: str, *, skip_any: bool = False, rules_allowed: bool = False
) -> list[FieldError]:
    errors = _validations(schema, level, path, skip_any=skip_any)
    if isinstance(schema.get("items"), Mapping):
        errors += _nested(schema["items"], level, paths.child(path, "items"))
    for name, inner in fields(schema, "properties").items():
        errors += _nested(inner, "field", paths.key(paths.child(path, "properties"), name))
    for name, detail in _EMPTY_WHEN_NESTED:
        value = schema.get(name)
        set_here = value is not None if name in _KEEPS_FALSE else bool(value)
        if set_here and not (rules_allowed and name == "x-kubernetes-validations"):
            errors.append(status.forbidden_field(paths.child(path, name), detail))
    if "metadata" in (schema.get("properties") or {}):
        place = paths.key(paths.child(path, "properties"), "metadata")
        errors.append(status.forbidden_field(place, "must not be specified in a nested context"))
    return errors


def _complete(validation: Schema, shape: Schema, shape_path: str, path: str) -> list[FieldError]:
    """What a nested validation speaks of must exist in the structure outside it."""
    errors: list[FieldError] = []
    if validation.get("not") is not None:
        errors += _complete_nested(validation["not"], shape, shape_path, paths.child(path, "not"))
    for kind in ("allOf", "anyOf", "oneOf"):
        for at, branch in enumerate(validation.get(kind) or ()):
            errors += _complete_nested(branch, shape, shape_path, paths.index(paths.child(path, kind), at))
    return errors


def _complete_nested(validation: Schema, shape: Schema | None, shape_path: str, path: str) -> list[FieldError]:
    if not isinstance(shape, Mapping):
        return [status.required(shape_path, f"because it is defined in {path}")]
    errors = _complete(validation, shape, shape_path, path)
    if isinstance(validation.get("items"), Mapping):
        place, own = paths.child(shape_path, "items"), paths.child(path, "items")
        errors += _complete_nested(validation["items"], shape.get("items"), place, own)
    known = shape.get("properties") or {}
    for name, inner in fields(validation, "properties").items():
        place, own = (paths.key(paths.child(one, "properties"), name) for one in (shape_path, path))
        if name in known:
            errors += _complete_nested(inner, known[name], place, own)
        else:
            errors.append(status.required(place, f"because it is defined in {own}"))
    return errors
