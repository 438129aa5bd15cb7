"""A configuration laid over a live body, and a body without some of its fields.

Both give the same object back where nothing changes, and share whatever they do not touch: that is what tells a no-op.
"""

from __future__ import annotations

from typing import Any

from kubesim.managed import fieldset, typed
from kubesim.managed.fieldset import HERE, FieldSet
from kubesim.schema_nodes import MAP, Node


def merge(node: Node, live: Any, config: Any) -> Any:
    """``live`` with ``config`` laid over it; ``live`` itself if that changes nothing."""
    shape = typed.shape_of(node, config if config is not None else live)
    if typed.is_leaf(node, shape) or (not live and not config):
        return live if typed.same(live, config) else config
    if not config:
        return live
    if not live or type(live) is not type(config):
        return config
    return _merge_members(node, live, config) if shape == MAP else _merge_items(node, live, config)


def _merge_members(node: Node, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    out = live
    for key, value in config.items():
        before = live.get(key, typed.ABSENT)
        merged = value if before is typed.ABSENT else merge(typed.member_node(node, key), before, value)
        if merged is not before:
            if out is live:
                out = dict(live)
            out[key] = merged
    return out


def _merge_items(node: Node, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of both, in an order that keeps the configuration's among its own items and, as far as it can, the live
    one of the others (Kubernetes: live items go first until the next shared one).
    """
    inner = node.value or typed.UNTYPED
    live_steps, live_items = typed.indexed(node, live)
    steps, items = typed.indexed(node, config)
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


def remove(node: Node, value: Any, fields: FieldSet) -> Any:
    """``value`` without the members of ``fields``; itself if nothing was there. What loses all parts stays, empty."""
    if not fields or not value:
        return value
    shape = typed.shape_of(node, value)
    if typed.is_leaf(node, shape):
        return value
    return _remove_members(node, value, fields) if shape == MAP else _remove_items(node, value, fields)


def _remove_members(node: Node, value: dict[str, Any], fields: FieldSet) -> dict[str, Any]:
    out: dict[str, Any] | None = None
    for step, below in fields.items():
        key = step[2:]
        if step == HERE or step[0] != "f" or key not in value:
            continue
        if fieldset.is_member(below):
            out = dict(value) if out is None else out
            del out[key]
        elif (left := remove(typed.member_node(node, key), value[key], below)) is not value[key]:
            out = dict(value) if out is None else out
            out[key] = left
    return value if out is None else out


def _remove_items(node: Node, value: list[Any], fields: FieldSet) -> list[Any]:
    kept: list[Any] = []
    inner, changed = node.value or typed.UNTYPED, False
    for step, item in zip(typed.indexed(node, value)[0], value, strict=True):
        below = fields.get(step)
        if below is not None and fieldset.is_member(below):
            changed = True
            continue
        left = item if below is None else remove(inner, item, below)
        changed = changed or left is not item
        kept.append(left)
    return kept if changed else value


def vanished(node: Node, before: Any, after: Any, fields: FieldSet) -> FieldSet:
    """Members of ``fields`` that a removal left without a trace: ``after`` is ``before`` without some parts, and an
    empty keyed list, or a struct of nothing but such lists, names no field any more."""
    out: FieldSet = {}
    shape = typed.shape_of(node, after)
    if typed.is_leaf(node, shape):
        return out
    if shape == MAP:
        for step, below in fields.items():
            key = step[2:]
            if step == HERE or key not in after or after[key] is before[key]:
                continue
            child = typed.member_node(node, key)
            if fieldset.is_member(below) and not typed.names_anything(child, after[key]):
                out[step] = fieldset.EMPTY
            elif inner := vanished(child, before[key], after[key], below):
                out[step] = inner
        return out
    inner_node = node.value or typed.UNTYPED
    items = typed.indexed(node, before)[1]
    for step, item in zip(typed.indexed(node, after)[0], after, strict=True):
        if step in fields and (inner := vanished(inner_node, items[step][0], item, fields[step])):
            out[step] = inner
    return out
