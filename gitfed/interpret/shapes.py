"""Answers of scripts as Karmada's types have them (Karmada: interpreters §1, §2.5).

Unknown members are ignored, members of a wrong type are an error, members that say nothing are left out: as a Go
program reads JSON into these types. Amounts may be texts or numbers and become canonical text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.text import quantity, selector

Shape: TypeAlias = Callable[[Any, str], Any]
"""Reads a value; the text is its path, for the message."""
_SHOWN = 80
"""Characters of a wrong value that stand in a message."""


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, path, "a text")
    return value


def _whole(bits: int) -> Shape:
    def read(value: Any, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(value, path, "a whole number")
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise InterpretError(f"{path} is out of range: {value}")
        return value

    return read


def _amount(value: Any, path: str) -> str:
    if not isinstance(value, str | int | float):
        raise _wrong(value, path, "an amount")
    try:
        return str(quantity.parse(value))
    except quantity.QuantityError as error:
        raise InterpretError(f"{path}: {error}") from error


def _list(item: Shape) -> Shape:
    def read(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong(value, path, "a list")
        return [item(child, f"{path}[{i}]") for i, child in enumerate(value)]

    return read


def _map(item: Shape) -> Shape:
    """Names of anybody's choice; None when there are none."""

    def read(value: Any, path: str) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            raise _wrong(value, path, "an object")
        return {name: item(child, f"{path}.{name}") for name, child in value.items() if child is not None} or None

    return read


def _struct(*always: str, **members: Shape) -> Shape:
    """Members by name. An empty text, list or map says nothing; an empty struct does, because Go keeps its pointer.

    The texts that `always` names are written even if they are empty.
    """

    def read(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(value, path, "an object")
        result: dict[str, Any] = dict.fromkeys(always, "")
        for name, member in members.items():
            if value.get(name) is not None:
                child = member(value[name], f"{path}.{name}")
                if child not in ("", [], None):
                    result[name] = child
        return result

    return read


_EXPRESSIONS = _list(_struct("key", "operator", key=_text, operator=_text, values=_list(_text)))
_NODE_SELECTOR = _struct(nodeSelectorTerms=_list(_struct(matchExpressions=_EXPRESSIONS, matchFields=_EXPRESSIONS)))
_TOLERATION = _struct(key=_text, operator=_text, value=_text, effect=_text, tolerationSeconds=_whole(64))
_NODE_CLAIM = _struct(hardNodeAffinity=_NODE_SELECTOR, nodeSelector=_map(_text), tolerations=_list(_TOLERATION))
_REQUIREMENTS = _struct(nodeClaim=_NODE_CLAIM, resourceRequest=_map(_amount), namespace=_text, priorityClassName=_text)
_COMPONENT = _struct(
    name=_text,
    replicas=_whole(32),
    replicaRequirements=_struct(nodeClaim=_NODE_CLAIM, resourceRequest=_map(_amount), priorityClassName=_text),
)
_SELECTOR = _struct(matchLabels=_map(_text), matchExpressions=_EXPRESSIONS)
_DEPENDENCY = _struct(apiVersion=_text, kind=_text, namespace=_text, name=_text, labelSelector=_SELECTOR)


def count(value: Any, path: str) -> int:
    """A number of replicas: 32 bits. Raises InterpretError."""
    number: int = _whole(32)(value, path)
    return number


def status_items(items: Sequence[Body] | None) -> list[Body] | None:
    """AggregatedStatusItems as they are handed on: `applied` is left out when false, as Karmada's encoder does."""
    if items is None:
        return None
    return [
        {name: value for name, value in item.items() if name != "applied"} if item.get("applied") is False else item
        for item in items
    ]


def order(reference: Body) -> tuple[str, ...]:
    """By what dependencies are sorted."""
    return tuple(reference.get(name, "") for name in ("apiVersion", "kind", "namespace", "name"))


def node_claim(value: Any, path: str) -> dict[str, Any]:
    """What a replica asks of its node, `{hardNodeAffinity?, nodeSelector?, tolerations?}`. Raises InterpretError."""
    claim: dict[str, Any] = _NODE_CLAIM(value, path)
    return claim


def requirements(value: Any) -> dict[str, Any]:
    """ReplicaRequirements; `{}` of an answer that is an empty table. Raises InterpretError."""
    result: dict[str, Any] = _REQUIREMENTS(value or {}, "requirements")
    return result


def components(value: Any) -> tuple[dict[str, Any], ...]:
    """Components `{name, replicas, replicaRequirements?}`. Raises InterpretError."""
    listed = _list(_COMPONENT)(value, "components")
    return tuple({"name": "", "replicas": 0, **component} for component in listed)


def dependencies(value: Any) -> tuple[dict[str, Any], ...]:
    """DependentObjectReferences in the order given, every one of them valid. Raises InterpretError."""
    references: list[dict[str, Any]] = _list(_DEPENDENCY)(value, "dependencies")
    for i, reference in enumerate(references):
        path = f"dependencies[{i}]"
        for name in ("apiVersion", "kind"):
            if name not in reference:
                raise InterpretError(f"{path} has no {name}")
        if "name" not in reference and "labelSelector" not in reference:
            raise InterpretError(f"{path} has neither name nor labelSelector")
        labels = reference.get("labelSelector", {})
        expressions = (
            (expression["key"], expression["operator"], expression.get("values", ()))
            for expression in labels.get("matchExpressions", ())
        )
        if problems := selector.problems(labels.get("matchLabels", {}), expressions):
            raise InterpretError(f"{path}.labelSelector: {problems[0]}")
    return tuple(references)


def same_object(body: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """An answer about an object must not be another object. Raises InterpretError."""
    for path in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
        before, after = _at(given, path), _at(body, path)
        if before != after:
            raise InterpretError(f"{'.'.join(path)} was {_shown(before)} and must stay so, not become {_shown(after)}")


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body or None


def _wrong(value: Any, path: str, wanted: str) -> InterpretError:
    return InterpretError(f"{path} must be {wanted}, not {_shown(value)}")


def _shown(value: Any) -> str:
    """As it stands in a file, the beginning of it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
