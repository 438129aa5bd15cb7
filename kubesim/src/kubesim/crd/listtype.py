"""Lists that are sets or maps must not repeat themselves (x-kubernetes-list-type). Kubernetes: structural list
types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from kubesim import status
from kubesim.crd import paths
from kubesim.status import FieldError


def check(value: Any, schema: Mapping[str, Any], path: str = "") -> list[FieldError]:
    """Complaints about every second appearance of an item or key."""
    errors: list[FieldError] = []
    if isinstance(value, dict):
        rest = schema.get("additionalProperties")
        properties = schema.get("properties") or {}
        for name, inner in value.items():
            if name in properties:
                errors += check(inner, properties[name], paths.child(path, name))
            elif isinstance(rest, Mapping):
                errors += check(inner, rest, paths.key(path, name))
    elif isinstance(value, list):
        kind = schema.get("x-kubernetes-list-type")
        if kind == "set":
            errors += [status.duplicate(paths.index(path, at), value[at]) for at in _repeated(value)]
        elif kind == "map":
            errors += _check_map(value, schema.get("x-kubernetes-list-map-keys") or [], path)
        items = schema.get("items")
        if isinstance(items, Mapping):
            for at, item in enumerate(value):
                errors += check(item, items, paths.index(path, at))
    return errors


def has_any(schema: Any) -> bool:
    """Whether such a list occurs in the schema at all: most have none, and need no walk."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        return True
    children = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(has_any(child) for child in children)


def _repeated(items: list[Any]) -> list[int]:
    """Positions of the *second* appearance of each value; a third is not told again."""
    seen: dict[bytes, int] = {}
    found = []
    for at, item in enumerate(items):
        text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            found.append(at)
    return found


def _check_map(items: list[Any], keys: list[str], path: str) -> list[FieldError]:
    for at, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            return [status.invalid_value(paths.index(path, at), item, detail)]
    found = [{key: item[key] for key in keys if key in item} if item else {} for item in items]
    return [status.duplicate(paths.index(path, at), found[at]) for at in _repeated(found)]
