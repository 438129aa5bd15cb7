"""The types of custom kinds, from the CustomResourceDefinitions of the repository.

A schema of a definition says more than what a field is: ranges, patterns and choices are checked by the server too, so
they are here. Formats and validation rules (CEL) are not: the server looks at them, and a wrong refusal here would hold
an object that is right. What is no schema refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitfed.interpret.schema.faults import Fault, FaultCode, Path
from gitfed.interpret.schema.nodes import ListOf, Node, described
from gitfed.model.base import Body
from gitfed.text import expression, nearest

_TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "string": ("text", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: type(value) is int or (type(value) is float and value.is_integer())),
    "number": ("a number", lambda value: type(value) in (int, float)),
    "array": ("a list", lambda value: isinstance(value, list)),
    "object": ("a mapping", lambda value: isinstance(value, dict)),
}
_DEFINITION = "apiextensions.k8s.io/v1"
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"


def nodes(definition: Body, metadata: Node) -> Mapping[tuple[str, str], Node]:
    """(apiVersion, kind) → type, of the versions that a definition serves and has a schema for."""
    spec = _map(definition.get("spec"))
    group, kind = spec.get("group"), _map(spec.get("names")).get("kind")
    if not isinstance(group, str) or not isinstance(kind, str) or _map(definition).get("apiVersion") != _DEFINITION:
        return {}
    types: dict[tuple[str, str], Node] = {}
    versions = spec.get("versions")
    for version in versions if isinstance(versions, list) else ():
        schema = _map(_map(_map(version).get("schema")).get("openAPIV3Schema"))
        name = _map(version).get("name")
        if schema and isinstance(name, str) and _map(version).get("served") and not spec.get("preserveUnknownFields"):
            types[f"{group}/{name}", kind] = Structural({**schema, _EMBEDDED: True}, kind, metadata)
    return types


_OF_OBJECTS = ("apiVersion", "kind", "metadata")
"""What every object has is not its schema's to say."""


class Structural:
    """One schema. `name` is what messages call it; `metadata` the type of what every object has."""

    __slots__ = ("_members", "_metadata", "_schema", "name")

    def __init__(self, schema: Mapping[str, Any], name: str, metadata: Node) -> None:
        self._schema, self.name, self._metadata = schema, name, metadata
        self._members: dict[str, Structural] = {}

    def accepts(self, value: Any) -> bool:
        return next(self.faults(value, ()), None) is None

    @property
    def takes_null(self) -> bool:
        """A null with a default is dropped and filled in."""
        return bool(self._schema.get("nullable")) or "default" in self._schema

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        schema = self._schema
        if schema.get(_INT_OR_STRING):
            if not isinstance(value, str) and not _TYPES["integer"][1](value):
                yield Fault(path, FaultCode.WRONG_TYPE, f"must be a whole number or text, not {described(value)}")
                return
        elif (kind := _TYPES.get(schema.get("type", ""))) is not None and not kind[1](value):
            yield Fault(path, FaultCode.WRONG_TYPE, f"must be {kind[0]}, not {described(value)}")
            return
        if isinstance(value, dict):
            yield from self._mapping(value, path)
        elif isinstance(value, list):
            yield from self._list(value, path)
        yield from (Fault(path, FaultCode.INVALID, text) for text in _excluded(schema, value))

    def _mapping(self, value: dict[str, Any], path: Path) -> Iterator[Fault]:
        properties, others = _map(self._schema.get("properties")), self._schema.get("additionalProperties")
        open_ended = self._schema.get(_PRESERVES) or others is True or not self._schema.get("type")
        embedded = bool(self._schema.get(_EMBEDDED))
        if embedded:
            yield from self._object(value, path)
        for name, member in value.items():
            if embedded and name in _OF_OBJECTS:
                continue
            below = properties.get(name, others if isinstance(others, dict) else None)
            if isinstance(below, dict):
                yield from self._member(name, below, member, (*path, name))
            elif not open_ended:
                hint = nearest.did_you_mean(name, properties)
                yield Fault((*path, name), FaultCode.UNKNOWN_FIELD, f"unknown field of {self.name}", hint)

    def _object(self, value: dict[str, Any], path: Path) -> Iterator[Fault]:
        for name in ("apiVersion", "kind"):
            text = value.get(name)
            if name not in value:
                yield Fault((*path, name), FaultCode.MISSING, "is missing: this is a whole object")
            elif not isinstance(text, str) or not text:
                yield Fault(
                    (*path, name),
                    FaultCode.WRONG_TYPE,
                    f"must be text, not {described(text) if text != '' else 'empty'}",
                )
        if value.get("metadata") is not None:
            yield from self._metadata.faults(value["metadata"], (*path, "metadata"))

    def _list(self, value: list[Any], path: Path) -> Iterator[Fault]:
        items = self._schema.get("items")
        for index, member in enumerate(value):
            if isinstance(items, dict):
                yield from self._member("", items, member, (*path, index))
        if (keys := self._keys()) is not None:
            yield from ListOf(_ANYTHING, keys).faults(value, path)

    def _member(self, name: str, schema: Mapping[str, Any], value: Any, path: Path) -> Iterator[Fault]:
        node = self._members.get(name)
        if node is None or node._schema is not schema:
            node = self._members[name] = Structural(schema, name or self.name, self._metadata)
        if value is not None:
            yield from node.faults(value, path)
        elif not node.takes_null:
            yield Fault(path, FaultCode.WRONG_TYPE, "must not be null", "leave it out")

    def _keys(self) -> Mapping[str, str | None] | None:
        """By which the items of a list are told apart (`ListOf`)."""
        match self._schema.get("x-kubernetes-list-type"):
            case "set":
                return {}
            case "map":
                keys = self._schema.get("x-kubernetes-list-map-keys")
                properties = _map(_map(self._schema.get("items")).get("properties"))
                return (
                    {key: _map(properties.get(key)).get("default") for key in keys if isinstance(key, str)}
                    if (isinstance(keys, list))
                    else None
                )
        return None


