"""Volumes and claims, and the classes that describe them.

Kubernetes: ValidatePersistentVolumeClaimUpdate, the DefaultStorageClass and StorageObjectInUseProtection admission
plugins.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from gitfed.sim import status
from gitfed.sim.kind import Body, Context, Kind, Subresource
from gitfed.sim.kinds import (
    claims,
    fields,
    formats,
    pod_defaults,
    pod_volumes,
    preparation,
    resource_rules,
    resources,
    table,
)
from gitfed.sim.kinds.fields import Errors
from gitfed.sim.kinds.go_diff import diff

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_NOTES: Final = {
    _OLD_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_OLD_SOURCES: Final = {
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def is_default(body: Body) -> bool:
    notes = fields.obj(body, "metadata", "annotations")
    return any(notes.get(key) == "true" for key in _DEFAULT_CLASS)


def _held(body: Body, finalizer: str) -> Body:
    """The object with a finalizer that keeps it while it is in use."""
    meta = fields.obj(body, "metadata")
    held = fields.items(meta, "finalizers")
    return body if finalizer in held else {**body, "metadata": {**meta, "finalizers": [*held, finalizer]}}


def _default_claim(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", pod_defaults.claim_spec)
    return pod_defaults.within(body, "status", _default_claim_status)


def _default_claim_status(found: Body) -> Body:
    found = pod_defaults.fill(found, phase="Pending")
    for key in ("capacity", "allocatedResources"):
        amounts = found.get(key)
        if amounts and (rounded := resources.rounded(amounts)) is not amounts:
            found = {**found, key: rounded}
    return found


def _class_of(claim: Body) -> str:
    old_name = fields.obj(claim, "metadata", "annotations").get(_OLD_CLASS)
    return str(old_name or fields.text(fields.obj(claim, "spec"), "storageClassName"))


def _may_grow(body: Body, old: Body | None, ctx: Context) -> Body:
    """Refuses to enlarge what nothing could enlarge. Kubernetes: the PersistentVolumeClaimResize plugin."""
    old = old or body
    size, was = (fields.obj(one, "spec", "resources", "requests").get("storage", "0") for one in (body, old))
    if resources.value(size) <= resources.value(was):
        return body
    name = table.name(body)
    if fields.obj(old, "status").get("phase") != "Bound":
        text = "Only bound persistent volume claims can be expanded"
        raise status.forbidden("", "persistentvolumeclaims", name, text)
    group = _class_of(body)
    found = ctx.lookup.get("storageclasses.storage.k8s.io", "", group) if group == _class_of(old) else None
    if not group or found is None or not found.get("allowVolumeExpansion"):
        text = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support"
            " resize"
        )
        raise status.forbidden("", "persistentvolumeclaims", name, text)
    return body


def _admit_claim(body: Body, old: Body | None, ctx: Context) -> Body:
    if old is not None:
        return body
    body = _held(body, "kubernetes.io/pvc-protection")
    spec = fields.obj(body, "spec")
    if spec.get("storageClassName") is not None or _OLD_CLASS in fields.obj(body, "metadata", "annotations"):
        return body
    classes = [one for one in ctx.lookup.list("storageclasses.storage.k8s.io") if is_default(one)]
    if not classes:
        return body
    # Of several defaults the youngest counts, among equals the first by name.
    classes.sort(key=table.name)
    newest = max(classes, key=lambda one: fields.text(fields.obj(one, "metadata"), "creationTimestamp"))
    return {**body, "spec": {**spec, "storageClassName": table.name(newest)}}


def _same_sources(spec: Body) -> Body:
    """Two names of one field: the older knows only claims and snapshots."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        return {**spec, "dataSourceRef": dict(source)}
    if reference is not None and source is None and not reference.get("namespace"):
        return {**spec, "dataSource": fields.without(reference, "namespace")}
    return spec


