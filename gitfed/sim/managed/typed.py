"""Walks over two bodies of one type: what a value consists of, what differs, what a merge gives, what is left.

These are the four questions ownership asks (``managed.tracking``): the set of fields a configuration names
(``fields_of``), what was added, modified and removed between two bodies (``compare``), the live body with a
configuration laid over it (``merge``) and a body without some fields (``remove``). Kubernetes: structured merge.

An item of a keyed list is found by its keys, not its place; a value with one owner (atomic) is a leaf, however deep.
Bodies share parts, so ``is`` decides most comparisons.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from gitfed.sim.managed import fieldset
from gitfed.sim.managed.fieldset import EMPTY, HERE, FieldSet
from gitfed.sim.schema_nodes import ANY, LIST, MAP, SCALAR, STRUCT, Node

_ABSENT: Final = object()

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
        value = item.get(key, _ABSENT)
        if value is _ABSENT:
            value = node.key_defaults.get(key, _ABSENT)
        if value is not _ABSENT:
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


def _shape(node: Node, value: Any) -> int:
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


def _is_leaf(node: Node, shape: int) -> bool:
    return shape == SCALAR or node.atomic or (node.shape == ANY and shape == LIST)


def _member_node(node: Node, key: str) -> Node:
    """The type of a map's or struct's member; untyped below untyped, and where a type knows nothing of it."""
    return node.fields.get(key) or (node.value if node.shape != ANY else None) or UNTYPED


def _indexed(node: Node, items: list[Any]) -> tuple[list[str], dict[str, list[Any]]]:
    """Steps of the items in order, and the items by step: more than one if keys repeat. An item without any key has
    the step ``k:{}``: it cannot be matched."""
    steps: list[str] = []
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            step = item_step(node, item)
        except ValueError:
            step = "k:{}"
        steps.append(step)
        found.setdefault(step, []).append(item)
    return steps, found


# What a configuration names


def fields_of(node: Node, value: Any) -> FieldSet:
    """The set of fields that a configuration names (Kubernetes: its leaves, items of keyed lists, members of maps)."""
    return _named(node, value) or EMPTY


def _named(node: Node, value: Any) -> FieldSet | None:
    """The set below a place; ``{}`` is the place alone, ``None`` nothing."""
    shape = _shape(node, value)
    if _is_leaf(node, shape):
        return EMPTY
    if not value:
        return None
    out: FieldSet = {}
    if shape == MAP:
        fields = node.fields
        for key, inner in value.items():
            child = _named(_member_node(node, key), inner)
            # A struct's field is named by what is in it, a map's member by being there.
            if inner is None or inner == {} or key not in fields:
                out[f"f:{key}"] = fieldset.with_member(child) if child else EMPTY
            elif child is not None:
                out[f"f:{key}"] = child
        return out or None
    inner_node = node.value or UNTYPED
    for step, items in _indexed(node, value)[1].items():
        child = _named(inner_node, items[0]) if len(items) == 1 else None
        out[step] = fieldset.with_member(child) if child else EMPTY
    return out


# What differs


@dataclass(slots=True)
class Comparison:
    """What happened between two bodies."""

    added: FieldSet = field(default_factory=dict)
    modified: FieldSet = field(default_factory=dict)
    removed: FieldSet = field(default_factory=dict)

    def without(self, excluded: FieldSet) -> Comparison:
        if not excluded:
            return self
        return Comparison(*(fieldset.without(part, excluded) for part in (self.added, self.modified, self.removed)))

    def is_empty(self) -> bool:
        return not (self.added or self.modified or self.removed)


_Parts = tuple[FieldSet | None, FieldSet | None, FieldSet | None]
_NOTHING: Final[_Parts] = (None, None, None)
_MODIFIED: Final[_Parts] = (None, EMPTY, None)


def compare(node: Node, old: Any, new: Any) -> Comparison:
    """What was added, modified and removed. The order of items is not told."""
    added, modified, removed = _compare(node, old, new)
    return Comparison(added or {}, modified or {}, removed or {})


def _compare(node: Node, old: Any, new: Any) -> _Parts:
    if old is new:
        return _NOTHING
    shape = _shape(node, new if new is not None else old)
    if _is_leaf(node, shape) or (not old and not new):
        return _NOTHING if same(old, new) else _MODIFIED
    if node.presence and old == new:
        return _NOTHING
    if _shape(node, old if old is not None else new) != shape:
        return _MODIFIED
    return _compare_members(node, old or {}, new or {}) if shape == MAP else _compare_items(node, old or [], new or [])


def _compare_members(node: Node, old: dict[str, Any], new: dict[str, Any]) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        before = old.get(key, _ABSENT)
        if before is value:
            continue
        child, step = _member_node(node, key), f"f:{key}"
        if before is _ABSENT:
            added[step] = _whole(child, value)
        else:
            _file(step, _compare(child, before, value), added, modified, removed)
    for key, value in old.items():
        if key not in new:
            removed[f"f:{key}"] = _whole(_member_node(node, key), value)
    return added or None, modified or None, removed or None


def _compare_items(node: Node, old: list[Any], new: list[Any]) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    inner = node.value or UNTYPED
    before, after = _indexed(node, old)[1], _indexed(node, new)[1]
    for step, items in after.items():
        theirs = before.get(step)
        if theirs is None:
            added[step] = _whole(inner, items[0]) if len(items) == 1 else EMPTY
        elif len(items) == len(theirs) == 1:
            _file(step, _compare(inner, theirs[0], items[0]), added, modified, removed)
        elif not same(theirs, items):
            modified[step] = EMPTY
    for step, items in before.items():
        if step not in after:
            removed[step] = _whole(inner, items[0]) if len(items) == 1 else EMPTY
    return added or None, modified or None, removed or None


def _file(step: str, parts: _Parts, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
    for part, whole in zip(parts, (added, modified, removed), strict=True):
        if part is not None:
            whole[step] = part


def _whole(node: Node, value: Any) -> FieldSet:
    """Everything in a value that came or went: itself, and all that is below."""
    shape = _shape(node, value)
    if not value or _is_leaf(node, shape):
        return EMPTY
    out: FieldSet = {HERE: EMPTY}
    if shape == MAP:
        for key, inner in value.items():
            out[f"f:{key}"] = _whole(_member_node(node, key), inner)
        return out
    inner_node = node.value or UNTYPED
    for step, items in _indexed(node, value)[1].items():
        out[step] = _whole(inner_node, items[0]) if len(items) == 1 else EMPTY
    return out


# What a merge gives


def merge(node: Node, live: Any, config: Any) -> Any:
    """``live`` with ``config`` laid over it; ``live`` itself if that changes nothing."""
    shape = _shape(node, config if config is not None else live)
    if _is_leaf(node, shape) or (not live and not config):
        return live if same(live, config) else config
    if not config:
        return live
    if not live or type(live) is not type(config):
        return config
    return _merge_members(node, live, config) if shape == MAP else _merge_items(node, live, config)


def _merge_members(node: Node, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    out = live
    for key, value in config.items():
        before = live.get(key, _ABSENT)
        merged = value if before is _ABSENT else merge(_member_node(node, key), before, value)
        if merged is not before:
            if out is live:
                out = dict(live)
            out[key] = merged
    return out


def _merge_items(node: Node, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of both, in an order that keeps the configuration's among its own items and, as far as it can, the live
    one of the others (Kubernetes: live items go first until the next shared one).
    """
    inner = node.value or UNTYPED
    live_steps, live_items = _indexed(node, live)
    steps, items = _indexed(node, config)
    shared = [step for step in steps if step in live_items]
    out: list[Any] = []
    done: set[str] = set()

    def take(step: str) -> None:
        """The configuration's item, merged with the live one if there is exactly one."""
        mine, theirs = items[step][0], live_items.get(step, ())
        out.append(merge(inner, theirs[0], mine) if len(theirs) == 1 else mine)
        done.add(step)
        if shared and shared[0] == step:
            shared.pop(0)

    at_live = at_config = 0
    while at_live < len(live) or at_config < len(config):
        if at_live < len(live) and at_config < len(config):
            step = live_steps[at_live]
            if step == steps[at_config]:
                take(step)
                at_live += 1
                at_config += 1
                continue
            if step in items and shared and shared[0] != step:
                # A shared item, but not the one whose turn it is.
                at_live += 1
                continue
        if at_live < len(live):
            step = live_steps[at_live]
            if step not in items:
                out.append(live[at_live])
                at_live += 1
                continue
            if step in done:
                at_live += 1
        if at_config < len(config):
            take(steps[at_config])
            at_config += 1
    return live if len(out) == len(live) and all(map(lambda a, b: a is b, out, live)) else out


