"""Whether an answer is the expected one.

How strict this is follows from what Lua can tell apart: numbers and amounts count by value, null as absent, and in
statuses nothing that is empty counts. Components are compared by name, dependencies in any order; all other lists are
ordered, and a revised or retained object is compared whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.interpret import cases
from gitfed.interpret.cases import InterpreterCase
from gitfed.interpret.registry import Interpreter, Unknown
from gitfed.text import canonical, quantity

EXCLUDED = "{{EXCLUDE}}"
"""An expected value that matches anything, or nothing."""
NOW = "{{NOW}}"
"""The time of the call."""


def check(case: InterpreterCase, interpreter: Interpreter) -> tuple[str, ...]:
    """What is not as expected, one line each; empty: the case passes."""
    if not interpreter.handles(case.inputs.object, case.operation):
        body = case.inputs.object
        return (f"no rule for {case.operation} of {body['kind']} ({body['apiVersion']})",)
    answer = cases.ask(interpreter, case.operation, case.inputs)
    if isinstance(answer, Unknown):
        return () if case.expect is None else (f"failed: {answer.reason}",)
    if case.expect is None:
        return ("should have failed",)
    return tuple(_differences(case, cases.results(case.operation, answer.value)))


def _differences(case: InterpreterCase, results: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in (case.expect or {}).items():
        got, wanted = _without_excluded(results.get(name), wanted)
        got, wanted = (_comparable(name, side) for side in (got, wanted))
        if not _same(got, wanted):
            yield f"{name}: got {_shown(got)}, wanted {_shown(wanted)}"


def _comparable(name: str, value: Any) -> Any:
    value = _plain(value)
    if name == "requires":
        return _without_empty(_amounts(value))
    if name == "components":
        return {
            component.get("name", ""): _without_empty(_amounts(component, "replicaRequirements"))
            for component in value or ()
        }
    if name == "dependencies":
        return sorted(value or (), key=canonical.dumps)
    if name == "status":
        return None if value is None else _without_empty(value)
    if name == "aggregatedStatus":
        # All else of the object is the template's, and nobody uses what a script says of it.
        return _without_empty((value or {}).get("status") or {})
    return value


def _amounts(value: Any, *path: str) -> Any:
    """Amounts as billionths, so that `500m` is `0.5`."""
    if not isinstance(value, Mapping):
        return value
    if path:
        inner = value.get(path[0])
        return {**value, path[0]: _amounts(inner, *path[1:])} if inner else value
    asked = value.get("resourceRequest")
    if not isinstance(asked, Mapping):
        return value
    return {**value, "resourceRequest": {name: quantity.parse(amount).nano for name, amount in asked.items()}}


def _plain(value: Any) -> Any:
    """Without members that are null, whole floats as integers, the time of the call as a word."""
    if isinstance(value, Mapping):
        return {name: _plain(child) for name, child in value.items() if child is not None}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value.replace(NOW, cases.AT) if isinstance(value, str) else value


def _without_empty(value: Any) -> Any:
    """`{}` and `[]` count as absent, also when they became empty by this."""
    if isinstance(value, dict):
        members = {name: _without_empty(child) for name, child in value.items()}
        return {name: child for name, child in members.items() if child not in ({}, [], None)}
    if isinstance(value, list):
        return [child for child in map(_without_empty, value) if child not in ({}, [], None)]
    return value


def _without_excluded(got: Any, wanted: Any) -> tuple[Any, Any]:
    """Both without the members that are not to be compared."""
    if isinstance(wanted, Mapping):
        excluded = {name for name, value in wanted.items() if value == EXCLUDED}
        left: dict[str, Any] = dict(got) if isinstance(got, Mapping) else {}
        right = {name: value for name, value in wanted.items() if name not in excluded}
        for name in excluded:
            left.pop(name, None)
        for name, value in right.items():
            if name in left:
                left[name], right[name] = _without_excluded(left[name], value)
        return (left if isinstance(got, Mapping) else got), right
    if isinstance(wanted, list) and isinstance(got, list | tuple) and len(got) == len(wanted):
        pairs = [_without_excluded(*pair) for pair in zip(got, wanted, strict=True)]
        return [side for side, _ in pairs], [side for _, side in pairs]
    return got, wanted


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(_same(got[name], wanted[name]) for name in got)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(_same, got, wanted))
    if isinstance(got, float) and isinstance(wanted, int | float):
        return math.isclose(got, wanted, rel_tol=1e-9)
    return bool(got == wanted)


def _shown(value: Any) -> str:
    return canonical.dumps(value).decode()
