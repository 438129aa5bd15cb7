"""What is sent when an object is updated: the manifest without what belongs to the cluster (Karmada: policies §5.6).

With server-side apply there are two ways to leave a field to another manager. If another manager owns it, leaving it
out is enough, and best: that manager may change it between our look and our write. If no other manager does, leaving it
out would take it away (it may be ours from the creation), so the observed value is sent, together with the
`resourceVersion` it was read at: who was faster makes the write fail with 409, and we look again.

The native rules keep single fields, so they are known as places (`diff.ignored_pointers`). A rule of the user's own,
or of the catalogue, is a function from two objects to one and may do anything; `wanted` asks it *before* anything is
compared, or what it keeps would be a difference for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.interpret import native, shapes
from gitfed.interpret.registry import DEFAULT, Interpretation, Interpreter, InterpretError, Operation, Unknown
from gitfed.model.base import Body
from gitfed.model.keys import MANAGER, OURS
from gitfed.planning.objects import diff
from gitfed.text import pointer
from gitfed.text.pointer import Pointer

_SYSTEM = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "selfLink", "managedFields", "ownerReferences", "finalizers",
)  # fmt: skip
"""Members of metadata that a server writes; a rule that takes over all metadata does not mean them."""


class RetainError(ValueError):
    """What belongs to the cluster could not be found out, so nothing may be written."""

    def __init__(self, message: str, *, permanent: bool = True, cause: str = "") -> None:
        super().__init__(message)
        self.permanent = permanent
        """False: asking again may help."""
        self.cause = cause
        """See `model.base.Problem`."""


def has_rule(desired: Body, interpreter: Interpreter) -> bool:
    """Whether a rule that is a function decides what is kept of this kind, and not the native places."""
    return interpreter.source(desired, Operation.RETAIN) not in (native.NAME, DEFAULT)


def wanted(desired: Body, observed: Body, interpreter: Interpreter) -> Body:
    """What should be there: `desired` with what the kind's own rule keeps of `observed`. Raises RetainError.

    For kinds without such a rule `desired` itself.
    """
    if not has_rule(desired, interpreter):
        return desired
    body = retain(desired, observed, interpreter)
    try:
        shapes.same_object(body, desired)
    except InterpretError as error:
        raise RetainError(f"{desired['kind']} {Operation.RETAIN}: {error}") from error
    metadata = {name: value for name, value in body["metadata"].items() if name not in _SYSTEM}
    if labels := {**(metadata.get("labels") or {}), **_our_labels(desired)}:
        metadata["labels"] = labels
    return {**{name: value for name, value in body.items() if name != "status"}, "metadata": metadata}


def for_apply(desired: Body, observed: Body, interpreter: Interpreter) -> Body | None:
    """The body to send in place of `desired`; None: send `desired` itself. Raises RetainError.

    Where an object is taken over, `observed` records its earlier writers' fields as ours already (`adopt.migrated`).
    """
    custom = has_rule(desired, interpreter)
    body, takes_version = desired, False
    for place in diff.ignored_pointers(desired, observed, native=not custom):
        if not pointer.has(observed, place):
            continue
        if _has_other_owner(observed, place):
            body = pointer.drop(body, place)
        elif pointer.has(desired, place) or _is_ours(observed, place):
            body = pointer.put(body, place, pointer.get(observed, place))
            takes_version = True
    merged = body if custom else _pull_secrets(body, observed)
    if custom:
        kept = wanted(merged, observed, interpreter)
        merged = _without_taken(kept, merged, observed)
    # A rule may have looked at anything, so its answer is good for this version only, also when it changed nothing.
    takes_version = takes_version or custom or merged is not body
    if takes_version and (version := observed["metadata"].get("resourceVersion")):
        merged = {**merged, "metadata": {**merged["metadata"], "resourceVersion": version}}
    return None if merged is desired else merged


def reads_live(desired: Body, interpreter: Interpreter) -> bool:
    """Whether what is to be sent depends on the object as it is: then it must be read before it is written."""
    if has_rule(desired, interpreter):
        return True
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
        case Interpretation(value=value):
            return value
        case Unknown(reason=reason, permanent=permanent, cause=cause):
            raise RetainError(reason, permanent=permanent, cause=cause)


def _our_labels(desired: Body) -> Mapping[str, Any]:
    labels = desired["metadata"].get("labels") or {}
    return {name: value for name, value in labels.items() if name.startswith(OURS)}


def _at(body: Any, place: Pointer) -> Any:
    for name in place:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body or None


def _without_taken(retained: Body, desired: Body, observed: Body) -> Body:
    """Of what the rule took over, the parts that another manager owns are left out again."""
    body = retained
    for place in _differences(retained, desired, ()):
        value = pointer.get(retained, place)
        if value is None or (value == _at(observed, place) and _is_taken(observed, place, value)):
            body = pointer.drop(body, place)
    return body


def _is_taken(observed: Body, place: Pointer, value: Any) -> bool:
    """Of a list others may own single items: leaving all of it out would take ours away."""
    return _has_other_owner(observed, place, whole=isinstance(value, list))


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


def _has_other_owner(observed: Body, place: Pointer, *, whole: bool = False) -> bool:
    """`whole`: as one value, not only something inside."""
    return any(
        _owns(entry.get("fieldsV1") or {}, place, whole=whole)
        for entry in observed["metadata"].get("managedFields") or ()
        if entry.get("manager") != MANAGER or entry.get("operation") != "Apply" or entry.get("subresource")
    )


def _is_ours(observed: Body, place: Pointer) -> bool:
    owned = diff.owned_fields(observed, MANAGER)
    return owned is not None and _owns(owned, place)


def _owns(fields: Mapping[str, Any], place: Pointer, *, whole: bool = False) -> bool:
    """Whether the record names the place (unless `whole` also: something inside it), or an ancestor as one value."""
    level = fields
    for name in place:
        if f"f:{name}" not in level:
            return False
        level = level[f"f:{name}"]
        if not level:
            return True
    return not whole
