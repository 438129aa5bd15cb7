"""Types as values, and whether a value is of a type: the same answers as an API server's strict reading.

What counts is server-side apply, since that is what gitfed does: an unknown field is an error whatever its value, null
is as good as absent except where list items are told apart, `2.0` is a whole number, a quantity may be a bare number.
Ranges and what goes together (a port of 0, a selector that selects nothing) are the server's own checks and not here.

Nearly every object is right. So `accepts` is a quick yes or no, and only after a no does `faults` look for places.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Protocol, TypeAlias

from gitfed.interpret.schema.faults import Fault, FaultCode, Path
from gitfed.text import nearest, quantity

_INT32 = 2**31
_INT64 = 2**63
_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?P<part>[.,]\d+)?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


class Node(Protocol):
    """A type. Neither method is asked about null."""

    @property
    def accepts(self) -> Callable[[Any], bool]: ...

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        """Everything that is wrong with a value, in its own order; nothing exactly when `accepts` says yes."""


Fields: TypeAlias = tuple[Mapping[str, Node], tuple[str, ...]]
"""Of a struct: its fields, and the names of those that must be there."""


class Scalar:
    __slots__ = ("accepts", "hint", "must")

    def __init__(self, must: str, accepts: Callable[[Any], bool], hint: str = "") -> None:
        self.must, self.accepts, self.hint = must, accepts, hint

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not self.accepts(value):
            hint = self.hint if isinstance(value, bool | int | float) else ""
            yield Fault(path, FaultCode.WRONG_TYPE, f"must be {self.must}, not {described(value)}", hint)


class Struct:
    """Named fields, and those of them that must be there. They are made when the first value is looked at, since types
    name each other in circles."""

    __slots__ = ("_fields", "_make", "_other_version", "_required", "name")

    def __init__(self, name: str, make: Callable[[], Fields], other_version: Callable[[str], tuple[str, str]]) -> None:
        """`other_version` says of a field that another version of Kubernetes has which one this is, and when the field
        came or went."""
        self.name, self._make, self._other_version = name, make, other_version
        self._fields: Mapping[str, Node] | None = None
        self._required: tuple[str, ...] = ()

    @property
    def fields(self) -> Mapping[str, Node]:
        if self._fields is None:
            self._fields, self._required = self._make()
        return self._fields

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        fields = self._fields if self._fields is not None else self.fields
        for name, member in value.items():
            node = fields.get(name)
            if node is None or (member is not None and not node.accepts(member)):
                return False
        return self.is_whole(value)

    def is_whole(self, value: Mapping[str, Any]) -> bool:
        """Whether all that must be there is."""
        for name in self._required:  # noqa: SIM110 (a generator costs three times as much, and this is asked for all)
            if value.get(name) is None:
                return False
        return True

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(path, FaultCode.WRONG_TYPE, f"must be a mapping ({self.name}), not {described(value)}")
            return
        for name, member in value.items():
            node = self.fields.get(name)
            if node is None:
                yield self._unknown(name, (*path, name))
            elif member is not None:
                yield from node.faults(member, (*path, name))
        for name in self._required:
            if value.get(name) is None:
                yield Fault((*path, name), FaultCode.MISSING, f"is missing, and {self.name} needs it")

    def _unknown(self, name: str, path: Path) -> Fault:
        version, when = self._other_version(name)
        message = f"unknown field of {self.name}" + (f" {version}" if version else "")
        return Fault(path, FaultCode.UNKNOWN_FIELD, message, when or nearest.did_you_mean(name, self.fields))


class MapOf:
    __slots__ = ("item",)

    def __init__(self, item: Node) -> None:
        self.item = item

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        accepts = self.item.accepts
        for member in value.values():  # noqa: SIM110 (as above)
            if member is not None and not accepts(member):
                return False
        return True

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(path, FaultCode.WRONG_TYPE, f"must be a mapping, not {described(value)}")
            return
        for name, member in value.items():
            if member is not None:
                yield from self.item.faults(member, (*path, name))


class ListOf:
    """`keys`: by which items are told apart, with defaults (None: it has none). Empty for a set of different values;
    None for a list in which anything may stand twice."""

    __slots__ = ("item", "keys")

    def __init__(self, item: Node, keys: Mapping[str, str | None] | None = None) -> None:
        self.item, self.keys = item, keys

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, list):
            return False
        accepts = self.item.accepts
        for member in value:
            if member is not None and not accepts(member):
                return False
        return self.tells_apart(value)

    def tells_apart(self, items: list[Any]) -> bool:
        if self.keys is None or not items:
            return True
        if len(items) == 1:
            return items[0] is not None  # as most lists of an object
        return not any(self._confused(items, ()))

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault(path, FaultCode.WRONG_TYPE, f"must be a list, not {described(value)}", "begin each item with -")
            return
        for index, member in enumerate(value):
            if member is not None:
                yield from self.item.faults(member, (*path, index))
        if self.keys is not None:
            yield from self._confused(value, path)

    def _confused(self, value: list[Any], path: Path) -> Iterator[Fault]:
        """Items that cannot be told from others."""
        seen: dict[Any, int] = {}
        for index, member in enumerate(value):
            if member is None:
                yield Fault((*path, index), FaultCode.WRONG_TYPE, "must not be null in this list")
                continue
            name = self._name(member)
            if name is not None and seen.setdefault(name, index) != index:
                by = " and ".join(f"{key} {part}" for key, part in name) if self.keys else "this value"
                message = f"{by} is there already, as item {seen[name]}"
                yield Fault((*path, index), FaultCode.DUPLICATE, message, "an API server takes it once")

    def _name(self, member: Any) -> tuple[Any, ...] | None:
        """What it goes by; None: that cannot be said, and it is no double."""
        if not self.keys:
            return ("", member) if isinstance(member, str | int | float) else None
        if not isinstance(member, dict):
            return None  # of the wrong type
        parts = [(key, member.get(key, default)) for key, default in self.keys.items()]
        name = tuple((key, part) for key, part in parts if part is not None or key in member)
        return name if name and all(isinstance(part, str | int | None) for _, part in name) else None


def accepts_beside(node: Node, value: Any, like: Any) -> bool:
    """`node.accepts(value)`, where it accepts `like`: what is the same object in both is not looked at again."""
    if value is like:
        return True
    if isinstance(node, Struct) and isinstance(value, dict) and isinstance(like, dict):
        fields = node.fields
        for name, member in value.items():
            beside = like.get(name, _ABSENT)
            if member is beside:
                continue
            field = fields.get(name)
            if field is None or (member is not None and not accepts_beside(field, member, beside)):
                return False
        return node.is_whole(value)
    if isinstance(node, ListOf) and isinstance(value, list) and isinstance(like, list):
        for member, beside in zip_longest(value, like[: len(value)], fillvalue=_ABSENT):
            if member is not None and not accepts_beside(node.item, member, beside):
                return False
        return node.tells_apart(value)
    return node.accepts(value)


_ABSENT: Any = object()


def described(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "a mapping" if isinstance(value, Mapping) else "null"


def _is_whole(size: int) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        kind = type(value)
        return (kind is int or (kind is float and value.is_integer())) and -size <= value < size

    return accepts


_is_int32 = _is_whole(_INT32)


def _is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        quantity.parse(value.strip() if isinstance(value, str) else value)
    except quantity.QuantityError:
        return False
    return True


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _is_microtime(value: Any) -> bool:
    """It must have six digits after the point: an API server reads no others."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    return match is not None and len(match["part"] or "") == len(".000000")


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


ANYTHING = Scalar("anything", lambda value: True)
SCALARS: Mapping[str, Node] = {
    "any": ANYTHING,
    "object": Scalar("a mapping", lambda value: isinstance(value, dict)),
    "string": Scalar("text", lambda value: isinstance(value, str), "write it in quotes"),
    "bool": Scalar("true or false", lambda value: isinstance(value, bool)),
    "int32": Scalar("a whole number of 32 bits", _is_int32),
    "int64": Scalar("a whole number", _is_whole(_INT64)),
    "number": Scalar("a number", lambda value: type(value) in (int, float)),
    "intstr": Scalar("a whole number of 32 bits or text", lambda value: isinstance(value, str) or _is_int32(value)),
    "quantity": Scalar("a quantity like 500m, 2 or 1.5Gi", _is_quantity),
    "time": Scalar("a time like 2026-01-31T12:00:00Z", _is_time),
    "microtime": Scalar("a time like 2026-01-31T12:00:00.000000Z", _is_microtime),
    "bytes": Scalar("base64", _is_base64, "stringData takes plain text"),
}
