"""Checks the schema of one version of a definition: what is supported, list and map types, defaults that hold, rules
that compile.

``structural`` has the shape; this module has the rest of what Kubernetes says about a schema when a definition is
written, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gitfed.sim import status
from gitfed.sim.crd import cel, embedded, golang, paths, rules, shape, structural, validate
from gitfed.sim.status import FieldError

Schema = Mapping[str, Any]
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
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
        defaults = check_defaults(schema, path, root=True)
        errors += defaults
        typed = not defaults
    else:
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


def check_defaults(schema: Schema, path: str, *, root: bool = False, in_meta: bool = False) -> list[FieldError]:
    """Defaults must hold against their own schema, and have no fields that would be pruned."""
    errors: list[FieldError] = []
    is_resource = root or bool(schema.get("x-kubernetes-embedded-resource"))
    in_meta = in_meta and not is_resource
    if schema.get("default") is not None:
        errors += _check_default(schema, paths.child(path, "default"), in_meta=in_meta)
    if isinstance(schema.get("items"), Mapping):
        errors += check_defaults(schema["items"], paths.child(path, "items"), in_meta=in_meta)
    for name, inner in structural.fields(schema, "properties").items():
        inside = in_meta or (is_resource and name in _META)
        errors += check_defaults(inner, paths.key(paths.child(path, "properties"), name), in_meta=inside)
    return errors


def _check_default(schema: Schema, path: str, *, in_meta: bool) -> list[FieldError]:
    value = schema["default"]
    errors: list[FieldError] = []
    if not in_meta:
        is_resource = bool(schema.get("x-kubernetes-embedded-resource"))
        if shape.prune(value, shape.read(schema, root=is_resource)) != value:
            errors.append(status.invalid_value(path, value, "must not have unknown fields"))
        if found := embedded.check(value, schema, path):
            return errors + found
    if found := validate.check(value, validate.read(schema), path):
        return errors + found
    return errors + rules.run(rules.read(schema, root=False), value, value, path=path)


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
        if is_resource and name in _META:
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
    errors += _markers(schema, path)
    errors += _rule_texts(schema, path)
    if types is not None and not errors:
        rule_errors += _compile(schema, path, place, root=root)
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


def _markers(schema: Schema, path: str) -> list[FieldError]:
    """x-kubernetes-preserve-unknown-fields, -map-type, -list-type, -list-map-keys."""
    errors = []
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = paths.child(path, "x-kubernetes-preserve-unknown-fields")
        errors.append(status.invalid_value(where, False, "must be true or undefined"))
    for marker, needed, allowed in (
        ("map-type", "object", ("atomic", "granular")),
        ("list-type", "array", ("atomic", "set", "map")),
    ):
        value = schema.get(f"x-kubernetes-{marker}")
        if value is None:
            continue
        if kind != needed:
            detail = f"must be {needed} if x-kubernetes-{marker} is specified"
            where = paths.child(path, "type")
            errors.append(status.invalid_value(where, kind, detail) if kind else status.required(where, detail))
        elif marker == "list-type" and value == "set":
            errors += _set_items(schema, path)
        if value not in allowed:
            detail = "supported values: " + ", ".join(map(status.quote, allowed))
            errors.append(FieldError("Unsupported value", paths.child(path, f"x-kubernetes-{marker}"), detail, value))
    errors += _list_keys(schema, path)
    return errors


def _set_items(schema: Schema, path: str) -> list[FieldError]:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return []
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    where = paths.child(path, "items")
    own = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and own not in (None, "atomic"):
        return [status.invalid_value(paths.child(where, "x-kubernetes-list-type"), own, detail)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        return [status.invalid_value(paths.child(where, "x-kubernetes-map-type"), own, detail)]
    return []


def _list_keys(schema: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    keys, kind, items = (
        schema.get("x-kubernetes-list-map-keys") or [],
        schema.get("x-kubernetes-list-type"),
        schema.get("items"),
    )
    keys_path, items_path = paths.child(path, "x-kubernetes-list-map-keys"), paths.child(path, "items")
    if keys and kind != "map":
        where, detail = (
            paths.child(path, "x-kubernetes-list-type"),
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
        errors.append(status.required(where, detail) if kind is None else status.invalid_value(where, kind, detail))
    if kind == "map":
        if not keys:
            errors.append(status.required(keys_path, "must not be empty if x-kubernetes-list-type is map"))
        if items is None:
            errors.append(status.required(items_path, "must have a schema if x-kubernetes-list-type is map"))
        elif not isinstance(items, Mapping):
            errors.append(
                status.invalid_value(
                    items_path, items, "must only have a single schema if x-kubernetes-list-type is map"
                )
            )
        elif items.get("type") != "object":
            detail = "must be object if parent array's x-kubernetes-list-type is map"
            errors.append(status.invalid_value(paths.child(items_path, "type"), items.get("type") or "", detail))
        else:
            errors += _key_fields(items, keys, keys_path, items_path)
    if kind in ("set", "map") and isinstance(items, Mapping):
        if items.get("nullable"):
            detail = f"cannot be nullable when x-kubernetes-list-type is {kind}"
            errors.append(status.forbidden_field(paths.child(items_path, "nullable"), detail))
        if kind == "map":
            errors += _key_presence(items, keys, items_path)
    return errors


def _key_fields(items: Schema, keys: list[str], keys_path: str, items_path: str) -> list[FieldError]:
    errors = []
    for at, key in enumerate(keys):
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            errors.append(status.invalid_value(keys_path, keys, "entries must all be names of item properties"))
        elif inner.get("type") in ("array", "object"):
            where = paths.child(paths.key(paths.child(items_path, "properties"), key), "type")
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(status.invalid_value(where, items.get("type"), detail))
        if key in keys[:at]:
            errors.append(status.invalid_value(keys_path, keys, "must not contain duplicate entries"))
    return errors


def _key_presence(items: Schema, keys: list[str], items_path: str) -> list[FieldError]:
    errors = []
    for key in keys:
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            continue
        where = paths.key(paths.child(items_path, "properties"), key)
        if key not in (items.get("required") or ()) and inner.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            errors.append(status.required(paths.child(where, "default"), detail))
        if inner.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(status.forbidden_field(paths.child(where, "nullable"), detail))
    return errors


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _rule_texts(schema: Schema, path: str) -> list[FieldError]:
    errors = []
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = paths.index(paths.child(path, "x-kubernetes-validations"), at)
        text, message, expression = (
            rule.get("rule") or "",
            rule.get("message") or "",
            rule.get("messageExpression") or "",
        )
        if not text.strip():
            errors.append(status.required(paths.child(where, "rule"), "rule is not specified"))
        elif message and not message.strip():
            errors.append(
                status.invalid_value(paths.child(where, "message"), message, "must be non-empty if specified")
            )
        elif _breaks(message.strip()):
            errors.append(status.invalid_value(paths.child(where, "message"), message, "must not contain line breaks"))
        elif _breaks(text.strip()) and not message.strip():
            detail = "message must be specified if rule contains line breaks"
            errors.append(status.required(paths.child(where, "message"), detail))
        if expression and not expression.strip():
            detail = "messageExpression must be non-empty if specified"
            errors.append(status.required(paths.child(where, "messageExpression"), detail))
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            errors.append(status.not_supported(paths.child(where, "reason"), reason, _REASONS))
        errors += _field_path(schema, rule.get("fieldPath") or "", paths.child(where, "fieldPath"))
    return errors


def _field_path(schema: Schema, text: str, path: str) -> list[FieldError]:
    if not text:
        return []
    errors = []
    if not text.strip():
        errors.append(status.invalid_value(path, text, "must be non-empty if specified"))
    if _breaks(text):
        errors.append(status.invalid_value(path, text, "must not contain line breaks"))
    try:
        find_field(schema, text)
    except PathError:
        errors.append(status.invalid_value(path, text, "must be a valid path"))
    return errors


class PathError(ValueError):
    """A simple path (``.spec.mode``) leads nowhere in the schema. ``str()`` says why."""


_PART: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def find_field(schema: Schema, text: str, *, brackets: bool = True) -> tuple[list[str], Schema]:
    """The names on the path, and the schema it leads to. Raises ``PathError``."""
    at, names = 0, []
    current: Schema = schema
    while at < len(text):
        if text[at] == "[" and not brackets:
            raise PathError("array notation is not allowed")
        part = _PART.match(text, at)
        if part is None:
            token = re.split(r"[.\[\]]", text[at:] if text[at] not in ".[" else text[at + 1 :])[0]
            if text[at] == "." or text[at] == "[":
                raise PathError(
                    "unexpected end of JSON path"
                    if not text[at + 1 :]
                    else f"expected single quoted string but got {token}"
                )
            raise PathError(f"expected [ or . but got: {token}")
        name = part[1] if part[1] is not None else re.sub(r"\\(.)", r"\1", part[2])
        properties, rest = current.get("properties"), current.get("additionalProperties")
        following = (properties or {}).get(name) if properties else rest
        if not isinstance(following, Mapping):
            raise PathError("does not refer to a valid field")
        current = following
        names.append(name)
        at = part.end()
    return names, current


def _compile(schema: Schema, path: str, place: _Place, *, root: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = paths.index(paths.child(path, "x-kubernetes-validations"), at)
        shown = golang.fragment(golang.rule(rule))
        try:
            compiled = rules.compile_rule({**rule, "messageExpression": ""}, schema, root=root)
        except cel.CompileError as problem:
            errors.append(status.invalid_value(paths.child(where, "rule"), shown, f"compilation failed: {problem}"))
            continue
        if compiled.program.result.name not in ("bool", "dyn"):
            errors.append(
                status.invalid_value(paths.child(where, "rule"), shown, "cel expression must evaluate to a bool")
            )
            continue
        errors += _compile_message(rule, schema, where, shown, root=root)
        if compiled.program.uses_old_self:
            if place.uncorrelatable:
                detail = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
                )
                errors.append(status.invalid_value(paths.child(where, "rule"), rule.get("rule"), detail))
        elif rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            errors.append(status.invalid_value(paths.child(where, "optionalOldSelf"), rule["optionalOldSelf"], detail))
    return errors


def _compile_message(
    rule: Mapping[str, Any], schema: Schema, where: str, shown: Any, *, root: bool
) -> list[FieldError]:
    expression = rule.get("messageExpression")
    if not expression:
        return []
    try:
        compiled = rules.compile_rule(rule, schema, root=root)
    except cel.CompileError as problem:
        detail = f"messageExpression compilation failed: {problem}"
        return [status.invalid_value(paths.child(where, "messageExpression"), shown, detail)]
    if compiled.message is not None and compiled.message.result.name not in ("string", "dyn"):
        detail = "messageExpression must evaluate to a string"
        return [status.invalid_value(paths.child(where, "messageExpression"), shown, detail)]
    return []
