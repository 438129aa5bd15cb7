"""Sets of fields, in the very form Kubernetes writes them (FieldsV1), and the algebra on them.

A set is a JSON object: ``{"f:data": {".": {}, "f:k": {}}}`` holds ``.data`` and ``.data.k``. A step is ``f:name`` (a
field), ``k:{"name":"web"}`` (an item of a keyed list), ``v:"x"`` (a value in a set) or ``i:0``. What is below a step is
again a set; the step itself belongs to the set if nothing is below it, or if ``.`` is. Sets are never changed in
place, and parts are shared: a decoded object's managedFields are used as they are, without parsing or printing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import orjson

FieldSet = dict[str, Any]

EMPTY: Final[FieldSet] = {}
HERE: Final = "."
"""The step that tells: the path that leads here is itself a member."""


def is_member(child: FieldSet) -> bool:
    """Whether a step whose value in a set is ``child`` belongs to the set itself."""
    return not child or HERE in child


def with_member(child: FieldSet) -> FieldSet:
    """``child`` with its own step belonging to the set."""
    return child if is_member(child) else {HERE: {}, **child}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or left is right:
        return right
    if not right:
        return left
    out = dict(left)
    for step, theirs in right.items():
        ours = left.get(step)
        if ours is None or step == HERE:
            out[step] = theirs
        elif ours is not theirs:
            out[step] = _union_child(ours, theirs)
    return out


def _union_child(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return with_member(right)
    if not right:
        return with_member(left)
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in ``left`` and not in ``right``, path by path: removing a map does not remove what is below it."""
    if not left or not right:
        return left
    out: FieldSet = {}
    for step, ours in left.items():
        if step == HERE:
            continue
        theirs = right.get(step)
        if theirs is None:
            out[step] = ours
            continue
        member = is_member(ours) and not is_member(theirs)
        below = {key: value for key, value in difference(ours, theirs).items() if key != HERE}
        if below:
            out[step] = with_member(below) if member else below
        elif member:
            out[step] = EMPTY
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    out: FieldSet = {}
    if not left or not right:
        return out
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    for step, ours in small.items():
        theirs = large.get(step)
        if theirs is None or step == HERE:
            continue
        below = intersection(ours, theirs)
        if is_member(ours) and is_member(theirs):
            out[step] = with_member(below) if below else EMPTY
        elif below:
            out[step] = below
    return out


def without(fields: FieldSet, excluded: FieldSet) -> FieldSet:
    """``fields`` without the leaves of ``excluded`` and everything below them."""
    if not excluded or excluded.keys().isdisjoint(fields):
        return fields
    out: FieldSet = {}
    for step, ours in fields.items():
        theirs = excluded.get(step)
        if theirs is None:
            out[step] = ours
        elif theirs:
            below = without(ours, theirs)
            if below or not ours:
                out[step] = below
    return out


def from_paths(paths: Iterable[Sequence[str]]) -> FieldSet:
    """The set of these paths of field names."""
    out: FieldSet = {}
    for path in paths:
        node = out
        for name in path:
            node = node.setdefault(f"f:{name}", {})
    return out


def has(fields: FieldSet, path: Sequence[str]) -> bool:
    """Whether a path of field names belongs to the set."""
    node = fields
    for name in path:
        if (node := node.get(f"f:{name}")) is None:  # type: ignore[assignment]
            return False
    return is_member(node)


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Every member as its steps, in Kubernetes' order: members of a level first, then what is below each."""
    steps = sorted((step for step in fields if step != HERE), key=_order)
    for step in steps:
        if is_member(fields[step]):
            yield (step,)
    for step in steps:
        for rest in paths(fields[step]):
            yield (step, *rest)


def _order(step: str) -> tuple[int, Any]:
    kind, text = step[0], step[2:]
    if kind == "f":
        return 0, text
    if kind == "k":
        return 1, [(name, _rank(value)) for name, value in orjson.loads(text).items()]
    return (2, _rank(orjson.loads(text))) if kind == "v" else (3, int(text))


def _rank(value: Any) -> tuple[int, Any]:
    """Scalars of different types are ordered by type."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, json.dumps(value, sort_keys=True))


def written(path: Iterable[str]) -> str:
    """``.spec.template.spec.containers[name="web"].image``."""
    parts: list[str] = []
    for step in path:
        kind, text = step[0], step[2:]
        if kind == "f":
            parts.append(f".{text}")
        elif kind == "k":
            pairs = ",".join(f"{name}={scalar(value)}" for name, value in orjson.loads(text).items())
            parts.append(f"[{pairs}]")
        else:
            parts.append(f"[={scalar(orjson.loads(text))}]" if kind == "v" else f"[{text}]")
    return "".join(parts)


def scalar(value: Any) -> str:
    """A key's value as people read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else json.dumps(value, ensure_ascii=False)


def canonical(fields: Any) -> FieldSet:
    """A set as a client sent it, with its steps in the spelling used here. Raises ``ValueError`` if it is none."""
    if not isinstance(fields, dict):
        raise ValueError("a set of fields is an object")
    out: FieldSet = {}
    for step, below in fields.items():
        inner = canonical(below)
        if step == HERE:
            out[step] = EMPTY
        else:
            out[_canonical_step(step)] = inner
    return out


def _canonical_step(step: str) -> str:
    kind, text = step[:2], step[2:]
    if kind == "f:":
        return step
    if kind == "i:":
        return f"i:{int(text)}"
    if kind not in ("k:", "v:"):
        raise ValueError(f"{step!r} is no step of a path")
    value = orjson.loads(text)
    if kind == "k:" and not (isinstance(value, dict) and value):
        raise ValueError(f"{step!r} has no keys")
    return kind + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
