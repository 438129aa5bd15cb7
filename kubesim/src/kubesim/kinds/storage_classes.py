"""Storage classes: their rules, which one is the default, and how claims and volumes named theirs before there was a
field for it.

Kubernetes: ValidateStorageClass, ValidateStorageClassUpdate. Which class a claim gets is `volume_claims`' business.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind
from kubesim.kinds import fields, formats, pod_defaults, table
from kubesim.kinds.fields import Errors

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
OLD_NAME: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named the class of a claim or a volume before `storageClassName` did."""


def old_name_warnings(body: Body) -> list[str]:
    """For a claim or a volume that names its class by annotation."""
    if OLD_NAME not in fields.obj(body, "metadata", "annotations"):
        return []
    return [f'metadata.annotations[{OLD_NAME}]: deprecated since v1.8; use "storageClassName" attribute instead']


def is_default(body: Body) -> bool:
    notes = fields.obj(body, "metadata", "annotations")
    return any(notes.get(key) == "true" for key in _DEFAULT_CLASS)


def _validate(body: Body) -> Errors:
    provisioner = fields.text(body, "provisioner")
    errors = [] if provisioner else fields.required("provisioner")
    if provisioner:
        errors += fields.invalid("provisioner", provisioner.lower(), *formats.qualified_name(provisioner.lower()))
    if "" in (body.get("parameters") or {}):
        errors += fields.invalid("parameters", "", "field can not be empty.")
    policy = body.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        errors += fields.unsupported("reclaimPolicy", policy, "Delete", "Retain")
    mode = body.get("volumeBindingMode")
    if mode is None:
        errors += fields.required("volumeBindingMode")
    elif mode not in ("Immediate", "WaitForFirstConsumer"):
        errors += fields.unsupported("volumeBindingMode", mode, "Immediate", "WaitForFirstConsumer")
    return errors + _topologies(fields.items(body, "allowedTopologies"))


def _topologies(terms: list[Body]) -> Errors:
    errors: Errors = []
    before: list[dict[str, set[str]]] = []
    for at, term in enumerate(terms):
        path, found = f"allowedTopologies[{at}].matchLabelExpressions", dict[str, set[str]]()
        for number, one in enumerate(fields.items(term, "matchLabelExpressions")):
            here, key, values = f"{path}[{number}]", fields.text(one, "key"), fields.items(one, "values")
            errors += [] if values else fields.required(f"{here}.values")
            for place, value in enumerate(values):
                errors += fields.duplicate(f"{here}.values[{place}]", value) if value in values[:place] else []
            errors += fields.invalid(f"{here}.key", key, *formats.qualified_name(key))
            errors += fields.duplicate(f"{here}.key", key) if key in found else []
            found[key] = set(values)
        errors += fields.duplicate(path, "") if found in before else []
        before.append(found)
    return errors


def _validate_update(new: Body, old: Body) -> Errors:
    errors = fields.unchanged("parameters", new.get("parameters") or None, old.get("parameters") or None)
    for key in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        errors += fields.unchanged(key, new.get(key), old.get(key))
    return errors


def _row(body: Body, now: datetime) -> list[Any]:
    return [
        table.name(body) + (" (default)" if is_default(body) else ""),
        fields.text(body, "provisioner"),
        body.get("reclaimPolicy") or "Delete",
        body.get("volumeBindingMode") or "Immediate",
        bool(body.get("allowVolumeExpansion")),
        table.created(body, now),
    ]


STORAGE_CLASS: Final = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    plural="storageclasses",
    short_names=("sc",),
    namespaced=False,
    default=lambda body: pod_defaults.fill(body, reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    validate=_validate,
    validate_update=_validate_update,
    delete_returns_object=True,
    columns=table.columns("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
    row=_row,
)
