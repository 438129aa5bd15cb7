"""Two manifests of one object, the later written over the earlier: does that tell the server anything?

With a cluster at hand, `compare` uses the live object. Without one, the earlier manifest is taken to
be there as it was sent, recorded as ours, and the same engine (`diff`) says whether the later one differs in meaning.
Another order of ports, a quantity in other words, or a field that belongs to the cluster is nothing to write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body
from gitfed.planning.objects import atomic_fields, diff, list_types, redact, retain
from gitfed.planning.objects.list_types import Owned
from gitfed.text.pointer import Pointer

_NEVER_RECORDED = {(): frozenset({"apiVersion", "kind", "status"}), ("metadata",): frozenset({"name", "namespace"})}


def differs(before: Body, after: Body, interpreter: Interpreter) -> bool:
    """Whether an object that was applied as `before` is written when it should be as `after`.

    Also when a rule of its kind cannot say from these two what it keeps: then it is looked at when it is written.
    """
    try:
        wanted = retain.wanted(after, before, interpreter)
    except retain.RetainError:
        return True
    ignored = diff.ignored_pointers(after, before, native=not retain.has_rule(after, interpreter))
    if not ignored and not redact.is_secret(after) and diff.surely_differs(before, wanted):
        return True
    if diff.diff(wanted, before, owned=record(before, wanted), ignore=ignored):
        return True
    # Inside lists of a kind that users define only who knows both sides sees what was dropped.
    return not atomic_fields.is_known(str(after["apiVersion"]), ("",)) and bool(
        diff.diff(before, wanted, owned=None, ignore=ignored)
    )


def record(body: Body, beside: Body | None = None) -> Owned:
    """The fields of a manifest as a server writes them down when we have applied it (Kubernetes: FieldsV1).

    `beside`: what it is to be compared with. A part that is the same object in both is recorded without its members:
    nothing in it differs, and nobody looks.
    """
    return _members(body, beside, str(body.get("kind", "")), ())


def _members(values: Mapping[str, Any], beside: Any, kind: str, place: Pointer) -> Owned:
    unrecorded = _NEVER_RECORDED.get(place, frozenset())
    others = beside if isinstance(beside, Mapping) else {}
    return {
        f"f:{name}": _value(value, others.get(name), kind, (*place, name))
        for name, value in values.items()
        if name not in unrecorded and value is not None and not diff.is_dropped_when_empty(value, name)
    }


def _value(value: Any, beside: Any, kind: str, place: Pointer) -> Owned:
    if value is beside:
        return {}
    if isinstance(value, dict):
        return _members(value, beside, kind, place)
    return _items(value, beside, kind, place) if isinstance(value, list) else {}


def _items(values: Sequence[Any], beside: Any, kind: str, place: Pointer) -> Owned:
    shape = list_types.shape(kind, place, None)
    if shape.is_set:
        return {f"v:{json.dumps(item)}": {} for item in values}
    items = list_types.by_key(values, shape.keys) if shape.keys else None
    if items is None:
        return {}  # one value
    others = list_types.by_key(beside, shape.keys) if isinstance(beside, list) else None
    inside = (*place, "0")
    return {
        f"k:{json.dumps(dict(zip(shape.keys, key, strict=True)))}": {
            ".": {},
            **_members(item, (others or {}).get(key, (0, None))[1], kind, inside),
        }
        for key, (_, item) in items.items()
    }
