"""Persistent volumes: defaults, rules, and that nothing of their source changes later.

Kubernetes: ValidatePersistentVolume, ValidatePersistentVolumeUpdate, the StorageObjectInUseProtection admission
plugin. Claims on them are in `volume_claims`, volumes of pods in `pod_volumes`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import (
    fields,
    formats,
    pod_defaults,
    pod_volumes,
    pod_warnings,
    preparation,
    resource_rules,
    resources,
    storage_classes,
    table,
)
from kubesim.kinds.fields import Errors
from kubesim.kinds.go_diff import diff

_OLD_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_OLD_OPTIONS_WARNING: Final = (
    f'metadata.annotations[{_OLD_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead'
)
_OLD_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_SOURCES: Final = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "hostPath",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "flocker",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "portworxVolume",
    "photonPersistentDisk",
    "local",
    "cinder",
    "scaleIO",
    "storageos",
    "csi",
)


def _default(body: Body) -> Body:
    def spec_default(spec: Body) -> Body:
        capacity = spec.get("capacity")
        if capacity and (rounded := resources.rounded(capacity)) is not capacity:
            spec = {**spec, "capacity": rounded}
        spec = pod_defaults.fill(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
        return pod_defaults.within(
            spec, "hostPath", lambda source: source if "type" in source else {**source, "type": ""}
        )

    body = pod_defaults.within(body, "spec", spec_default)
    return pod_defaults.within(body, "status", lambda found: pod_defaults.fill(found, phase="Pending"))


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    modes = fields.items(spec, "accessModes")
    errors = [] if modes else fields.required("spec.accessModes")
    choices = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
    for mode in modes:
        errors += [] if mode in choices else fields.unsupported("spec.accessModes", mode, *choices)
    capacity = fields.obj(spec, "capacity")
    errors += [] if capacity else fields.required("spec.capacity")
    if set(capacity) != {"storage"}:
        errors += fields.unsupported("spec.capacity", dict(sorted(capacity.items())) or None, "storage")
    for name, value in sorted(capacity.items()):
        errors += resource_rules.amount(name, value, f"spec.capacity[{name}]")
        if resources.value(value) <= 0:
            errors += fields.invalid(f"spec.capacity[{name}]", value, "must be greater than zero")
    policy = fields.text(spec, "persistentVolumeReclaimPolicy")
    if policy and policy not in ("Delete", "Recycle", "Retain"):
        errors += fields.unsupported("spec.persistentVolumeReclaimPolicy", policy, "Delete", "Recycle", "Retain")
    given = [key for key in _SOURCES if spec.get(key) is not None]
    for key in given[1:]:
        errors += fields.forbidden(f"spec.{key}", "may not specify more than 1 volume type")
    errors += [] if given else fields.required("spec", "must specify a volume type")
    if "hostPath" in given:
        where = fields.text(spec["hostPath"], "path")
        errors += (
            pod_volumes.no_backsteps(where, "spec.hostPath.path") if where else fields.required("spec.hostPath.path")
        )
    if name := fields.text(spec, "storageClassName"):
        errors += fields.invalid("spec.storageClassName", name, *formats.dns_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        errors += fields.unsupported("spec.volumeMode", mode, "Block", "Filesystem")
    return errors


def _validate_update(new: Body, old: Body) -> Errors:
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    sources = [{key: spec[key] for key in _SOURCES if key in spec} for spec in (after, before)]
    errors: Errors = []
    if sources[0] != sources[1]:
        text = f"spec.persistentvolumesource is immutable after creation\n{diff(sources[1], sources[0])}"
        errors += fields.forbidden("spec.persistentvolumesource", text)
    return errors + fields.unchanged("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _create(body: Body, ctx: Context) -> Body:
    body = preparation.held(body, "kubernetes.io/pv-protection")
    now = ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return preparation.new_status(body, {"phase": "Pending", "lastPhaseTransitionTime": now})


def _warnings(body: Body, old: Body | None) -> list[str]:
    spec = fields.obj(body, "spec")
    found = storage_classes.old_name_warnings(body)
    if _OLD_OPTIONS in fields.obj(body, "metadata", "annotations"):
        found.append(_OLD_OPTIONS_WARNING)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended"
            " approach is to use dynamic provisioning."
        )
    outdated = (pod_warnings.OLD_VOLUMES[key] for key in _OLD_SOURCES if spec.get(key) is not None)
    return found + [f"spec.{name}: {text}" for name, text in outdated]


def _row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    deleted = fields.obj(body, "metadata").get("deletionTimestamp")
    claim = spec.get("claimRef")
    return [
        table.name(body),
        fields.obj(spec, "capacity").get("storage", "0"),
        table.access_modes(fields.items(spec, "accessModes")),
        fields.text(spec, "persistentVolumeReclaimPolicy"),
        "Terminating" if deleted else fields.text(found, "phase"),
        f"{claim.get('namespace') or ''}/{claim.get('name') or ''}" if claim else "",
        fields.text(spec, "storageClassName"),
        spec.get("volumeAttributesClassName") or "<unset>",
        fields.text(found, "reason"),
        table.created(body, now),
        spec.get("volumeMode") or "<unset>",
    ]


VOLUME: Final = Kind(
    group="",
    version="v1",
    kind="PersistentVolume",
    plural="persistentvolumes",
    short_names=("pv",),
    namespaced=False,
    subresources=(Subresource(name="status"),),
    reset_fields={"": (("status",),), "status": (("spec",),)},
    default=_default,
    prepare_create=_create,
    prepare_update=lambda new, old, ctx: preparation.old_status(new, old),
    prepare_status=preparation.only_status,
    validate=_validate,
    warnings=_warnings,
    validate_update=_validate_update,
    delete_returns_object=True,
    columns=table.columns(
        "Name",
        "Capacity",
        "Access Modes",
        "Reclaim Policy",
        "Status",
        "Claim",
        "StorageClass",
        "VolumeAttributesClass",
        "Reason",
        "Age",
        "VolumeMode*",
    ),
    row=_row,
)
