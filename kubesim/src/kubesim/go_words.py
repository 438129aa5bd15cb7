"""How Go's messages call and print JSON values. People and tools read them, so ours are the same.

Only single values; what Go says of text that is no JSON is in ``server.gojson``.
"""

from __future__ import annotations

from typing import Any


def json_type(value: Any) -> str:
    """As its JSON decoder calls the value: ``cannot unmarshal number into …``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def type_name(value: Any) -> str:
    """Go's type of a decoded value, as ``%T`` prints it."""
    names = {
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names.get(type(value), "<nil>")


def printed(value: Any) -> str:
    """A value as ``%v`` prints it: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{printed(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(printed, value)) + "]"
    if value is None:
        return "<nil>"
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
