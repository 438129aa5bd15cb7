"""Complaints about the spec of a pod or pod template, in the order in which the server tells them.

The parts are in modules of their own (volumes, containers, security, scheduling); here is what concerns the pod as a
whole. Kubernetes: ValidatePodSpec, ValidatePodTemplateSpec.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import (
    fields,
    formats,
    ip_rules,
    metadata,
    pod_containers,
    pod_scheduling,
    pod_security,
    pod_volumes,
    resource_rules,
    resources,
)
from kubesim.kinds.fields import Body, Errors
from kubesim.kinds.pod_probes import Surroundings

_MAX_INT32: Final = 2147483647


def validate_template(template: Body, path: str) -> Errors:
    """Complaints about a pod template: `{metadata, spec}`."""
    # Kubernetes names these two without the metadata they are in.
    errors = metadata.template(fields.obj(template, "metadata"), path)
    spec = fields.obj(template, "spec")
    errors += validate(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        errors += fields.forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )
    return errors


def validate(spec: Body, path: str, *, pod_name: str = "", is_pod: bool = False) -> Errors:
    """Complaints about a pod's spec. ``is_pod``: a Pod itself, which some rules treat more strictly than a template."""
    errors = (
        []
        if spec.get("terminationGracePeriodSeconds") is not None
        else fields.required(f"{path}.terminationGracePeriodSeconds")
    )
    volumes, found = pod_volumes.validate(fields.items(spec, "volumes"), f"{path}.volumes", pod_name)
    errors += found
    around = Surroundings(
        volumes=volumes,
        restart_policy=fields.text(spec, "restartPolicy"),
        grace_seconds=spec.get("terminationGracePeriodSeconds"),
        os=fields.text(fields.obj(spec, "os"), "name"),
        host_users=spec.get("hostUsers") is not False,
        claims=frozenset(fields.text(claim, "name") for claim in fields.items(spec, "resourceClaims")),
    )
    regular, initial = fields.items(spec, "containers"), fields.items(spec, "initContainers")
    errors += pod_containers.regular(regular, f"{path}.containers", around)
    errors += pod_containers.initial(initial, regular, f"{path}.initContainers", around)
    errors += pod_containers.ephemeral(
        fields.items(spec, "ephemeralContainers"), [*regular, *initial], f"{path}.ephemeralContainers", around
    )
    errors += _pod_resources(spec, path)
    errors += _host_network(spec, path, is_pod=is_pod)
    errors += fields.one_of(f"{path}.restartPolicy", fields.text(spec, "restartPolicy"), "Always", "OnFailure", "Never")
    errors += fields.one_of(
        f"{path}.dnsPolicy",
        fields.text(spec, "dnsPolicy"),
        "ClusterFirstWithHostNet",
        "ClusterFirst",
        "Default",
        "None",
    )
    errors += metadata.labels(fields.obj(spec, "nodeSelector"), f"{path}.nodeSelector")
    errors += pod_security.pod(spec.get("securityContext"), spec, f"{path}.securityContext")
    errors += pod_scheduling.affinity(spec.get("affinity"), f"{path}.affinity")
    errors += _dns(spec, f"{path}.dnsConfig")
    errors += _gates(spec, path)
    errors += pod_scheduling.spread(
        fields.items(spec, "topologySpreadConstraints"), f"{path}.topologySpreadConstraints"
    )
    errors += _host_users(spec, path) + _names(spec, path)
    errors += pod_scheduling.tolerations(fields.items(spec, "tolerations"), f"{path}.tolerations")
    return errors + _hosts_and_classes(spec, path)


