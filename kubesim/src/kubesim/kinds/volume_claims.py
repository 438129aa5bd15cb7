"""Claims on volumes as objects of their own: defaults, the class they get, what an update may change.

Kubernetes: ValidatePersistentVolumeClaimUpdate, the DefaultStorageClass, PersistentVolumeClaimResize and
StorageObjectInUseProtection admission plugins. What the spec of any claim must obey is in `claims`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim import status
from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import claims, fields, pod_defaults, preparation, resources, table
from kubesim.kinds.fields import Errors
from kubesim.kinds.go_diff import diff

_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def _default(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", pod_defaults.claim_spec)
    return pod_defaults.within(body, "status", _default_status)


def _default_status(found: Body) -> Body:
    found = pod_defaults.fill(found, phase="Pending")
    for key in ("capacity", "allocatedResources"):
        amounts = found.get(key)
        if amounts and (rounded := resources.rounded(amounts)) is not amounts:
            found = {**found, key: rounded}
    return found


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
    group = fields.text(fields.obj(body, "spec"), "storageClassName")
    found = ctx.lookup.get("storageclasses.storage.k8s.io", "", group) if group else None
    if found is None or not found.get("allowVolumeExpansion"):
        text = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support"
            " resize"
        )
        raise status.forbidden("", "persistentvolumeclaims", name, text)
    return body


def _admit(body: Body, old: Body | None, ctx: Context) -> Body:
    if old is not None:
        return body
    body = preparation.held(body, "kubernetes.io/pvc-protection")
    spec = fields.obj(body, "spec")
    if spec.get("storageClassName") is not None:
        return body
    classes = [one for one in ctx.lookup.list("storageclasses.storage.k8s.io") if _is_default(one)]
    if not classes:
        return body
    # Of several defaults the youngest counts, among equals the first by name.
    classes.sort(key=table.name)
    newest = max(classes, key=lambda one: fields.text(fields.obj(one, "metadata"), "creationTimestamp"))
    return {**body, "spec": {**spec, "storageClassName": table.name(newest)}}


def _is_default(storage_class: Body) -> bool:
    notes = fields.obj(storage_class, "metadata", "annotations")
    return notes.get("storageclass.kubernetes.io/is-default-class") == "true"


def _same_sources(spec: Body) -> Body:
    """Two names of one field: the older knows only claims and snapshots."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        return {**spec, "dataSourceRef": dict(source)}
    if reference is not None and source is None and not reference.get("namespace"):
        return {**spec, "dataSource": fields.without(reference, "namespace")}
    return spec


def _create(body: Body, ctx: Context) -> Body:
    body = preparation.new_status(body, {"phase": "Pending"})
    spec = fields.obj(body, "spec")
    source = fields.obj(spec, "dataSource")
    snapshot = (source.get("apiGroup"), source.get("kind")) == ("snapshot.storage.k8s.io", "VolumeSnapshot")
    claim = not source.get("apiGroup") and source.get("kind") == "PersistentVolumeClaim"
    if source and spec.get("dataSourceRef") is None and not (claim or snapshot):
        spec = fields.without(spec, "dataSource")
    spec = _same_sources(spec)
    return body if spec is body.get("spec") else {**body, "spec": spec}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    new = preparation.old_status(new, old)
    spec = _same_sources(fields.obj(new, "spec"))
    return new if spec is new.get("spec") else {**new, "spec": spec}


def _validate(body: Body) -> Errors:
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


def _validate_update(new: Body, old: Body) -> Errors:
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


def _warnings(body: Body, old: Body | None) -> list[str]:
    found: list[str] = []
    for side in ("requests", "limits"):
        amount = fields.obj(body, "spec", "resources", side).get("storage")
        if amount is not None and resources.value(amount).denominator != 1:
            text = f'fractional byte value "{amount}" is invalid, must be an integer'
            found.append(f"spec.resources.{side}[storage]: {text}")
    return found


def _row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    deleted = fields.obj(body, "metadata").get("deletionTimestamp")
    volume = fields.text(spec, "volumeName")
    return [
        table.name(body),
        "Terminating" if deleted else fields.text(found, "phase"),
        volume,
        fields.obj(found, "capacity").get("storage", "0") if volume else "",
        table.access_modes(fields.items(found, "accessModes")) if volume else "",
        fields.text(spec, "storageClassName"),
        spec.get("volumeAttributesClassName") or "<unset>",
        table.created(body, now),
        spec.get("volumeMode") or "<unset>",
    ]


_RESIZING: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def _validate_status(new: Body, old: Body) -> Errors:
    found = fields.obj(new, "status")
    errors = _amounts(found, "capacity")
    path = "status.allocatedResourceStatuses"
    for name, state in sorted(fields.obj(found, "allocatedResourceStatuses").items()):
        if _is_foreign(name):
            errors += fields.unsupported(path, name, "storage")
        elif state not in _RESIZING:
            errors += fields.unsupported(path, name, *_RESIZING)
    for name in sorted(fields.obj(found, "allocatedResources")):
        errors += fields.unsupported("status.allocatedResources", name, "storage") if _is_foreign(name) else []
    return errors + _amounts(found, "allocatedResources")


def _is_foreign(name: str) -> bool:
    """Names without a domain, and those of Kubernetes' own, are no resources of a claim but for one."""
    domain, slash, _ = name.partition("/")
    return name != "storage" and (not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))


def _amounts(found: Body, key: str) -> Errors:
    return fields.joined(
        fields.invalid(f"status.{key}[{name}]", int(resources.value(amount)), "must be a valid resource quantity")
        for name, amount in sorted(fields.obj(found, key).items())
        if resources.value(amount) < 0
    )


CLAIM: Final = Kind(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    short_names=("pvc",),
    subresources=(Subresource(name="status"),),
    reset_fields={"": (("status",),), "status": (("spec",),)},
    default=_default,
    admit=_admit,
    prepare_create=_create,
    prepare_update=_update,
    prepare_status=preparation.only_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    allocate=_may_grow,
    warnings=_warnings,
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
    row=_row,
)
