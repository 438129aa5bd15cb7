"""managedFields of a body about to be written: the steps around ``tracking`` that the API server takes.

    update   read managers of the request or the object · nobody ever owned anything? leave it · track · own name ·
             cap · write them down
    apply    right kind? no managedFields? fits its type? · nobody ever owned anything? everything is before-first-apply
             · track · (kubectl: its annotation) · write them down

Times move only when fields or values do: an apply that changes no value keeps the time it had, even none. What remains
is a write that changes nothing but times; ``settle`` undoes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kubesim import status
from kubesim.managed import checking, configuration, entries, fieldset, last_applied, tracking, typed
from kubesim.managed.entries import APPLY, UPDATE, Entry, Identity, Managed
from kubesim.managed.fieldset import FieldSet
from kubesim.managed.tracking import Convert, Face
from kubesim.schema import Schema

Body = dict[str, Any]

BEFORE_FIRST_APPLY: Final = "before-first-apply"

_SERVERS: Final = (
    "clusterName",
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
)
NEVER_OWNED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in _SERVERS}},
}
"""What no manager can own: identity, and what the server alone sets."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, as what, when: manager (``fieldManager`` of the request, or its User-Agent up to the first slash),
    the apiVersion and kind of the address, the subresource. ``now`` is the server's clock."""

    manager: str
    api_version: str
    now: datetime
    subresource: str = ""
    kind: str = ""
    """Checked against an applied configuration; empty accepts any."""

    @property
    def time(self) -> str:
        return self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def identity(self, operation: str, manager: str = "") -> Identity:
        return entries.identity(manager or self.manager, operation, self.api_version, self.subresource)


def no_other_version(body: Body, api_version: str) -> None:
    """The ``Convert`` of a kind with one version."""
    return


def update(
    old: Body | None,
    new: Body,
    writer: Writer,
    schema: Schema,
    *,
    reset: Sequence[Sequence[str]] = (),
    convert: Convert = no_other_version,
) -> Body:
    """``new`` with managedFields, for any write but an apply. ``old`` is ``None`` at creation.

    Both bodies are decoded and have their defaults, in the version of the request. ``new`` may bring managedFields: an
    empty list, or one empty entry, forgets all owners; others replace the stored ones if they are understood. ``reset``
    are fields that this address can never own. Never raises: owners that cannot be followed are dropped.
    """
    managed = _fitted(_owners(old, new, writer, schema), writer.api_version, schema)
    if old is not None and not managed:
        return entries.bare(new)
    face = Face(writer.api_version, schema, fieldset.from_paths(reset), convert)
    before = entries.bare(old) if old is not None else schema.empty()
    followed = dict(managed)
    try:
        _track(face, before, entries.bare(new), followed, writer)
    except tracking.NotConvertible:
        return entries.bare(new)
    except typed.Unkeyed:
        return entries.put(new, managed)
    return entries.put(new, followed)


def _owners(old: Body | None, new: Body, writer: Writer, schema: Schema) -> Managed:
    """Whose ownership a write starts from: what the request says if it is understood, else what is stored.

    An empty list forgets all owners of a built-in object, but says nothing for a custom one (Kubernetes: untyped
    objects do not tell it from none).
    """
    stored = entries.stored_list(old)
    sent = entries.stored_list(new)
    if writer.subresource or sent is None or sent is stored or (not sent and schema.custom):
        return entries.read(stored)
    if not sent or (len(sent) == 1 and not any(sent[0].values())):
        return {}
    if sent == stored:
        return entries.read(stored)
    try:
        return entries.decode(sent) or entries.read(stored)
    except ValueError:
        return entries.read(stored)


def _fitted(managed: Managed, api_version: str, schema: Schema) -> Managed:
    """The same owners, of a type that may have changed: definitions do, built-in kinds do not."""
    if not schema.custom:
        return managed
    return {
        who: Entry(typed.fitting(schema, entry.fields), entry.api_version, entry.time)
        if entry.api_version == api_version
        else entry
        for who, entry in managed.items()
    }


def _track(face: Face, old: Body, new: Body, managed: Managed, writer: Writer, manager: str = "") -> None:
    """Follows an update; its writer's entry gets what it took, and the time if that is anything."""
    taken = fieldset.without(tracking.update(face, old, new, managed), face.excluded)
    taken = fieldset.difference(taken, NEVER_OWNED)
    if taken:
        who = writer.identity(UPDATE, manager)
        had = managed[who].fields if who in managed else fieldset.EMPTY
        managed[who] = Entry(fieldset.union(had, taken), face.api_version, writer.time)
    tracking.cap(managed)


