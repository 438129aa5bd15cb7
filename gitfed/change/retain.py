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
from gitfed.interpret.registry import Answer, Interpreter, Unknown
from gitfed.model.base import Body
from gitfed.text import pointer
from gitfed.text.pointer import Pointer

MANAGER = "gitfed"


class RetainError(ValueError):
    """What belongs to the cluster could not be found out, so nothing may be written."""


def for_apply(desired: Body, observed: Body, interpreter: Interpreter | None = None) -> Body | None:
    """The body to send in place of `desired`; None: send `desired` itself.

    `interpreter` is asked too if it is given, for kinds with rules of their own; raises RetainError when it fails.
    The native rules alone never fail.
    """
    body, takes_version = desired, False
    for place in diff.ignored_pointers(desired, observed):
        if not pointer.has(observed, place):
            continue
        if _has_other_owner(observed, place):
            body = pointer.drop(body, place)
        elif pointer.has(desired, place) or _is_ours(observed, place):
            body = pointer.put(body, place, pointer.get(observed, place))
            takes_version = True
    merged = _pull_secrets(body, observed)
    if interpreter is not None:
        merged = _without_taken(retain(merged, observed, interpreter), merged, observed)
    takes_version = takes_version or merged is not body
    if takes_version and (version := observed["metadata"].get("resourceVersion")):
        merged = {**merged, "metadata": {**merged["metadata"], "resourceVersion": version}}
    return None if merged is desired else merged


def reads_live(desired: Body) -> bool:
    """Whether what is to be sent depends on the object as it is: then it must be read before it is written."""
    if desired.get("kind") == "ServiceAccount" and desired.get("imagePullSecrets"):
        return True
    return bool(diff.ignored_pointers(desired, desired))


def _pull_secrets(body: Body, observed: Body) -> Body:
    """A ServiceAccount's `imagePullSecrets` are one value for the server: to keep those of others, send them too."""
    if body.get("kind") != "ServiceAccount" or not body.get("imagePullSecrets"):
        return body
    ours = {item.get("name") for item in body["imagePullSecrets"]}
    others = [item for item in observed.get("imagePullSecrets") or () if item.get("name") not in ours]
    return {**body, "imagePullSecrets": [*body["imagePullSecrets"], *others]} if others else body


def retain(desired: Body, observed: Body, interpreter: Interpreter) -> Body:
    """`desired` with the cluster's own values, whole: the reference's form. Raises RetainError."""
    match interpreter.retain(desired, observed):
        case Answer(value=value):
            return value
        case Unknown(reason=reason):
            raise RetainError(reason)


def _without_taken(retained: Body, desired: Body, observed: Body) -> Body:
    """Of what the rule took over, the parts that another manager owns are left out again."""
    if retained is desired:
        return desired
    body = retained
    for place in _differences(retained, desired, ()):
        if pointer.get(retained, place) is None or _has_other_owner(observed, place):
            body = pointer.drop(body, place)
    return desired if body == desired else body


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
