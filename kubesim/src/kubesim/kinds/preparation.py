"""The usual preparation of a write: what a client may not set is put back.

Almost every kind with a status obeys the same three rules: a creation starts with an empty status, an update of the
main address keeps the stored status, an update of the status keeps everything else. `keeping` builds the hooks of a
`Kind` for them; kinds with rules of their own call the parts.
"""

from __future__ import annotations

from typing import Any, TypedDict

from kubesim.kind import Body, Context
from kubesim.kinds import fields


class Hooks(TypedDict, total=False):
    """Part of a `Kind`'s arguments."""

    prepare_create: Any
    prepare_update: Any
    prepare_status: Any
    reset_fields: Any
    has_generation: bool


def new_status(body: Body, empty: Body | None) -> Body:
    """The body with the status of a new object; `None`: without a status."""
    if empty is None:
        return fields.without(body, "status")
    return body if body.get("status") == empty else {**body, "status": empty}


def old_status(new: Body, old: Body) -> Body:
    return fields.carry(new, old, "status")


def only_status(new: Body, old: Body, *, labels_too: bool = False) -> Body:
    """The stored object with the new status. Metadata stays as sent (annotations may be written with a status) but,
    with `labels_too`, for the labels."""
    body = fields.carry(
        new, old, *(key for key in {**new, **old} if key not in ("status", "metadata", "kind", "apiVersion"))
    )
    return keep_labels(body, old) if labels_too else body


def keep_labels(new: Body, old: Body) -> Body:
    meta = fields.carry(fields.obj(new, "metadata"), fields.obj(old, "metadata"), "labels")
    return new if meta is new.get("metadata") else {**new, "metadata": meta}


def keeping(empty: Body | None, *, labels_too: bool = False, generation: bool = True) -> Hooks:
    """The hooks of a kind with spec and status; `empty` is the status of a new object."""

    def prepare_create(body: Body, ctx: Context) -> Body:
        return new_status(body, empty)

    def prepare_update(new: Body, old: Body, ctx: Context) -> Body:
        return old_status(new, old)

    def prepare_status(new: Body, old: Body) -> Body:
        return only_status(new, old, labels_too=labels_too)

    status_paths = (("spec",), ("metadata", "labels")) if labels_too else (("spec",),)
    return Hooks(
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=prepare_status,
        reset_fields={"": (("status",),), "status": status_paths},
        has_generation=generation,
    )


def stored_lists(body: Body, *keys: str) -> Body:
    """Lists that are always written are stored as null when empty: the server's storage knows no empty list."""
    empty = {key: None for key in keys if body.get(key) == []}
    return {**body, **empty} if empty else body


def held(body: Body, finalizer: str) -> Body:
    """The object with a finalizer that keeps it while it is in use."""
    meta = fields.obj(body, "metadata")
    held = fields.items(meta, "finalizers")
    return body if finalizer in held else {**body, "metadata": {**meta, "finalizers": [*held, finalizer]}}