def apply(
    live: Body | None,
    applied: Body,
    writer: Writer,
    schema: Schema,
    *,
    force: bool = False,
    reset: Sequence[Sequence[str]] = (),
    convert: Convert = no_other_version,
) -> Body:
    """The live body with a configuration applied, managedFields included. ``live`` is ``None`` at creation.

    ``applied`` is the configuration as it was sent; the result is still to be decoded and filled with defaults. Raises
    ``ApiError``: 400 for the wrong kind or managedFields in the configuration, 500 if it does not fit its type, 409
    with a cause for each conflict.
    """
    configuration.refuse(applied, writer.api_version, writer.kind)
    named = configuration.fields(applied, schema)
    excluded = fieldset.from_paths(reset)
    face = Face(writer.api_version, schema, excluded, convert)
    managed = _fitted(entries.read(entries.stored_list(live)), writer.api_version, schema)
    body = entries.bare(live) if live is not None else _nothing(schema, applied)
    try:
        if live is not None and not managed:
            _track(face, schema.empty(), body, managed, writer, BEFORE_FIRST_APPLY)
        merged = _applied(face, body, applied, named, managed, writer, force=force)
    except tracking.Conflicts as conflicts:
        raise _conflict(conflicts) from None
    except tracking.NotConvertible as failure:
        raise status.untyped(str(failure)) from None
    except typed.Unkeyed:
        raise configuration.misfit("live", body, checking.complaints(schema, body, duplicates=True)) from None
    who = writer.identity(APPLY)
    if (entry := managed.get(who)) is not None:
        fields = fieldset.difference(entry.fields, NEVER_OWNED)
        if fields:
            managed[who] = Entry(fields, entry.api_version, entry.time if merged is None else writer.time)
        else:
            del managed[who]
    result = body if merged is None else merged
    if writer.manager == last_applied.MANAGER:
        result = last_applied.kept_up(result, applied)
    return entries.put(result, managed)


def _nothing(schema: Schema, applied: Body) -> Body:
    return {"apiVersion": applied["apiVersion"], "kind": applied["kind"], **schema.empty()}


def _applied(
    face: Face, live: Body, config: Body, named: FieldSet, managed: Managed, writer: Writer, *, force: bool
) -> Body | None:
    """``tracking.apply``, with kubectl's right to what its annotation names."""
    who = writer.identity(APPLY)
    if force or writer.manager != last_applied.MANAGER:
        return tracking.apply(face, live, config, named, managed, who, force=force)
    attempt = dict(managed)
    try:
        merged = tracking.apply(face, live, config, named, attempt, who, force=False)
    except tracking.Conflicts as conflicts:
        allowed = last_applied.owned(face.node, live, face.api_version)
        if allowed is None:
            raise
        left = {other: fieldset.difference(fields, allowed) for other, fields in conflicts.fields.items()}
        left = {other: fields for other, fields in left.items() if fields}
        if left:
            raise tracking.Conflicts(left) from None
        return tracking.apply(face, live, config, named, managed, who, force=True)
    managed.clear()
    managed.update(attempt)
    return merged


def _conflict(conflicts: tracking.Conflicts) -> status.ApiError:
    """409 in Kubernetes' words: one cause for each field, the text grouped by manager."""
    causes: list[Body] = []
    groups: list[str] = []
    for who in sorted(conflicts.fields, key=entries.order):
        name = entries.described(who)
        fields = [fieldset.written(path) for path in fieldset.paths(conflicts.fields[who])]
        causes += [
            {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": field} for field in fields
        ]
        groups.append(f"conflicts with {name}:\n" + "\n".join(f"- {field}" for field in fields))
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        text = f"Apply failed with {len(causes)} conflicts: " + "\n".join(groups)
    return status.ApiError(409, "Conflict", text, {"causes": causes})


_TIMELESS: Final = ("manager", "operation", "apiVersion", "fieldsType", "fieldsV1", "subresource")


def settle(old: Body, new: Body) -> Body:
    """``new`` with ``old``'s managedFields if nothing but their times differs: such a write is none.

    To be asked of every write to an existing object when all that the kind changes by itself is done (Kubernetes: after
    the strategy's preparation, validation and allocation). Versions may differ.
    """
    before, after = entries.stored_list(old), entries.stored_list(new)
    if before is None or after is None or before is after or len(before) != len(after):
        return new
    for left, right in zip(before, after, strict=True):
        if any(left.get(key) != right.get(key) for key in _TIMELESS):
            return new
    if not typed.same(_comparable(old), _comparable(new)):
        return new
    return {**new, "metadata": {**new["metadata"], "managedFields": before}}


def _comparable(body: Body) -> Body:
    """A body without managedFields and resourceVersion."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in ("managedFields", "resourceVersion")}
    return {**body, "metadata": metadata}
