"""The tree of a CEL expression: what ``syntax`` makes of a text, ``check`` finds a type for and ``evaluate`` runs.

Few kinds of node. Operators are calls of the names that cel-go uses for them (``_+_``, ``!_``, ``_?_:_``, ``@in``), so
that messages can quote them. Macros are left as calls; ``evaluate`` and ``check`` know them. Every node keeps its
position (``at``, characters from 0) for messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """``of.field``, or ``of.?field`` with ``optional``."""

    at: int
    of: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or with ``target`` a method. Operators too."""

    at: int
    function: str
    args: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    at: int
    items: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapOf:
    at: int
    entries: tuple[tuple[Node, Node, bool], ...]
    """(key, value, written with ``?``)."""


Node = Literal | Name | Member | Call | ListOf | MapOf
