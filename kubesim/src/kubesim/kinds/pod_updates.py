"""What may change in a Pod once it exists: by an update, of its status, by the ephemeralcontainers and resize
addresses.

Kubernetes: ValidatePodUpdate, ValidatePodStatusUpdate, ValidatePodEphemeralContainersUpdate, ValidatePodResize.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from kubesim.kinds import fields, formats, ip_rules, pod_scheduling, qos
from kubesim.kinds.fields import Body, Errors
from kubesim.kinds.go_diff import diff

_MIRROR: Final = "kubernetes.io/config.mirror"
_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_MAX_INT32: Final = 2147483647


def update(new: Body, old: Body) -> Errors:
    """Complaints about a change of the Pod itself."""
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    errors: Errors = []
    for key in ("containers", "initContainers"):
        found, stop = _containers(fields.items(after, key), fields.items(before, key), f"spec.{key}")
        errors += found
        if stop:
            return errors
    errors += _deadline(after, before)
    errors += _tolerations(after, before) + _gates(after, before)
    if after == before:
        return errors
    changed = _without_allowed_changes(after, before)
    if changed != before:
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{diff(before, changed)}"
        errors += fields.forbidden("spec", text)
    return errors


def _containers(new: list[Body], old: list[Body], path: str) -> tuple[Errors, bool]:
    if len(new) != len(old):
        return fields.forbidden(path, "pod updates may not add or remove containers"), True
    errors: Errors = []
    for at, container in enumerate(new):
        image = fields.text(container, "image")
        errors += [] if image else fields.required(f"{path}[{at}].image")
        if image != image.strip():
            errors += fields.invalid(f"{path}[{at}].image", image, "must not have leading or trailing whitespace")
    return errors, False


def _deadline(after: Body, before: Body) -> Errors:
    new, old = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return []
        return fields.invalid(path, None, "must not update from a positive integer to nil value")
    if not 0 <= new <= _MAX_INT32:
        return fields.invalid(path, new, f"must be between 0 and {_MAX_INT32}, inclusive")
    if old is not None and old < new:
        return fields.invalid(path, new, "must be less than or equal to previous value")
    return []


def _tolerations(after: Body, before: Body) -> Errors:
    new = fields.items(after, "tolerations")
    kept = [fields.without(one, "tolerationSeconds") for one in new]
    if any(fields.without(one, "tolerationSeconds") not in kept for one in fields.items(before, "tolerations")):
        return fields.forbidden(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    return pod_scheduling.tolerations(new, "spec.tolerations")


def _gates(after: Body, before: Body) -> Errors:
    known = {fields.text(gate, "name") for gate in fields.items(before, "schedulingGates")}
    return fields.joined(
        fields.forbidden(
            f"spec.schedulingGates[{at}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for at, gate in enumerate(fields.items(after, "schedulingGates"))
        if gate.get("name") not in known
    )


def _without_allowed_changes(after: Body, before: Body) -> Body:
    changed = fields.carry(after, before, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    for key in ("containers", "initContainers"):
        pairs = zip(fields.items(after, key), fields.items(before, key), strict=True)
        images = [fields.carry(new, old, "image", "imagePullPolicy") for new, old in pairs]
        changed = {**changed, key: images} if images else changed
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and after.get("terminationGracePeriodSeconds") == 1:
        changed = {**changed, "terminationGracePeriodSeconds": grace}
    if before.get("schedulingGates"):
        # A Pod that waits may still be told where it may run.
        changed = fields.carry(changed, before, "nodeSelector", "affinity")
    return changed


def status(new: Body, old: Body) -> Errors:
    """Complaints about a change of status."""
    found = fields.obj(new, "status")
    errors: Errors = []
    for at, condition in enumerate(fields.items(found, "conditions")):
        kind = fields.text(condition, "type")
        if kind not in ("PodScheduled", "Ready", "Initialized"):
            errors += fields.invalid(f"status.conditions[{at}].Type", kind, *formats.qualified_name(kind))
    node = fields.text(found, "nominatedNodeName")
    before = fields.obj(old, "status")
    if node and node != fields.text(before, "nominatedNodeName"):
        errors += fields.invalid("status.nominatedNodeName", node, *formats.dns_subdomain(node))
        if fields.obj(old, "spec").get("nodeName"):
            errors += fields.forbidden(
                "status.nominatedNodeName", "may not be set on pods that are already bound to a node"
            )
    if (found.get("observedGeneration") or 0) < 0:
        text = "must be a non-negative integer"
        errors += fields.invalid("status.observedGeneration", found["observedGeneration"], text)
    errors += fields.unchanged("status.qosClass", found.get("qosClass"), before.get("qosClass"))
    for key in ("containerStatuses", "initContainerStatuses"):
        errors += _restarts(new, found, before, key)
    return errors + _addresses(found)


def _restarts(pod: Body, new: Body, old: Body, key: str) -> Errors:
    """What has ended for good does not run again."""
    policy = fields.obj(pod, "spec").get("restartPolicy")
    if policy == "Always":
        return []
    now = {fields.text(one, "name"): one for one in fields.items(new, key)}
    errors: Errors = []
    for at, one in enumerate(fields.items(old, key)):
        ended = fields.obj(one, "state").get("terminated")
        later = now.get(fields.text(one, "name"))
        if ended is None or later is None or fields.obj(later, "state").get("terminated") is not None:
            continue
        if not ended.get("exitCode") or policy == "Never":
            errors += fields.forbidden(f"status.{key}[{at}].state", "may not be transitioned to non-terminated state")
    return errors


def _addresses(found: Body) -> Errors:
    addresses = [fields.text(one, "ip") for one in fields.items(found, "podIPs")]
    errors = fields.joined(ip_rules.address(address, f"status.podIPs[{at}]") for at, address in enumerate(addresses))
    if not errors and len(addresses) > len({ip_address(address).version for address in addresses}):
        shown = [{"IP": address} for address in addresses]
        errors += fields.invalid("status.podIPs", shown, "may specify no more than one IP for each IP family")
    return errors + _host_addresses(found)


def _host_addresses(found: Body) -> Errors:
    addresses = [fields.text(one, "ip") for one in fields.items(found, "hostIPs")]
    errors: Errors = []
    if addresses and addresses[0] != fields.text(found, "hostIP"):
        errors += fields.invalid("status.hostIPs[0].ip", addresses[0], "must be equal to `hostIP`")
    wrong = fields.joined(ip_rules.address(address, f"status.hostIPs[{at}]") for at, address in enumerate(addresses))
    if not wrong and len(addresses) > len({ip_address(address).version for address in addresses}):
        shown = [{"IP": address} for address in addresses]
        wrong = fields.invalid("status.hostIPs", shown, "may specify no more than one IP for each IP family")
    return errors + wrong


def ephemeral(new: Body, old: Body) -> Errors:
    """Complaints about a change of the ephemeral containers: they are only ever added."""
    if _MIRROR in fields.obj(old, "metadata", "annotations"):
        return fields.forbidden("", "static pods do not support ephemeral containers")
    now = {fields.text(one, "name"): one for one in fields.items(new, "spec", "ephemeralContainers")}
    errors: Errors = []
    for one in fields.items(old, "spec", "ephemeralContainers"):
        name = fields.text(one, "name")
        if name not in now:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            errors += fields.forbidden("spec.ephemeralContainers", text)
        elif now[name] != one:
            text = f'existing ephemeral containers "{name}" may not be changed\n{diff(one, now[name])}'
            errors += fields.forbidden("spec.ephemeralContainers", text)
    return errors


def resize(new: Body, old: Body) -> Errors:
    """Complaints about a change of resources: of processor and memory alone, and not of the class of quality."""
    if _MIRROR in fields.obj(old, "metadata", "annotations"):
        return fields.forbidden("", "static pods cannot be resized")
    if fields.obj(old, "spec", "os").get("name") == "windows":
        return fields.forbidden("", "windows pods cannot be resized")
    after, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    errors: Errors = []
    kind = fields.text(fields.obj(old, "status"), "qosClass")
    if qos.of(after) != (kind or qos.of(before)):
        errors += fields.invalid("spec", kind, "Pod QOS Class may not change as a result of resizing")
    for key in ("containers", "initContainers"):
        found = _same_containers(fields.items(after, key), fields.items(before, key), key)
        if found:
            return errors + found
        for at, (one, was) in enumerate(zip(fields.items(after, key), fields.items(before, key), strict=True)):
            for side, word in (("requests", "resource requests"), ("limits", "resource limits")):
                if set(fields.obj(was, "resources", side)) - set(fields.obj(one, "resources", side)):
                    errors += fields.forbidden(f"spec.{key}[{at}].resources.{side}", f"{word} cannot be removed")
            if _beyond(one) != _beyond(was):
                errors += fields.forbidden("spec", "only cpu and memory resources are mutable")
    return errors


def _same_containers(new: list[Body], old: list[Body], key: str) -> Errors:
    if len(new) != len(old):
        return fields.forbidden(f"spec.{key}", f"{key} may not be added or removed on resize")
    return fields.joined(
        fields.forbidden(f"spec.{key}[{at}].name", f"{key} may not be renamed or reordered on resize")
        for at, (one, was) in enumerate(zip(new, old, strict=True))
        if one.get("name") != was.get("name")
    )


def _beyond(container: Body) -> Body:
    """The container without what a resize may change."""
    found = fields.obj(container, "resources")
    kept = {side: fields.without(fields.obj(found, side), "cpu", "memory") for side in ("limits", "requests")}
    return {**container, "resources": {**found, **kept}}
