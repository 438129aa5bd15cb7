"""Complaints about containers: names, images, ports, mounts, probes, resources.

Regular, init and ephemeral containers share most rules; what each kind of container may or must not have beside is told
by the three functions at the end. Kubernetes: validateContainerCommon, validateContainers, validateInitContainers,
validateEphemeralContainers.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, pod_environment, pod_probes, pod_security, resource_rules
from kubesim.kinds.fields import Body, Errors
from kubesim.kinds.pod_probes import Surroundings
from kubesim.kinds.pod_volumes import descending, no_backsteps

_EPHEMERAL_FIELDS: Final = frozenset(
    {
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "envFrom",
        "env",
        "volumeMounts",
        "volumeDevices",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "securityContext",
        "stdin",
        "stdinOnce",
        "tty",
        "targetContainerName",
    }
)
_RESTARTS: Final = ("Always", "Never", "OnFailure")


def _common(container: Body, path: str, pod: Surroundings) -> Errors:
    name = fields.text(container, "name")
    errors = fields.invalid(f"{path}.name", name, *formats.dns_label(name)) if name else fields.required(f"{path}.name")
    errors += [] if container.get("image") else fields.required(f"{path}.image")
    errors += fields.one_of(
        f"{path}.terminationMessagePolicy",
        fields.text(container, "terminationMessagePolicy"),
        "File",
        "FallbackToLogsOnError",
    )
    errors += _ports(fields.items(container, "ports"), f"{path}.ports")
    errors += pod_environment.variables(fields.items(container, "env"), f"{path}.env")
    errors += pod_environment.sources(fields.items(container, "envFrom"), f"{path}.envFrom")
    errors += _mounts(container, f"{path}.volumeMounts", pod)
    errors += _devices(container, f"{path}.volumeDevices", pod)
    errors += fields.one_of(
        f"{path}.imagePullPolicy", fields.text(container, "imagePullPolicy"), "Always", "IfNotPresent", "Never"
    )
    errors += resource_rules.requirements(fields.obj(container, "resources"), f"{path}.resources", claims=pod.claims)
    errors += _resize(fields.items(container, "resizePolicy"), f"{path}.resizePolicy", pod)
    return errors + pod_security.container(
        container.get("securityContext"), f"{path}.securityContext", host_users=pod.host_users
    )


def _ports(ports: list[Body], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for at, port in enumerate(ports):
        here = f"{path}[{at}]"
        if name := fields.text(port, "name"):
            if complaints := formats.port_name(name):
                errors += fields.invalid(f"{here}.name", name, *complaints)
            elif name in names:
                errors += fields.duplicate(f"{here}.name", name)
            names.add(name)
        number = port.get("containerPort") or 0
        if number:
            errors += fields.invalid(f"{here}.containerPort", number, *formats.port_number(number))
        else:
            errors += fields.required(f"{here}.containerPort")
        if host := port.get("hostPort"):
            errors += fields.invalid(f"{here}.hostPort", host, *formats.port_number(host))
        errors += fields.one_of(f"{here}.protocol", fields.text(port, "protocol"), "SCTP", "TCP", "UDP")
    return errors


def _mounts(container: Body, path: str, pod: Surroundings) -> Errors:
    devices = {
        fields.text(device, "name"): device.get("devicePath") for device in fields.items(container, "volumeDevices")
    }
    errors: Errors = []
    points: set[str] = set()
    for at, mount in enumerate(fields.items(container, "volumeMounts")):
        here = f"{path}[{at}]"
        name, where = fields.text(mount, "name"), fields.text(mount, "mountPath")
        errors += [] if name else fields.required(f"{here}.name")
        errors += [] if name in pod.volumes else fields.not_found(f"{here}.name", name)
        errors += [] if where else fields.required(f"{here}.mountPath")
        errors += fields.invalid(f"{here}.mountPath", where, "must be unique") if where in points else []
        points.add(where)
        if name in devices:
            errors += fields.invalid(f"{here}.name", name, "must not already exist in volumeDevices")
        if where in devices.values():
            errors += fields.invalid(f"{here}.mountPath", where, "must not already exist as a path in volumeDevices")
        sub, expression = fields.text(mount, "subPath"), fields.text(mount, "subPathExpr")
        if sub:
            errors += descending(sub, f"{path}.subPath")
        if expression:
            if sub:
                errors += fields.invalid(
                    f"{here}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"
                )
            errors += descending(expression, f"{path}.subPathExpr")
        errors += _propagation(mount, container, path)
    return errors


def _propagation(mount: Body, container: Body, path: str) -> Errors:
    errors: Errors = []
    spread = mount.get("mountPropagation")
    if spread is not None:
        if spread not in ("Bidirectional", "HostToContainer", "None"):
            errors += fields.unsupported(f"{path}.mountPropagation", spread, "Bidirectional", "HostToContainer", "None")
        if spread == "Bidirectional" and not fields.obj(container, "securityContext").get("privileged"):
            errors += fields.forbidden(
                f"{path}.mountPropagation",
                "Bidirectional mount propagation is available only to privileged containers",
            )
    recursive = mount.get("recursiveReadOnly")
    here = f"{path}.recursiveReadOnly"
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            errors += fields.forbidden(here, "may only be specified when readOnly is true")
        if spread not in (None, "None"):
            errors += fields.forbidden(here, "may only be specified when mountPropagation is None or not specified")
    elif recursive not in (None, "Disabled"):
        errors += fields.unsupported(here, recursive, "Disabled", "Enabled", "IfPossible")
    return errors


def _devices(container: Body, path: str, pod: Surroundings) -> Errors:
    mounts = {fields.text(mount, "name"): mount.get("mountPath") for mount in fields.items(container, "volumeMounts")}
    errors: Errors = []
    names: set[str] = set()
    paths: set[str] = set()
    for at, device in enumerate(fields.items(container, "volumeDevices")):
        here = f"{path}[{at}]"
        name, where = fields.text(device, "name"), fields.text(device, "devicePath")
        volume = pod.volumes.get(name)
        errors += [] if name else fields.required(f"{here}.name")
        errors += fields.invalid(f"{here}.name", name, "must be unique") if name in names else []
        if volume is None:
            errors += fields.not_found(f"{here}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            errors += fields.invalid(
                f"{here}.name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            )
        errors += [] if where else fields.required(f"{here}.devicePath")
        errors += fields.invalid(f"{here}.devicePath", where, "must be unique") if where in paths else []
        if where and no_backsteps(where, ""):
            errors += fields.invalid(f"{here}.devicePath", where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            errors += fields.invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if where in mounts.values():
            errors += fields.invalid(f"{here}.devicePath", where, "must not already exist as a path in volumeMounts")
        names.add(name)
    return errors


def _resize(policies: list[Body], path: str, pod: Surroundings) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, policy in enumerate(policies):
        name, restart = fields.text(policy, "resourceName"), fields.text(policy, "restartPolicy")
        errors += fields.duplicate(f"{path}[{at}]", name) if name in seen else []
        seen.add(name)
        errors += fields.one_of(path, name, "cpu", "memory")
        errors += fields.one_of(path, restart, "NotRequired", "RestartContainer")
        if pod.restart_policy == "Never" and restart != "NotRequired":
            errors += fields.invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
    return errors


def _restarts(container: Body, path: str) -> Errors:
    policy, rules = container.get("restartPolicy"), fields.items(container, "restartPolicyRules")
    errors: Errors = []
    if policy is None:
        if not rules:
            return []
        errors += fields.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        errors += fields.unsupported(f"{path}.restartPolicy", policy, *_RESTARTS)
    errors += fields.too_many(f"{path}.restartPolicyRules", len(rules), 20) if len(rules) > 20 else []
    for at, rule in enumerate(rules):
        here = f"{path}.restartPolicyRules[{at}]"
        action = fields.text(rule, "action")
        if action not in ("Restart", "RestartAllContainers"):
            errors += fields.unsupported(f"{here}.action", action, "Restart", "RestartAllContainers")
        codes = rule.get("exitCodes")
        if codes is None:
            errors += fields.required(f"{here}.exitCodes", "must be specified")
            continue
        operator, values = fields.text(codes, "operator"), fields.items(codes, "values")
        if operator not in ("In", "NotIn"):
            errors += fields.unsupported(f"{here}.exitCodes.operator", operator, "In", "NotIn")
        errors += fields.too_many(f"{here}.exitCodes.values", len(values), 255) if len(values) > 255 else []
    return errors


def _host_ports(containers: list[Body], path: str) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for at, container in enumerate(containers):
        for index, port in enumerate(fields.items(container, "ports")):
            if not port.get("hostPort"):
                continue
            shown = f"{fields.text(port, 'protocol')}/{fields.text(port, 'hostIP')}/{port['hostPort']}"
            if shown in taken:
                errors += fields.duplicate(f"{path}[{at}].ports[{index}].hostPort", shown)
            taken.add(shown)
    return errors


def regular(containers: list[Body], path: str, pod: Surroundings) -> Errors:
    """Complaints about `containers`; there must be one."""
    if not containers:
        return fields.required(path)
    errors: Errors = []
    names: set[str] = set()
    for at, container in enumerate(containers):
        here = f"{path}[{at}]"
        errors += _common(container, here, pod)
        name = fields.text(container, "name")
        errors += fields.duplicate(f"{here}.name", name) if name in names else []
        names.add(name)
        errors += (
            pod_probes.lifecycle(container, here, pod)
            + pod_probes.probes(container, here, pod)
            + _restarts(container, here)
        )
    return errors + _host_ports(containers, path)


def initial(containers: list[Body], others: list[Body], path: str, pod: Surroundings) -> Errors:
    """Complaints about `initContainers`; `others` are the regular ones, whose names are taken."""
    errors: Errors = []
    names = {fields.text(container, "name") for container in others}
    for at, container in enumerate(containers):
        here = f"{path}[{at}]"
        errors += _common(container, here, pod) + _restarts(container, here)
        name = fields.text(container, "name")
        errors += fields.duplicate(f"{here}.name", name) if name in names else []
        names |= {name} if name else set()
        errors += _host_ports([container], path)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            errors += pod_probes.lifecycle(container, here, pod) + pod_probes.probes(container, here, pod)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                errors += fields.forbidden(
                    f"{here}.{key}", "may not be set for init containers without restartPolicy=Always"
                )
        for index, policy in enumerate(fields.items(container, "resizePolicy")):
            if policy.get("restartPolicy") == "RestartContainer":
                errors += fields.invalid(
                    f"{here}.resizePolicy[{index}].restartPolicy",
                    "RestartContainer",
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )
    return errors


def ephemeral(containers: list[Body], others: list[Body], path: str, pod: Surroundings) -> Errors:
    """Complaints about `ephemeralContainers`; `others` are all of the pod's other containers."""
    errors: Errors = []
    existing = {fields.text(container, "name") for container in others}
    names = set(existing)
    for at, container in enumerate(containers):
        here = f"{path}[{at}]"
        errors += _common(container, here, pod) + image_spaces([container], path, at)
        name = fields.text(container, "name")
        errors += fields.duplicate(f"{here}.name", name) if name in names else []
        names.add(name)
        target = fields.text(container, "targetContainerName")
        errors += fields.not_found(f"{here}.targetContainerName", target) if target and target not in existing else []
        for key, value in container.items():
            if value and key not in _EPHEMERAL_FIELDS:
                errors += fields.forbidden(f"{here}.{key}", "cannot be set for an Ephemeral Container")
        for index, mount in enumerate(fields.items(container, "volumeMounts")):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    errors += fields.forbidden(
                        f"{here}.volumeMounts[{index}].{key}", "cannot be set for an Ephemeral Container"
                    )
    return errors


def image_spaces(containers: list[Body], path: str, first: int = 0) -> Errors:
    """Images of Pods (not of templates, for compatibility) must not begin or end with spaces."""
    return fields.joined(
        fields.invalid(
            f"{path}[{first + at}].image", container["image"], "must not have leading or trailing whitespace"
        )
        for at, container in enumerate(containers)
        if container.get("image") and container["image"] != container["image"].strip()
    )