def _create_claim(body: Body, ctx: Context) -> Body:
    body = preparation.new_status(body, {"phase": "Pending"})
    spec = fields.obj(body, "spec")
    source = fields.obj(spec, "dataSource")
    snapshot = (source.get("apiGroup"), source.get("kind")) == ("snapshot.storage.k8s.io", "VolumeSnapshot")
    claim = not source.get("apiGroup") and source.get("kind") == "PersistentVolumeClaim"
    if source and spec.get("dataSourceRef") is None and not (claim or snapshot):
        spec = fields.without(spec, "dataSource")
    spec = _same_sources(spec)
    return body if spec is body.get("spec") else {**body, "spec": spec}


def _update_claim(new: Body, old: Body, ctx: Context) -> Body:
    new = preparation.old_status(new, old)
    spec = _same_sources(fields.obj(new, "spec"))
    return new if spec is new.get("spec") else {**new, "spec": spec}


def _validate_claim(body: Body) -> Errors:
    return claims.validate_spec(fields.obj(body, "spec"), "spec")


def _shown(spec: Body) -> Body:
    """The spec as it is inside the server, whose JSON the refusal compares."""
    found = fields.obj(spec, "resources")
    return {
        "AccessModes": fields.items(spec, "accessModes") or None,
        "Selector": spec.get("selector"),
        "Resources": {
            "Limits": fields.sorted_map(found.get("limits")),
            "Requests": fields.sorted_map(found.get("requests")),
        },
        "VolumeName": fields.text(spec, "volumeName"),
        "StorageClassName": spec.get("storageClassName"),
        "VolumeMode": spec.get("volumeMode"),
        "DataSource": _shown_source(spec.get("dataSource")),
        "DataSourceRef": _shown_source(spec.get("dataSourceRef"), namespaced=True),
        "VolumeAttributesClassName": spec.get("volumeAttributesClassName"),
    }


def _shown_source(source: Body | None, *, namespaced: bool = False) -> Body | None:
    if source is None:
        return None
    shown = {"APIGroup": source.get("apiGroup"), "Kind": source.get("kind"), "Name": source.get("name")}
    return {**shown, "Namespace": source.get("namespace")} if namespaced else shown


def _validate_claim_update(new: Body, old: Body) -> Errors:
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    bound = fields.obj(new, "status").get("phase") == "Bound"
    allowed = after
    if bound:
        requests = fields.carry(
            fields.obj(after, "resources", "requests"), fields.obj(before, "resources", "requests"), "storage"
        )
        allowed = {**allowed, "resources": {**fields.obj(after, "resources"), "requests": requests}}
        allowed = fields.carry(allowed, before, "volumeAttributesClassName")
    compared = before
    if not before.get("volumeName") and "volumeName" in after:
        compared = {**before, "volumeName": after["volumeName"]}
    if before.get("storageClassName") is None and after.get("storageClassName") is not None:
        allowed = fields.carry(allowed, before, "storageClassName")
    errors: Errors = []
    if _shown(allowed) != _shown(compared):
        errors += fields.forbidden("spec", f"{_FIXED}\n{diff(_shown(compared), _shown(allowed))}")
    size, was = (fields.obj(spec, "resources", "requests").get("storage", "0") for spec in (after, before))
    given = fields.obj(new, "status", "capacity").get("storage", "0")
    if resources.value(size) < resources.value(was) and resources.value(size) <= resources.value(given):
        errors += fields.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    return errors + fields.unchanged("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _note_warnings(body: Body, *keys: str) -> list[str]:
    notes = fields.obj(body, "metadata", "annotations")
    return [f"metadata.annotations[{key}]: {_OLD_NOTES[key]}" for key in keys if key in notes]


def _claim_warnings(body: Body, old: Body | None) -> list[str]:
    found = _note_warnings(body, _OLD_CLASS)
    for side in ("requests", "limits"):
        amount = fields.obj(body, "spec", "resources", side).get("storage")
        if amount is not None and resources.value(amount).denominator != 1:
            text = f'fractional byte value "{amount}" is invalid, must be an integer'
            found.append(f"spec.resources.{side}[storage]: {text}")
    return found


def _volume_warnings(body: Body, old: Body | None) -> list[str]:
    spec = fields.obj(body, "spec")
    found = _note_warnings(body, *_OLD_NOTES)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended"
            " approach is to use dynamic provisioning."
        )
    return found + [f"spec.{text}" for key, text in _OLD_SOURCES.items() if spec.get(key) is not None]


