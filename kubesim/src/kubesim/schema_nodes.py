"""The node of a kind's type: shape, fields, who may own it, what is written when it is empty.

Apart from ``schema`` (which builds nodes) so that the walks over them (``schema_decode``, ``managed``, ``patch``) need
nothing else.
"""

from __future__ import annotations

from typing import Any, Final, Self

SCALAR: Final = 0
STRUCT: Final = 1
MAP: Final = 2
LIST: Final = 3
ANY: Final = 4
"""Shapes of a node. ``ANY`` takes the shape of the value: objects are granular maps, lists have one owner."""


class Node:
    """One place in a type. Built once, then never changed; compared by identity.

    ``scalar`` is one of string, int32, int64, float, bool, quantity, intstr, time, microtime, bytes, untyped, any and
    schema (a JSON schema, or a boolean or list in its place). ``atomic`` maps, structs and lists have one owner for
    the whole. A list that is not atomic has ``keys`` or is ``unique`` (a set of scalars).
    """

    __slots__ = (
        "always",
        "atomic",
        "custom",
        "fields",
        "key_defaults",
        "keys",
        "merge_key",
        "name",
        "presence",
        "replace",
        "retain_keys",
        "scalar",
        "shape",
        "unique",
        "value",
    )

    def __init__(self, shape: int, *, scalar: str = "", name: str = "", atomic: bool = False) -> None:
        self.shape = shape
        self.scalar = scalar
        self.name = name
        """Go's name of a struct; told in decoding errors."""
        self.atomic = atomic
        self.fields: dict[str, Self] = {}
        self.presence: dict[str, str] = {}
        self.always: tuple[str, ...] = ()
        """Fields of a struct that are written even when empty."""
        self.value: Self | None = None
        """Of a map its values, of a list its items, of a struct whatever fields are not declared (``None``: none may
        be)."""
        self.keys: tuple[str, ...] = ()
        self.key_defaults: dict[str, Any] = {}
        self.unique = False
        self.merge_key: str | None = None
        """Strategic merge: ``None`` replaces the list, ``""`` merges scalars, else the key of its items."""
        self.retain_keys = False
        self.replace = False
        self.custom = False
        """The root of a custom kind: only its metadata is decoded by type."""

    def child(self, key: str) -> Self | None:
        """The type of a member of a struct or map; ``None`` if there is no such field."""
        return self.fields.get(key) or self.value