def _pod_resources(spec: Body, path: str) -> Errors:
    found = spec.get("resources")
    if found is None:
        return []
    here = f"{path}.resources"
    if found.get("claims") is not None:
        return fields.forbidden(f"{here}.claims", "claims may not be set for Resources at pod-level")
    errors = resource_rules.requirements(found, here)
    requests, limits = fields.obj(found, "requests"), fields.obj(found, "limits")
    for name, amount in sorted(resources.of_pod(spec, "requests").items()):
        if name in requests and resources.value(amount) > resources.value(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {amount}"
            errors += fields.invalid(f"{here}.requests[{name}]", requests[name], text)
    for at, container in enumerate(fields.items(spec, "containers")):
        for name, amount in sorted(fields.obj(container, "resources", "limits").items()):
            if name in limits and resources.value(amount) > resources.value(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                errors += fields.invalid(f"{here}.containers[{at}][{name}].limits", amount, text)
    return errors


def _host_network(spec: Body, path: str, *, is_pod: bool) -> Errors:
    if not spec.get("hostNetwork"):
        return []
    errors: Errors = []
    for at, container in enumerate(fields.items(spec, "containers")):
        for index, port in enumerate(fields.items(container, "ports")):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                errors += fields.invalid(
                    f"{path}.containers[{at}].ports[{index}].hostPort",
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                )
    return errors


def _dns(spec: Body, path: str) -> Errors:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return fields.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        if not config.get("nameservers"):
            return fields.required(
                f"{path}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None"
            )
    servers, searches = fields.items(config, "nameservers"), fields.items(config, "searches")
    errors: Errors = []
    if len(servers) > 3:
        errors += fields.invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for at, server in enumerate(servers):
        errors += ip_rules.address(server, f"{path}.nameservers[{at}]")
    if len(searches) > 32:
        errors += fields.invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        errors += fields.invalid(
            f"{path}.searches",
            searches,
            "must not have more than 2048 characters (including spaces) in the search list",
        )
    for at, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors += fields.invalid(f"{path}.searches[{at}]", name, *formats.dns_subdomain_underscored(name))
    for at, option in enumerate(fields.items(config, "options")):
        errors += [] if option.get("name") else fields.required(f"{path}.options[{at}]", "must not be empty")
    return errors


def _gates(spec: Body, path: str) -> Errors:
    errors: Errors = []
    for at, gate in enumerate(fields.items(spec, "readinessGates")):
        name = fields.text(gate, "conditionType")
        errors += fields.invalid(f"{path}.readinessGates[{at}].conditionType", name, *formats.qualified_name(name))
    seen: set[str] = set()
    for at, gate in enumerate(fields.items(spec, "schedulingGates")):
        name, here = fields.text(gate, "name"), f"{path}.schedulingGates[{at}]"
        errors += fields.invalid(here, name, *formats.qualified_name(name))
        errors += fields.duplicate(here, name) if name in seen else []
        seen.add(name)
    return errors


def _host_users(spec: Body, path: str) -> Errors:
    if spec.get("hostUsers") is not False:
        return []
    shown = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    return fields.joined(
        fields.forbidden(f"{path}.{name}", "when `hostUsers` is false") for key, name in shown if spec.get(key)
    )


def _names(spec: Body, path: str) -> Errors:
    errors: Errors = []
    for key in ("serviceAccountName", "nodeName"):
        if name := fields.text(spec, key):
            errors += fields.invalid(f"{path}.{key}", name, *formats.dns_subdomain(name))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors += fields.invalid(
            f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MAX_INT32}, inclusive"
        )
    for key in ("hostname", "subdomain"):
        if name := fields.text(spec, key):
            errors += fields.invalid(f"{path}.{key}", name, *formats.dns_label(name))
    return errors


def _hosts_and_classes(spec: Body, path: str) -> Errors:
    errors: Errors = []
    for at, alias in enumerate(fields.items(spec, "hostAliases")):
        errors += ip_rules.address(fields.text(alias, "ip"), f"{path}.hostAliases[{at}].ip")
        for index, name in enumerate(fields.items(alias, "hostnames")):
            errors += fields.invalid(f"{path}.hostAliases[{at}].hostnames[{index}]", name, *formats.dns_subdomain(name))
    if name := fields.text(spec, "priorityClassName"):
        errors += fields.invalid(f"{path}.priorityClassName", name, *formats.dns_subdomain(name))
    if (name := spec.get("runtimeClassName")) is not None:
        errors += fields.invalid(f"{path}.runtimeClassName", name, *formats.dns_subdomain(name))
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        errors += fields.one_of(f"{path}.preemptionPolicy", policy, "PreemptLowerPriority", "Never")
    if overhead := fields.obj(spec, "overhead"):
        errors += resource_rules.requirements({"limits": overhead}, f"{path}.overhead")
    system = spec.get("os")
    if system is not None:
        name = fields.text(system, "name")
        if not name:
            errors += fields.required(f"{path}.os.name")
        elif name not in ("linux", "windows"):
            errors += fields.unsupported(f"{path}.os", name, "linux", "windows")
    return errors