# What is left


def remove(node: Node, value: Any, fields: FieldSet) -> Any:
    """``value`` without the members of ``fields``: null where nothing is left, itself if nothing was there."""
    if not fields or not value:
        return value
    shape = _shape(node, value)
    if _is_leaf(node, shape):
        return None
    return _remove_members(node, value, fields) if shape == MAP else _remove_items(node, value, fields)


def _remove_members(node: Node, value: dict[str, Any], fields: FieldSet) -> dict[str, Any] | None:
    out: dict[str, Any] | None = None
    for step, below in fields.items():
        key = step[2:]
        if step == HERE or step[0] != "f" or key not in value:
            continue
        if fieldset.is_member(below):
            out = dict(value) if out is None else out
            del out[key]
        elif (left := remove(_member_node(node, key), value[key], below)) is not value[key]:
            out = dict(value) if out is None else out
            out[key] = left
    return value if out is None else out or None


def _remove_items(node: Node, value: list[Any], fields: FieldSet) -> list[Any] | None:
    kept: list[Any] = []
    inner, changed = node.value or node, False
    for step, item in zip(_indexed(node, value)[0], value, strict=True):
        below = fields.get(step)
        if below is not None and fieldset.is_member(below):
            changed = True
            continue
        left = item if below is None else remove(inner, item, below)
        changed = changed or left is not item
        kept.append(left)
    return (kept or None) if changed else value


def with_parents(node: Node, fields: FieldSet) -> FieldSet:
    """``fields`` with every declared field above a member a member too: removing the last of a struct's contents
    removes the struct."""
    out: FieldSet = {}
    for step, below in fields.items():
        if step == HERE or not below:
            out[step] = below
            continue
        declared = step.startswith("f:") and step[2:] in node.fields
        child = _member_node(node, step[2:]) if step.startswith("f:") else (node.value or UNTYPED)
        inner = with_parents(child, below)
        out[step] = fieldset.with_member(inner) if declared else inner
    return out


def fitting(node: Node, fields: FieldSet) -> FieldSet:
    """``fields`` for a type that may have changed since: what is below a value with one owner becomes that value."""
    out: FieldSet | None = None
    for step, below in fields.items():
        if not below or step == HERE:
            continue
        child = _member_node(node, step[2:]) if step.startswith("f:") else (node.value or UNTYPED)
        leaf = child.shape == SCALAR or child.atomic
        new = EMPTY if leaf else fitting(child, below)
        if new is not below:
            out = dict(fields) if out is None else out
            out[step] = new
    return fields if out is None else out
