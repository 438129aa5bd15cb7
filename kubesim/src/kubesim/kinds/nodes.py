"""Nodes: machines, which here may be nobody's. Kubernetes: ValidateNode, the TaintNodesByCondition admission plugin."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import (
    fields,
    formats,
    ip_rules,
    metadata,
    pod_defaults,
    pod_scheduling,
    preparation,
    resource_rules,
    resources,
    table,
)
from kubesim.kinds.fields import Errors
from kubesim.status import FieldError

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_ROLE: Final = "node-role.kubernetes.io/"


def _default(body: Body) -> Body:
    spec = body.get("spec")
    if spec:
        # One range of addresses and a list of them are two views of one field.
        one, many = spec.get("podCIDR"), spec.get("podCIDRs")
        if one and (not many or many[0] != one):
            body = {**body, "spec": {**spec, "podCIDRs": [one]}}
        elif many and not one:
            body = {**body, "spec": {**spec, "podCIDR": many[0]}}
    return pod_defaults.within(body, "status", _default_status)


def _default_status(found: Body) -> Body:
    for key in ("capacity", "allocatable"):
        amounts = found.get(key)
        if amounts and (rounded := resources.rounded(amounts)) is not amounts:
            found = {**found, key: rounded}
    if found.get("capacity") and not found.get("allocatable"):
        return {**found, "allocatable": found["capacity"]}
    return found


def _admit(body: Body, old: Body | None, ctx: Context) -> Body:
    """A new node takes no pods until it is known to be ready."""
    if old is not None:
        return body
    spec = fields.obj(body, "spec")
    taints = fields.items(spec, "taints")
    key = _NOT_READY["key"]
    if any(one.get("key") == key and one.get("effect") == "NoSchedule" for one in taints):
        return body
    return {**body, "spec": {**spec, "taints": [*taints, _NOT_READY]}}


def _taints(body: Body) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for at, taint in enumerate(fields.items(body, "spec", "taints")):
        # Kubernetes tells these paths under metadata.
        path = f"metadata.taints[{at}]"
        key, value, effect = (fields.text(taint, name) for name in ("key", "value", "effect"))
        errors += fields.invalid(f"{path}.key", key, *formats.qualified_name(key))
        if complaints := formats.label_value(value):
            errors += fields.invalid(f"{path}.value", value, ";".join(complaints))
        errors += fields.one_of(f"{path}.effect", effect, *pod_scheduling.EFFECTS)
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            errors.append(FieldError("Duplicate value", path, "taints must be unique by key and effect pair", shown))
        seen.add((key, effect))
    return errors


def _amounts(body: Body) -> Errors:
    found = fields.obj(body, "status")
    return fields.joined(
        resource_rules.amount(name, value, f"status.{side}.{name}")
        for side in ("capacity", "allocatable")
        for name, value in sorted(fields.obj(found, side).items())
    )


def _unconfigured(body: Body) -> Body:
    """Nodes are no longer configured through the API: the field is read and dropped."""
    body = pod_defaults.within(body, "spec", lambda spec: fields.without(spec, "configSource"))
    return pod_defaults.within(body, "status", lambda status: fields.without(status, "config"))


def _validate(body: Body) -> Errors:
    return _taints(body) + _amounts(body) + _ranges(body)


def _ranges(body: Body) -> Errors:
    ranges = fields.items(body, "spec", "podCIDRs")
    errors = fields.joined(ip_rules.cidr(value, f"spec.podCIDRs[{at}]") for at, value in enumerate(ranges))
    families = [":" in value for value in ranges]
    if len(set(families)) < len(families):
        text = "may specify no more than one CIDR for each IP family"
        errors += fields.invalid("spec.podCIDRs", ranges, text)
    return errors


def _warnings(body: Body, old: Body | None) -> list[str]:
    if not fields.obj(body, "spec").get("externalID"):
        return []
    return ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]


def _validate_update(new: Body, old: Body) -> Errors:
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    ranges = fields.items(before, "podCIDRs")
    errors = metadata.once_more(new)
    if ranges and ranges != fields.items(after, "podCIDRs"):
        errors += fields.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        errors += fields.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    if (before.get("externalID") or "") != (after.get("externalID") or ""):
        errors += fields.forbidden("spec.externalID", "may not be updated")
    return errors


def _validate_status(new: Body, old: Body) -> Errors:
    errors = _amounts(new)
    seen: list[Body] = []
    for at, address in enumerate(fields.items(new, "status", "addresses")):
        if address in seen:
            shown = {"Type": address.get("type"), "Address": address.get("address")}
            errors += fields.duplicate(f"status.addresses[{at}]", shown)
        seen.append(address)
    return errors


def _address(body: Body, kind: str) -> str:
    found = fields.items(body, "status", "addresses")
    return next((fields.text(one, "address") for one in found if one.get("type") == kind), table.NONE)


def _row(body: Body, now: datetime) -> list[Any]:
    info = fields.obj(body, "status", "nodeInfo")
    conditions = {one.get("type"): one.get("status") for one in fields.items(body, "status", "conditions")}
    words = ["Unknown"]
    if "Ready" in conditions:
        words = ["Ready" if conditions["Ready"] == "True" else "NotReady"]
    if fields.obj(body, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = fields.obj(body, "metadata", "labels")
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)} - {""}
    roles |= {labels["kubernetes.io/role"]} if labels.get("kubernetes.io/role") else set()
    kernel = fields.text(info, "kernelVersion") or table.UNKNOWN
    if architecture := fields.text(info, "architecture"):
        kernel += f" ({architecture})"
    return [
        table.name(body),
        ",".join(words),
        ",".join(sorted(roles)) or table.NONE,
        table.created(body, now),
        fields.text(info, "kubeletVersion"),
        _address(body, "InternalIP"),
        _address(body, "ExternalIP"),
        fields.text(info, "osImage") or table.UNKNOWN,
        kernel,
        fields.text(info, "containerRuntimeVersion") or table.UNKNOWN,
    ]


NODE: Final = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    short_names=("no",),
    namespaced=False,
    subresources=(
        Subresource(
            name="proxy",
            verbs=("create", "delete", "get", "patch", "update"),
            kind="NodeProxyOptions",
        ),
        Subresource(name="status"),
    ),
    reset_fields={"": (("status",),), "status": (("spec",),)},
    default=_default,
    admit=_admit,
    prepare_create=lambda body, ctx: _unconfigured(body),
    prepare_update=lambda new, old, ctx: _unconfigured(preparation.old_status(new, old)),
    prepare_status=lambda new, old: _unconfigured(preparation.only_status(new, old)),
    validate=_validate,
    warnings=_warnings,
    validate_update=_validate_update,
    validate_status=_validate_status,
    field_labels={
        "spec.unschedulable": lambda body: "true" if fields.obj(body, "spec").get("unschedulable") else "false"
    },
    columns=table.columns(
        "Name",
        "Status",
        "Roles",
        "Age",
        "Version",
        "Internal-IP*",
        "External-IP*",
        "OS-Image*",
        "Kernel-Version*",
        "Container-Runtime*",
    ),
    row=_row,
)
