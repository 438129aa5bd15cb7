"""A body and its type, place by place: shapes, steps of list items, and the fields a configuration names.

The ground that ``compare`` and ``merge`` walk on. An item of a keyed list is found by its keys, not its place; a value
with one owner (atomic) is a leaf, however deep; what has no type takes the shape of its value.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import orjson

from kubesim.managed import fieldset
from kubesim.managed.fieldset import EMPTY, HERE, FieldSet
from kubesim.schema_nodes import ANY, LIST, MAP, SCALAR, Node

ABSENT: Final = object()

UNTYPED: Final = Node(ANY, scalar="any")


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: ``1`` equals ``1.0`` but not ``true``."""
    if left is right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def item_step(node: Node, item: Any) -> str:
    """The step of an item of a keyed list or set. Raises ``ValueError`` if it has none of its keys."""
    if node.unique:
        return "v:" + orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    if type(item) is not dict:
        raise ValueError("associative list with keys may not have non-map elements")
    keys = node.keys
    if len(keys) == 1 and type(name := item.get(keys[0])) is str:
        return _named_step(keys[0], name)
    values: dict[str, Any] = {}
    for key in keys:
        value = item.get(key, ABSENT)
        if value is ABSENT:
            value = node.key_defaults.get(key, ABSENT)
        if value is not ABSENT:
            values[key] = value
    if not values:
        names = " ".join(f'"{key}"' for key in keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return "k:" + orjson.dumps(values).decode()


@functools.lru_cache(maxsize=4096)
def _named_step(key: str, value: str) -> str:
    return "k:" + orjson.dumps({key: value}).decode()


def shape_of(node: Node, value: Any) -> int:
    """The node's shape; for untyped places that of the value. What does not fit its type is a scalar: stored objects
    may be older than their definition."""
    shape, kind = node.shape, type(value)
    if shape == ANY:
        return MAP if kind is dict else LIST if kind is list else SCALAR
    if shape == LIST:
        return LIST if kind is list or value is None else SCALAR
    if shape == SCALAR:
        return SCALAR
    return MAP if kind is dict or value is None else SCALAR


def is_leaf(node: Node, shape: int) -> bool:
    return shape == SCALAR or node.atomic or (node.shape == ANY and shape == LIST)


def member_node(node: Node, key: str) -> Node:
    """The type of a map's or struct's member; untyped below untyped, and where a type knows nothing of it."""
    return node.fields.get(key) or (node.value if node.shape != ANY else None) or UNTYPED


class Unkeyed(Exception):
    """An item of a keyed list has none of its keys: nobody can own it, and the body cannot be followed."""


def indexed(node: Node, items: list[Any]) -> tuple[list[str], dict[str, list[Any]]]:
    """Steps of the items in order, and the items by step: more than one if keys repeat. Raises ``Unkeyed``."""
    steps: list[str] = []
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            step = item_step(node, item)
        except ValueError as error:
            raise Unkeyed(str(error)) from None
        steps.append(step)
        found.setdefault(step, []).append(item)
    return steps, found


def fields_of(node: Node, value: Any) -> FieldSet:
    """The set of fields that a configuration names (Kubernetes: its leaves, items of keyed lists, members of maps)."""
    return _named(node, value) or EMPTY


def _named(node: Node, value: Any) -> FieldSet | None:
    """The set below a place; ``{}`` is the place alone, ``None`` nothing."""
    shape = shape_of(node, value)
    if is_leaf(node, shape):
        return EMPTY
    if not value:
        return None
    out: FieldSet = {}
    if shape == MAP:
        fields = node.fields
        for key, inner in value.items():
            child = _named(member_node(node, key), inner)
            # A struct's field is named by what is in it, a map's member by being there.
            if inner is None or inner == {} or key not in fields:
                out[f"f:{key}"] = fieldset.with_member(child) if child else EMPTY
            elif child is not None:
                out[f"f:{key}"] = child
        return out or None
    inner_node = node.value or UNTYPED
    for step, items in indexed(node, value)[1].items():
        child = _named(inner_node, items[0]) if len(items) == 1 else None
        out[step] = fieldset.with_member(child) if child else EMPTY
    return out


def names_anything(node: Node, value: Any) -> bool:
    """Whether a member with this value names a field at all: an empty list does not, an empty map does."""
    shape = shape_of(node, value)
    if is_leaf(node, shape) or not value:
        return shape != LIST or is_leaf(node, shape) or value is None
    if shape == LIST:
        return True
    fields = node.fields
    return any(key not in fields or names_anything(member_node(node, key), inner) for key, inner in value.items())


def with_parents(node: Node, fields: FieldSet) -> FieldSet:
    """``fields`` with every declared field above a member a member too: removing the last of a struct's contents
    removes the struct."""
    out: FieldSet = {}
    for step, below in fields.items():
        if step == HERE or not below:
            out[step] = below
            continue
        declared = step.startswith("f:") and step[2:] in node.fields
        child = member_node(node, step[2:]) if step.startswith("f:") else (node.value or UNTYPED)
        inner = with_parents(child, below)
        out[step] = fieldset.with_member(inner) if declared else inner
    return out


def fitting(node: Node, fields: FieldSet) -> FieldSet:
    """``fields`` for a type that may have changed since: what is below a value with one owner becomes that value."""
    out: FieldSet | None = None
    for step, below in fields.items():
        if not below or step == HERE:
            continue
        child = member_node(node, step[2:]) if step.startswith("f:") else (node.value or UNTYPED)
        leaf = child.shape == SCALAR or child.atomic
        new = EMPTY if leaf else fitting(child, below)
        if new is not below:
            out = dict(fields) if out is None else out
            out[step] = new
    return fields if out is None else out
