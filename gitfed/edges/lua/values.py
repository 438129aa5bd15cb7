"""Python's values in a form that Lua takes: texts as Latin-1, no nulls, no integers that are too long.

Lua texts are bytes and Latin-1 gives every byte one character, so that no text a script makes is undecodable. Nothing
here knows a Lua state; which values go there, and when, is `intake`'s business.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from gitfed.edges.lua.request import ScriptError

DEEPEST: Final = 200
"""Levels of a value."""
_EXACT: Final = 2**63


def latin(text: str) -> str:
    """A text on its way in."""
    return text if text.isascii() else text.encode(errors="replace").decode("latin-1")


def utf8(text: str) -> bytes:
    """A text on its way out; what is no UTF-8 in it is repaired."""
    raw = text.encode("latin-1")
    return raw if raw.isascii() else raw.decode(errors="replace").encode()


def number(value: int) -> int | float:
    """Lua's numbers are floats anyway; what fits no machine integer is made one here. Raises ScriptError."""
    if -_EXACT < value < _EXACT:
        return value
    try:
        return float(value)
    except OverflowError:
        raise ScriptError("the object holds a number that is too large") from None


def scalar(value: Any) -> Any:
    """A value that is no map and no list. Raises ScriptError."""
    if isinstance(value, str):
        return latin(value)
    return number(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_json(value: Any) -> bytes | None:
    """None for what the JSON library cannot write: integers beyond 64 bits, halves of surrogate pairs."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return None


def size(value: Any) -> int:
    """Bytes that Lua needs for the value at most: a growing table exists twice, a text may be none of ASCII."""
    total, left = 0, [value]
    while left:
        inner = left.pop()
        if isinstance(inner, dict):
            total += 64 + 72 * len(inner)
            left += inner
            left += inner.values()
        elif isinstance(inner, list | tuple):
            total += 64 + 24 * len(inner)
            left += inner
        elif isinstance(inner, str):
            total += 56 + len(inner) * (1 if inner.isascii() else 4)
    return total


def prepared(value: Any, text: bytes | None) -> Any:
    """A copy in which nothing is shared, and that Lua can take as it is.

    A table that is met twice would be missing the second time. Most objects need no more than a copy,
    which the JSON library makes in half the time.
    """
    plain = text is not None and text.isascii() and b"null" not in text
    return orjson.loads(text) if text is not None and plain else clean(value)


def clean(value: Any, depth: int = DEEPEST) -> Any:
    """A copy without nulls, in lists too: Lua has no place for them. Raises ScriptError for what is no JSON."""
    if not depth:
        raise ScriptError(f"the object is nested more than {DEEPEST} levels deep")
    kind = type(value)
    if isinstance(value, str):
        return latin(value)
    if isinstance(value, dict):
        return {
            latin(name): child
            if (type_ := type(child)) is bool or type_ is float or (type_ is str and child.isascii())
            else clean(child, depth - 1)
            for name, child in value.items()
            if child is not None
        }
    if isinstance(value, list | tuple):
        return [clean(child, depth - 1) for child in value if child is not None]
    if isinstance(value, int) and kind is not bool:
        return number(value)
    if kind is bool or kind is float:
        return value
    raise ScriptError(f"the object holds a {kind.__name__}, which is no JSON")
