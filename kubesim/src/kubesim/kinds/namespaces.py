"""Namespaces: the name label, the finalizer that holds them until they are empty, three addresses for three parts.

Kubernetes: namespaceStrategy, SetDefaults_Namespace.
"""

from __future__ import annotations

from typing import Final

from kubesim.kind import READ_WRITE, Body, Context, Kind, Subresource
from kubesim.kinds import fields, formats, metadata, pod_defaults, preparation, table
from kubesim.kinds.fields import Errors

_LABEL: Final = "kubernetes.io/metadata.name"


def _default(body: Body) -> Body:
    name = table.name(body)
    labels = fields.obj(body, "metadata", "labels")
    if name and labels.get(_LABEL) != name:
        body = fields.with_path(body, ("metadata", "labels"), {**labels, _LABEL: name})
    return pod_defaults.within(body, "status", lambda found: pod_defaults.fill(found, phase="Active"))


def _create(body: Body, ctx: Context) -> Body:
    # A generated name is known only now.
    body = _default(body)
    held = fields.items(body, "spec", "finalizers")
    finalizers = held if "kubernetes" in held else [*held, "kubernetes"]
    return {**body, "spec": {**fields.obj(body, "spec"), "finalizers": finalizers}, "status": {"phase": "Active"}}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    return fields.carry(new, old, "spec", "status")


def _finalize(new: Body, old: Body, ctx: Context) -> Body:
    return fields.carry(new, old, "status")


def _validate(body: Body) -> Errors:
    return fields.joined(_finalizer(name, "spec.finalizers") for name in fields.items(body, "spec", "finalizers"))


def _validate_finalize(new: Body, old: Body) -> Errors:
    held = enumerate(fields.items(new, "spec", "finalizers"))
    return fields.joined(_finalizer(name, f"spec.finalizers[{at}]") for at, name in held)


def _finalizer(name: str, path: str) -> Errors:
    found = fields.invalid(path, name, *formats.qualified_name(name))
    if not found and "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
        text = "name is neither a standard finalizer name nor is it fully qualified"
        found = fields.invalid(path, name, text)
    return found


def _validate_status(new: Body, old: Body) -> Errors:
    phase = fields.text(fields.obj(new, "status"), "phase")
    deleted = fields.obj(new, "metadata").get("deletionTimestamp")
    if deleted and phase != "Terminating":
        text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        return fields.invalid("status.Phase", phase, text)
    if not deleted and phase != "Active":
        return fields.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    return []


NAMESPACE: Final = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    short_names=("ns",),
    namespaced=False,
    verbs=tuple(verb for verb in READ_WRITE if verb != "deletecollection"),
    subresources=(
        Subresource(name="finalize", verbs=("update",), prepare=_finalize, validate=_validate_finalize),
        Subresource(name="status"),
    ),
    name_rule="dns-label",
    reset_fields={"": (("status",),), "status": (("spec",),), "finalize": (("status",),)},
    default=_default,
    prepare_create=_create,
    prepare_update=_update,
    prepare_status=preparation.only_status,
    validate=_validate,
    validate_update=lambda new, old: metadata.once_more(new),
    validate_status=_validate_status,
    delete_returns_object=True,
    field_labels={
        "name": table.name,
        "status.phase": lambda body: fields.text(fields.obj(body, "status"), "phase"),
    },
    columns=table.columns("Name", "Status", "Age"),
    row=lambda body, now: [
        table.name(body),
        fields.text(fields.obj(body, "status"), "phase"),
        table.created(body, now),
    ],
)
