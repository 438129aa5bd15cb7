"""Checks x-kubernetes-preserve-unknown-fields, -map-type, -list-type and -list-map-keys of one node of a schema.

That the keys of stored lists differ is ``listtype``'s question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim import status
from kubesim.crd import paths
from kubesim.status import FieldError

Schema = Mapping[str, Any]


def check(schema: Schema, path: str) -> list[FieldError]:
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
