"""Finds the field that a simple path (``.spec.mode``, ``['a.b']``) leads to in a schema.

Rules name fields so (``fieldPath``), and so do selectable fields. What one may find there is the caller's question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]


class PathError(ValueError):
    """A simple path (``.spec.mode``) leads nowhere in the schema. ``str()`` says why."""


_PART: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def find(schema: Schema, text: str, *, brackets: bool = True) -> tuple[list[str], Schema]:
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
