"""What is sent when an object is updated: the manifest without what belongs to the cluster (Karmada: policies §5.6).

With server-side apply there are two ways to leave a field to somebody else. If another manager owns it, leaving it
out is enough, and best: that manager may change it between our look and our write. If nobody else does, leaving it
out would take it away (it may be ours from the creation), so the observed value is sent, together with the
`resourceVersion` it was read at: who was faster makes the write fail with 409, and we look again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.change import diff
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Answer, Interpreter, Unknown
from gitfed.model.base import Body
from gitfed.text import pointer
from gitfed.text.pointer import Pointer

MANAGER = "gitfed"
_NATIVE = (Native(),)


class RetainError(ValueError):
    """What belongs to the cluster could not be found out, so nothing may be written."""


def for_apply(desired: Body, observed: Body, interpreter: Interpreter | None = None) -> Body | None:
    """The body to send in place of `desired`; None: send `desired` itself.

    Raises RetainError when the rule fails. `interpreter` None: the native rules.
    """
    body = desired
    takes_version = False
    for place in diff.ignored_pointers(desired, observed):
        if not pointer.has(observed, place):
            continue
        if _has_other_owner(observed, place):
            body = pointer.drop(body, place)
        elif not pointer.has(desired, place) or pointer.get(desired, place) != pointer.get(observed, place):
            if pointer.has(desired, place) or _is_ours(observed, place):
                body = pointer.put(body, place, pointer.get(observed, place))
                takes_version = True
    retained = retain(body, observed, interpreter or Interpreter(_NATIVE))
    if retained is not body:
        kept = _without_taken(retained, body, observed)
        takes_version = takes_version or kept != body
        body = kept
    if takes_version:
        version = observed["metadata"].get("resourceVersion")
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": version}} if version else body
    return None if body == desired else body


def retain(desired: Body, observed: Body, interpreter: Interpreter) -> Body:
    """`desired` with the cluster's own values, whole: the reference's form. Raises RetainError."""
    match interpreter.retain(desired, observed):
        case Answer(value=value):
            return value
        case Unknown(reason=reason):
            raise RetainError(reason)


def _without_taken(retained: Body, desired: Body, observed: Body) -> Body:
    """Of what the rule took over, the parts that another manager owns are left out again."""
    body = retained
    for place in _differences(retained, desired, ()):
        if _has_other_owner(observed, place):
            body = pointer.drop(body, place)
    return body


def _differences(left: Any, right: Any, place: Pointer) -> Iterable[Pointer]:
    """Places in `left` that differ from `right`, as deep as maps go."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name, value in left.items():
            if name not in right:
                yield (*place, name)
            elif value != right[name]:
                yield from _differences(value, right[name], (*place, name))
    elif left != right:
        yield place


def _has_other_owner(observed: Body, place: Pointer) -> bool:
    return any(
        _owns(entry.get("fieldsV1") or {}, place)
        for entry in observed["metadata"].get("managedFields") or ()
        if entry.get("manager") != MANAGER or entry.get("operation") != "Apply" or entry.get("subresource")
    )


def _is_ours(observed: Body, place: Pointer) -> bool:
    owned = diff.owned_fields(observed, MANAGER)
    return owned is not None and _owns(owned, place)


def _owns(fields: Mapping[str, Any], place: Pointer) -> bool:
    """Whether the record names the place, something inside it, or an ancestor as one value."""
    level = fields
    for name in place:
        if f"f:{name}" not in level:
            return False
        level = level[f"f:{name}"]
        if not level:
            return True
    return True
