"""A view as bytes of JSON."""

from __future__ import annotations

from typing import Any

import orjson


def json_bytes(value: Any, *, indented: bool = False) -> bytes:
    option = orjson.OPT_INDENT_2 if indented else 0
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return orjson.dumps(writable(value), option=option)


def writable(value: Any) -> Any:
    """File names may be no text at all; JSON takes only text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {writable(key): writable(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [writable(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted(writable(item) for item in value)
    return value