class _Anything:
    def accepts(self, value: Any) -> bool:
        return True

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        return iter(())


_ANYTHING = _Anything()


def _excluded(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Why a value of the right type is none that the schema takes."""
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"must be one of {', '.join(str(choice) for choice in choices)}"
    if isinstance(value, dict):
        properties = _map(schema.get("properties"))
        for name in schema.get("required") or ():
            if name not in value and "default" not in _map(properties.get(name)):
                yield f"{name} is missing"
    for limit, measure, said in _LIMITS:
        if text := _beyond(schema, limit, measure, said, value):
            yield text
    pattern = schema.get("pattern")
    if isinstance(value, str) and isinstance(pattern, str) and expression.occurs(pattern, value) is False:
        yield f"must match {pattern}"
    for choice, some in (("allOf", all), ("anyOf", any)):
        parts = schema.get(choice)
        if isinstance(parts, list) and parts and not some(_fits(_map(part), value) for part in parts):
            yield f"does not fit {'all' if some is all else 'any'} of the schema's {choice}"
    one_of = schema.get("oneOf")
    if isinstance(one_of, list) and one_of and (fitting := sum(_fits(_map(part), value) for part in one_of)) != 1:
        yield f"must fit exactly one of the schema's oneOf, and fits {fitting}"
    if isinstance(excluded := schema.get("not"), dict) and _fits(excluded, value):
        yield "is what the schema's not excludes"


def _number(value: Any) -> Any:
    return value if type(value) in (int, float) else None


def _size(of: type[str] | type[list[Any]] | type[dict[str, Any]]) -> Callable[[Any], Any]:
    return lambda value: len(value) if isinstance(value, of) else None


_LIMITS: tuple[tuple[str, Callable[[Any], Any], str], ...] = (
    ("minimum", _number, "must be at least {}"),
    ("maximum", _number, "must be at most {}"),
    ("minLength", _size(str), "must have at least {} characters"),
    ("maxLength", _size(str), "must have at most {} characters"),
    ("minItems", _size(list), "must have at least {} items"),
    ("maxItems", _size(list), "must have at most {} items"),
    ("minProperties", _size(dict), "must have at least {} members"),
    ("maxProperties", _size(dict), "must have at most {} members"),
)


def _beyond(schema: Mapping[str, Any], name: str, measure: Callable[[Any], Any], text: str, value: Any) -> str:
    limit, size = schema.get(name), measure(value)
    if size is None or type(limit) not in (int, float):
        return ""
    if name == "minimum" and schema.get("exclusiveMinimum"):
        return "" if size > limit else f"must be more than {limit}"
    if name == "maximum" and schema.get("exclusiveMaximum"):
        return "" if size < limit else f"must be less than {limit}"
    wrong = size < limit if name.startswith("min") else size > limit
    return text.format(limit) if wrong else ""


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value fits a part of a schema: what it says of fields, and nothing of those that it does not name."""
    kind = _TYPES.get(schema.get("type", ""))
    if kind is not None and not kind[1](value):
        return False
    if isinstance(value, dict):
        for name, below in _map(schema.get("properties")).items():
            if value.get(name) is not None and not _fits(_map(below), value[name]):
                return False
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict) and not all(_fits(items, item) for item in value):
        return False
    return next(_excluded(schema, value), None) is None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
