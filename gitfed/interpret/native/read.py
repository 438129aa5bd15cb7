"""Reading members of an object that anybody may have written: missing is zero, the wrong type is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.interpret.registry import InterpretError

_EMPTY: Mapping[str, Any] = {}


def table(body: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The map at `path`; empty when it is missing or null."""
    value: Any = body
    for depth, name in enumerate(path):
        value = value.get(name)
        if value is None:
            return _EMPTY
        if type(value) is not dict and not isinstance(value, Mapping):  # the second test alone takes ten times as long
            raise InterpretError(f"{'.'.join(path[: depth + 1])} is no object")
    return value  # type: ignore[no-any-return]


def rows(body: Mapping[str, Any], *path: str) -> list[Mapping[str, Any]]:
    """The list of maps at `path`; empty when it is missing or null. An element that is null is an empty map."""
    value = table(body, *path[:-1]).get(path[-1])
    if value is None:
        return []
    if not isinstance(value, list):
        raise InterpretError(f"{'.'.join(path)} is no list of objects")
    if all(type(item) is dict for item in value):
        return value
    if not all(item is None or isinstance(item, Mapping) for item in value):
        raise InterpretError(f"{'.'.join(path)} is no list of objects")
    return [_EMPTY if item is None else item for item in value]


def number(body: Mapping[str, Any], *path: str) -> int:
    """The whole number at `path`, 0 when it is missing or null."""
    value = optional(body, *path)
    return 0 if value is None else value


def optional(body: Mapping[str, Any], *path: str) -> int | None:
    value = table(body, *path[:-1]).get(path[-1])
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InterpretError(f"{'.'.join(path)} is no whole number: {value!r}")
    return value


def text(body: Mapping[str, Any], *path: str) -> str:
    value = table(body, *path[:-1]).get(path[-1])
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InterpretError(f"{'.'.join(path)} is no text: {value!r}")
    return value
