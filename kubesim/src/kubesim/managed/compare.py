"""What happened between two bodies of one type: fields added, modified and removed.

What came or went is told with everything below it and the maps and lists it brought; a value with one owner is told as
a whole. The order of items is not told. Bodies share parts, so ``is`` decides most comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kubesim.managed import fieldset, typed
from kubesim.managed.fieldset import EMPTY, HERE, FieldSet
from kubesim.schema_nodes import MAP, Node


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
    shape = typed.shape_of(node, new if new is not None else old)
    if typed.shape_of(node, old if old is not None else new) != shape:
        return _replaced(node, old, new)
    if typed.is_leaf(node, shape) or (not old and not new):
        return _NOTHING if typed.same(old, new) else _MODIFIED
    if node.presence and old == new:
        return _NOTHING
    return _compare_members(node, old or {}, new or {}) if shape == MAP else _compare_items(node, old or [], new or [])


def _replaced(node: Node, old: Any, new: Any) -> _Parts:
    """A value that became one of another shape: modified, with all that was below it gone and what is now added."""
    added, removed = (
        {step: below for step, below in _whole(node, side).items() if step != HERE} for side in (new, old)
    )
    return added or None, EMPTY, removed or None


def _compare_members(node: Node, old: dict[str, Any], new: dict[str, Any]) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        before = old.get(key, typed.ABSENT)
        if before is value:
            continue
        child, step = typed.member_node(node, key), f"f:{key}"
        if before is typed.ABSENT:
            added[step] = _whole(child, value)
        else:
            _file(step, _compare(child, before, value), added, modified, removed)
    for key, value in old.items():
        if key not in new:
            removed[f"f:{key}"] = _whole(typed.member_node(node, key), value)
    return added or None, modified or None, removed or None


def _compare_items(node: Node, old: list[Any], new: list[Any]) -> _Parts:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    inner = node.value or typed.UNTYPED
    before, after = typed.indexed(node, old)[1], typed.indexed(node, new)[1]
    for step, items in after.items():
        theirs = before.get(step)
        if theirs is None:
            added[step] = _whole(inner, items[0]) if len(items) == 1 else EMPTY
        elif len(items) == len(theirs) == 1:
            _file(step, _compare(inner, theirs[0], items[0]), added, modified, removed)
        elif not typed.same(theirs, items):
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
    shape = typed.shape_of(node, value)
    if not value or typed.is_leaf(node, shape):
        return EMPTY
    out: FieldSet = {HERE: EMPTY}
    if shape == MAP:
        for key, inner in value.items():
            out[f"f:{key}"] = _whole(typed.member_node(node, key), inner)
        return out
    inner_node = node.value or typed.UNTYPED
    for step, items in typed.indexed(node, value)[1].items():
        out[step] = _whole(inner_node, items[0]) if len(items) == 1 else EMPTY
    return out