def _claim_row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    deleted = fields.obj(body, "metadata").get("deletionTimestamp")
    volume = fields.text(spec, "volumeName")
    old_class = fields.obj(body, "metadata", "annotations").get(_OLD_CLASS)
    return [
        table.name(body),
        "Terminating" if deleted else fields.text(found, "phase"),
        volume,
        fields.obj(found, "capacity").get("storage", "0") if volume else "",
        table.access_modes(fields.items(found, "accessModes")) if volume else "",
        old_class or fields.text(spec, "storageClassName"),
        spec.get("volumeAttributesClassName") or "<unset>",
        table.created(body, now),
        spec.get("volumeMode") or "<unset>",
    ]


CLAIM: Final = Kind(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    short_names=("pvc",),
    subresources=(Subresource(name="status"),),
    reset_fields={"": (("status",),), "status": (("spec",),)},
    default=_default_claim,
    admit=_admit_claim,
    prepare_create=_create_claim,
    prepare_update=_update_claim,
    prepare_status=preparation.only_status,
    validate=_validate_claim,
    validate_update=_validate_claim_update,
    allocate=_may_grow,
    warnings=_claim_warnings,
    delete_returns_object=True,
    columns=table.columns(
        "Name",
        "Status",
        "Volume",
        "Capacity",
        "Access Modes",
        "StorageClass",
        "VolumeAttributesClass",
        "Age",
        "VolumeMode*",
    ),
    row=_claim_row,
)


def _default_volume(body: Body) -> Body:
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


_VOLUME_SOURCES: Final = (
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


def _validate_volume(body: Body) -> Errors:
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
    given = [key for key in _VOLUME_SOURCES if spec.get(key) is not None]
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


def _validate_volume_update(new: Body, old: Body) -> Errors:
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    sources = [{key: spec[key] for key in _VOLUME_SOURCES if key in spec} for spec in (after, before)]
    errors: Errors = []
    if sources[0] != sources[1]:
        text = f"spec.persistentvolumesource is immutable after creation\n{diff(sources[1], sources[0])}"
        errors += fields.forbidden("spec.persistentvolumesource", text)
    return errors + fields.unchanged("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _create_volume(body: Body, ctx: Context) -> Body:
    body = _held(body, "kubernetes.io/pv-protection")
    now = ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return preparation.new_status(body, {"phase": "Pending", "lastPhaseTransitionTime": now})


def _volume_row(body: Body, now: datetime) -> list[Any]:
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
    default=_default_volume,
    prepare_create=_create_volume,
    prepare_update=lambda new, old, ctx: preparation.old_status(new, old),
    prepare_status=preparation.only_status,
    validate=_validate_volume,
    warnings=_volume_warnings,
    validate_update=_validate_volume_update,
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
    row=_volume_row,
)


def _validate_class(body: Body) -> Errors:
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


def _validate_class_update(new: Body, old: Body) -> Errors:
    errors = fields.unchanged("parameters", new.get("parameters") or None, old.get("parameters") or None)
    for key in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        errors += fields.unchanged(key, new.get(key), old.get(key))
    return errors


def _class_row(body: Body, now: datetime) -> list[Any]:
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
    validate=_validate_class,
    validate_update=_validate_class_update,
    delete_returns_object=True,
    columns=table.columns("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
    row=_class_row,
)
