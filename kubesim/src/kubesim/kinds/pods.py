"""Pods: defaults, first status, what admission adds, how they are shown.

The rules of a pod's spec are in `pod_spec`, those of changes in `pod_updates`, binding and eviction in `pod_actions`.
Kubernetes: podStrategy, the Priority and DefaultTolerationSeconds admission plugins.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import status
from kubesim.kind import GET_UPDATE, Body, Context, Kind, Subresource
from kubesim.kinds import (
    fields,
    formats,
    pod_containers,
    pod_defaults,
    pod_row,
    pod_spec,
    pod_updates,
    pod_warnings,
    qos,
    table,
)
from kubesim.kinds.fields import Errors

_EVICTING: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def _default(body: Body) -> Body:
    body = pod_defaults.pod(body)
    found = body.get("status")
    if not found:
        return body
    # One address and a list of addresses are two views of one field; the first of the list is the one, and if they
    # do not agree the single one counts. Those of the host are left as they are.
    address, addresses = found.get("podIP"), found.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        found = {**found, "podIPs": [{"ip": address}]}
    elif addresses and not address:
        found = {**found, "podIP": addresses[0].get("ip", "")}
    return body if found is body["status"] else {**body, "status": found}


def _admit(body: Body, old: Body | None, ctx: Context) -> Body:
    spec = fields.obj(body, "spec")
    if old is None:
        spec = _with_priority(body, spec, ctx)
    else:
        missing = [key for key in ("priority", "preemptionPolicy") if spec.get(key) is None]
        spec = fields.carry(spec, fields.obj(old, "spec"), *missing) if missing else spec
    spec = _with_tolerations(spec)
    return body if spec is body.get("spec") else {**body, "spec": spec}


def _with_priority(body: Body, spec: Body, ctx: Context) -> Body:
    found = _priority_class(body, spec, ctx)
    computed = found.get("value") or 0
    given = spec.get("priority")
    name = table.name(body)
    if given is not None and given != computed:
        raise status.forbidden(
            "",
            "pods",
            name,
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller"
            f" computed {computed} from the given PriorityClass name",
        )
    policy = found.get("preemptionPolicy") or "PreemptLowerPriority"
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        raise status.forbidden(
            "",
            "pods",
            name,
            f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; priority admission"
            f" controller computed {policy} from the given PriorityClass name",
        )
    class_name = table.name(found) if found else ""
    named = {"priorityClassName": class_name} if class_name else {}
    return {**spec, **named, "priority": computed, "preemptionPolicy": policy}


def _priority_class(body: Body, spec: Body, ctx: Context) -> Body:
    resource = "priorityclasses.scheduling.k8s.io"
    name = fields.text(spec, "priorityClassName")
    if not name:
        default = [one for one in ctx.lookup.list(resource) if one.get("globalDefault")]
        return min(default, key=lambda one: one.get("value") or 0, default={})
    found = ctx.lookup.get(resource, "", name)
    if found is None and name in _SYSTEM_CLASSES:
        return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}
    if found is None:
        text = f"no PriorityClass with name {name} was found"
        raise status.forbidden("", "pods", table.name(body), text)
    return found


def _with_tolerations(spec: Body) -> Body:
    """Every Pod puts up for five minutes with a node that is not ready or cannot be reached."""
    given = fields.items(spec, "tolerations")
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _EVICTING
        if not any(one.get("key") in (None, "", key) and one.get("effect") in (None, "", "NoExecute") for one in given)
    ]
    return {**spec, "tolerations": [*given, *added]} if added else spec


def _create(body: Body, ctx: Context) -> Body:
    spec = fields.obj(body, "spec")
    first: Body = {"phase": "Pending", "qosClass": qos.of(spec)}
    if spec.get("schedulingGates"):
        first["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return {**body, "status": first}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    return fields.carry(new, old, "status")


def _status(new: Body, old: Body) -> Body:
    # Labels and annotations are taken over from the writer of a status, as the server does.
    meta = fields.carry(fields.obj(new, "metadata"), fields.obj(old, "metadata"), "ownerReferences")
    found = fields.obj(new, "status")
    if not found.get("qosClass") and (kind := fields.obj(old, "status").get("qosClass")):
        found = {**found, "qosClass": kind}
    return {**fields.carry(new, old, "spec"), "metadata": meta, "status": found}


def _kept_metadata(new: Body, old: Body) -> Body:
    """Metadata of the stored object, but for what identifies the request."""
    keys = ("labels", "annotations", "finalizers", "ownerReferences")
    return fields.carry(fields.obj(new, "metadata"), fields.obj(old, "metadata"), *keys)


def _ephemeral(new: Body, old: Body, ctx: Context) -> Body:
    spec = fields.carry(fields.obj(old, "spec"), fields.obj(new, "spec"), "ephemeralContainers")
    return {**new, "metadata": _kept_metadata(new, old), "spec": spec, "status": fields.obj(old, "status")}


def _resize(new: Body, old: Body, ctx: Context) -> Body:
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    spec = fields.carry(before, after, "resources")
    for key in ("containers", "initContainers"):
        given, stored = fields.items(after, key), fields.items(before, key)
        if [one.get("name") for one in given] != [one.get("name") for one in stored]:
            return new
        if stored:
            pairs = zip(stored, given, strict=True)
            spec = {**spec, key: [fields.carry(was, one, "resources", "resizePolicy") for was, one in pairs]}
    return {**new, "metadata": _kept_metadata(new, old), "spec": spec, "status": fields.obj(old, "status")}


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = _special_annotations(fields.obj(body, "metadata", "annotations"), spec, "metadata.annotations")
    errors += pod_spec.validate(spec, "spec", pod_name=table.name(body), is_pod=True)
    if not spec.get("serviceAccountName"):
        for at, volume in enumerate(fields.items(spec, "volumes")):
            for index, source in enumerate(fields.items(volume, "projected", "sources")):
                if source.get("serviceAccountToken") is not None:
                    errors += fields.forbidden(
                        f"spec.volumes[{at}].projected.sources[{index}].serviceAccountToken",
                        "must not be specified when serviceAccountName is not set",
                    )
    for key in ("containers", "initContainers"):
        errors += pod_containers.image_spaces(fields.items(spec, key), f"spec.{key}")
    return errors


def _special_annotations(notes: Body, spec: Body, path: str) -> Errors:
    """Complaints about annotations that mean something to Pods."""
    errors: Errors = []
    mirror = notes.get("kubernetes.io/config.mirror")
    if mirror is not None and not spec.get("nodeName"):
        errors += fields.invalid(
            f"{path}[kubernetes.io/config.mirror]", mirror, "must set spec.nodeName if mirror pod annotation is set"
        )
    cost = notes.get("controller.kubernetes.io/pod-deletion-cost")
    if cost is not None and not _is_int32(cost):
        errors += fields.invalid(f"{path}[controller.kubernetes.io/pod-deletion-cost]", cost, "must be a 32bit integer")
    return errors


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isdecimal() and (digits == "0" or digits[0] != "0") and -(2**31) <= int(text) < 2**31


def _validate_ephemeral(new: Body, old: Body) -> Errors:
    return _validate(new) + pod_updates.ephemeral(new, old)


def _validate_resize(new: Body, old: Body) -> Errors:
    return _validate(new) + pod_updates.resize(new, old)


def _validate_create(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors: Errors = []
    if spec.get("ephemeralContainers"):
        errors += fields.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors += fields.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    return errors


def _grace(body: Body, requested: int | None) -> int:
    spec = fields.obj(body, "spec")
    seconds = spec.get("terminationGracePeriodSeconds") or 0 if requested is None else requested
    if not spec.get("nodeName") or fields.obj(body, "status").get("phase") in ("Failed", "Succeeded"):
        return 0
    return 1 if seconds < 0 else int(seconds)


def _warnings(body: Body, old: Body | None) -> list[str]:
    if old is not None:
        return []  # Updates of Pods are work of machines.
    found = pod_warnings.pod(fields.obj(body, "spec"), "spec")
    complaints = formats.dns_label(table.name(body)) if old is None else []
    if complaints:
        shown = "[" + " ".join(complaints) + "]"
        text = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        return [f"metadata.name: {text}: {shown}", *found]
    return found


def _field(*path: str) -> Any:
    def read(body: Body) -> str:
        found = fields.obj(body, *path[:-1]).get(path[-1])
        if isinstance(found, bool) or found is None:
            return "true" if found else "false" if path[-1] == "hostNetwork" else ""
        return str(found)

    return read


def _addresses(body: Body) -> str:
    return ",".join(fields.text(one, "ip") for one in fields.items(body, "status", "podIPs"))


POD: Final = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource(name="attach", verbs=("create", "get"), kind="PodAttachOptions"),
        Subresource(name="binding", verbs=("create",), kind="Binding"),
        Subresource(name="ephemeralcontainers", verbs=GET_UPDATE, prepare=_ephemeral, validate=_validate_ephemeral),
        Subresource(name="eviction", verbs=("create",), kind="Eviction", group="policy", version="v1"),
        Subresource(name="exec", verbs=("create", "get"), kind="PodExecOptions"),
        Subresource(name="log", verbs=("get",)),
        Subresource(name="portforward", verbs=("create", "get"), kind="PodPortForwardOptions"),
        Subresource(name="proxy", verbs=("create", "delete", "get", "patch", "update"), kind="PodProxyOptions"),
        Subresource(name="resize", verbs=GET_UPDATE, prepare=_resize, validate=_validate_resize),
        Subresource(name="status"),
    ),
    has_generation=True,
    reset_fields={
        "": (("status",),),
        "status": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
        "ephemeralcontainers": (("status",),),
        "resize": (("status",),),
    },
    default=_default,
    admit=_admit,
    prepare_create=_create,
    prepare_update=_update,
    prepare_status=_status,
    validate=_validate,
    validate_create=_validate_create,
    validate_update=pod_updates.update,
    validate_status=pod_updates.status,
    warnings=_warnings,
    grace=_grace,
    delete_returns_object=True,
    field_labels={
        "spec.nodeName": _field("spec", "nodeName"),
        "spec.restartPolicy": _field("spec", "restartPolicy"),
        "spec.schedulerName": _field("spec", "schedulerName"),
        "spec.serviceAccountName": _field("spec", "serviceAccountName"),
        "spec.hostNetwork": _field("spec", "hostNetwork"),
        "status.phase": _field("status", "phase"),
        "status.podIP": _field("status", "podIP"),
        "status.podIPs": _addresses,
        "status.nominatedNodeName": _field("status", "nominatedNodeName"),
    },
    columns=table.columns(
        "Name", "Ready", "Status", "Restarts", "Age", "IP*", "Node*", "Nominated Node*", "Readiness Gates*"
    ),
    row=pod_row.row,
)
