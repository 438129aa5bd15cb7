"""CEL's functions of lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from kubesim.crd.cel import operators, text, values
from kubesim.crd.cel.values import CelError


def ordered(items: list[Any], test: Callable[[Any, Any], bool]) -> bool:
    return all(test(one, other) for one, other in pairwise(items))


def best(items: list[Any], test: Callable[[Any, Any], bool], name: str) -> Any:
    if not items:
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if test(item, best):
            best = item
    return best


def total(items: list[Any]) -> Any:
    if not items:
        return 0
    total = items[0]
    for item in items[1:]:
        total = operators.add(total, item)
    return total


def _position(items: Any, wanted: Any, *, last: bool) -> int:
    found = [at for at, item in enumerate(items) if values.equal(item, wanted)]
    return -1 if not found else found[-1] if last else found[0]


def index_of(holder: Any, wanted: Any, start: int | None = None) -> int:
    if isinstance(holder, list):
        return _position(holder, wanted, last=False)
    return text.index_of(holder, wanted, start or 0)


def last_index_of(holder: Any, wanted: Any, start: int | None = None) -> int:
    if isinstance(holder, list):
        return _position(holder, wanted, last=True)
    return text.last_index_of(holder, wanted, start)


def distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if not operators.contained(item, kept):
            kept.append(item)
    return kept


def cut(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(items: list[Any], depth: int = 1) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat.extend(flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item])
    return flat


def in_order(items: list[Any]) -> list[Any]:
    if items and not all(operators.comparable(items[0], item) for item in items):
        raise CelError("list elements must have the same type")
    return sorted(items)


def backwards(value: Any) -> Any:
    return list(reversed(value))


def of_list(function: values.Function) -> values.Function:
    def run(items: Any, *args: Any) -> Any:
        if not isinstance(items, list):
            raise operators.no_overload()
        return function(items, *args)

    return run
