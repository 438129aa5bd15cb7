"""The operations on built-in kinds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, Unknown
from gitfed.text import quantity
from tests.conformance import equal

NOW = "2030-01-01T00:00:00Z"


def matches(case: Mapping[str, Any]) -> bool:
    """Bundled kinds have their group in front of the operation; Prune and `kind` belong to another file."""
    operation = case.get("operation", "")
    return bool(operation) and "kind" not in case and "script" not in case and case["id"].startswith(operation)


def run(case: Mapping[str, Any]) -> list[str]:
    return check(case, Interpreter([Native()]))


def check(case: Mapping[str, Any], interpreter: Interpreter) -> list[str]:
    """Any interpreter against any case of the format that native and bundled kinds share."""
    expect = case["expect"]
    result = _CALLS[case["operation"]](interpreter, case)
    if isinstance(result, Unknown):
        return [] if equal.is_error(expect) else [f"failed: {result.reason}"]
    if equal.is_error(expect):
        return [f"should have failed: {expect['message']}"]
    return _COMPARE[case["operation"]](result.value, expect)


_CALLS: Mapping[str, Callable[[Interpreter, Mapping[str, Any]], Any]] = {
    "InterpretReplica": lambda interpreter, case: interpreter.replicas(case["object"]),
    "InterpretComponent": lambda interpreter, case: interpreter.components(case["object"]),
    "ReviseReplica": lambda interpreter, case: interpreter.revise_replica(case["object"], case["replicas"]),
    "Retain": lambda interpreter, case: interpreter.retain(case["desired"], case["observed"]),
    "InterpretHealth": lambda interpreter, case: interpreter.health(case["object"]),
    "InterpretStatus": lambda interpreter, case: interpreter.status(case["object"]),
    "AggregateStatus": lambda interpreter, case: interpreter.aggregate_status(
        case["object"], case["aggregatedStatusItems"], NOW
    ),
    "InterpretDependency": lambda interpreter, case: interpreter.dependencies(case["object"]),
}


def _replicas(value: Any, expect: Mapping[str, Any]) -> list[str]:
    return equal.differences("replicas", value.replicas, expect["replicas"]) + equal.differences(
        "requirements", _amounts(value.requirements), _amounts(expect["replicaRequirements"])
    )


def _components(value: Any, expect: Mapping[str, Any]) -> list[str]:
    got, wanted = (
        {
            item["name"]: (item["replicas"], _amounts(item.get("replicaRequirements")))
            for item in map(equal.plain, items or ())
        }
        for items in (value, expect["components"])
    )
    return equal.differences("components", got, wanted)


def _object(value: Any, expect: Mapping[str, Any]) -> list[str]:
    return equal.differences("object", equal.plain(value), equal.plain(expect["object"]))


def _health(value: Any, expect: Mapping[str, Any]) -> list[str]:
    return equal.differences("healthy", value, expect["healthy"])


def _status(value: Any, expect: Mapping[str, Any]) -> list[str]:
    got, wanted = (None if item is None else equal.without_empty(item) for item in (value, expect["status"]))
    return equal.differences("status", got, wanted)


def _aggregate(value: Any, expect: Mapping[str, Any]) -> list[str]:
    wanted = json.loads(json.dumps(expect.get("status") or {}).replace("{{NOW}}", NOW))
    return equal.differences("status", equal.without_empty(value.get("status") or {}), equal.without_empty(wanted))


def _dependencies(value: Any, expect: Mapping[str, Any]) -> list[str]:
    got = sorted(map(equal.plain, value), key=_dependency_order)
    return equal.differences("dependencies", got, [equal.plain(item) for item in expect["dependencies"]])


def _dependency_order(item: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(item.get(name, "") for name in ("apiVersion", "kind", "namespace", "name"))


_COMPARE: Mapping[str, Callable[[Any, Mapping[str, Any]], list[str]]] = {
    "InterpretReplica": _replicas,
    "InterpretComponent": _components,
    "ReviseReplica": _object,
    "Retain": _object,
    "InterpretHealth": _health,
    "InterpretStatus": _status,
    "AggregateStatus": _aggregate,
    "InterpretDependency": _dependencies,
}


def _amounts(requirements: Any) -> Any:
    """Amounts as billionths, so that 500m is 0.5."""
    requirements = equal.plain(requirements)
    if requirements and "resourceRequest" in requirements:
        amounts = {name: quantity.parse(value).nano for name, value in requirements["resourceRequest"].items()}
        return {**requirements, "resourceRequest": amounts}
    return requirements
