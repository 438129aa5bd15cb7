"""When a result counts as the recorded one: null is absence, numbers compare by value, lists are ordered."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Without members that are null, with whole floats as integers."""
    if isinstance(value, Mapping):
        return {name: plain(child) for name, child in value.items() if child is not None}
    if isinstance(value, list | tuple):
        return [plain(child) for child in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def without_empty(value: Any) -> Any:
    """`plain`, and `{}` and `[]` count as absent too, also when they became empty by this."""
    value = plain(value)
    if isinstance(value, dict):
        members = {name: without_empty(child) for name, child in value.items()}
        return {name: child for name, child in members.items() if child not in ({}, [], None)}
    if isinstance(value, list):
        return [child for child in map(without_empty, value) if child not in ({}, [], None)]
    return value


def same(got: Any, wanted: Any) -> bool:
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[name], wanted[name]) for name in got)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(got, float) and isinstance(wanted, int | float):
        return math.isclose(got, wanted, rel_tol=1e-9)
    return bool(got == wanted)


def differences(what: str, got: Any, wanted: Any) -> list[str]:
    """One line if they differ."""
    return [] if same(got, wanted) else [f"{what}: got {_shown(got)}, wanted {_shown(wanted)}"]


def is_error(expect: Any) -> bool:
    return isinstance(expect, Mapping) and expect.get("error") is True


def _shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
