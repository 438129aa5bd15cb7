"""Services: defaults, rules, what an update may change. Their addresses are in `service_addresses`.

Kubernetes: SetDefaults_Service, ValidateServiceCreate, ValidateServiceUpdate, dropTypeDependentFields.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime
from typing import Any, Final

from gitfed.sim.kind import Body, Context, Kind, Subresource
from gitfed.sim.kinds import (
    fields,
    formats,
    metadata,
    pod_defaults,
    pod_spec,
    preparation,
    selectors,
    service_addresses,
    table,
)
from gitfed.sim.kinds.fields import Errors
from gitfed.sim.kinds.pod_probes import port_or_name
from gitfed.sim.kinds.service_addresses import has_node_ports, is_headless, needs_health_port

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LB_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"


def _is_reachable(spec: Body) -> bool:
    """Whether traffic from outside the cluster is meant for it."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _default(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", _default_spec)
    if fields.obj(body, "spec").get("type") != "LoadBalancer":
        return body
    return pod_defaults.within(body, "status", _default_status)


def _default_status(found: Body) -> Body:
    def one(ingress: Body) -> Body:
        return pod_defaults.fill(ingress, ipMode="VIP") if ingress.get("ip") else ingress

    return pod_defaults.within(found, "loadBalancer", lambda balancer: pod_defaults.each(balancer, "ingress", one))


def _default_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec = fields.without(spec, "sessionAffinityConfig")
    seconds = fields.obj(spec, "sessionAffinityConfig", "clientIP").get("timeoutSeconds")
    if spec["sessionAffinity"] == "ClientIP" and seconds is None:
        spec = {**spec, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
    spec = pod_defaults.each(spec, "ports", _default_port)
    if _is_reachable(spec):
        spec = pod_defaults.fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec = pod_defaults.fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        spec = pod_defaults.fill(spec, allocateLoadBalancerNodePorts=True)
    return spec


def _default_port(port: Body) -> Body:
    port = pod_defaults.fill(port, protocol="TCP")
    return port if port.get("targetPort") else {**port, "targetPort": port.get("port", 0)}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    new = preparation.old_status(new, old)
    spec = _without_leftovers(fields.obj(new, "spec"), fields.obj(old, "spec"))
    return new if spec is new.get("spec") else {**new, "spec": spec}


def _without_leftovers(spec: Body, before: Body) -> Body:
    """Who changes the type need not know what belonged to the old one: what did not change is taken away with it."""
    external = spec.get("type") == "ExternalName"
    if external and before.get("type") != "ExternalName":
        for keys in (("clusterIP", "clusterIPs"), ("ipFamilies",), ("ipFamilyPolicy",)):
            if all(spec.get(key) == before.get(key) for key in keys):
                spec = fields.without(spec, *keys)
    if has_node_ports(before) and spec.get("type") not in ("NodePort", "LoadBalancer"):
        numbers = [port.get("nodePort") for port in fields.items(spec, "ports")]
        if numbers == [port.get("nodePort") for port in fields.items(before, "ports")]:
            spec = {**spec, "ports": [fields.without(port, "nodePort") for port in fields.items(spec, "ports")]}
    gone = []
    if needs_health_port(before) and not needs_health_port(spec):
        gone.append("healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if _is_reachable(before) and not _is_reachable(spec):
        gone.append("externalTrafficPolicy")
    if external and before.get("type") != "ExternalName":
        gone.append("internalTrafficPolicy")
    return fields.without(spec, *(key for key in gone if spec.get(key) == before.get(key)))


def _validate(body: Body) -> Errors:
    spec, kind = fields.obj(body, "spec"), fields.text(fields.obj(body, "spec"), "type")
    ports = fields.items(spec, "ports")
    errors: Errors = []
    if not ports and not is_headless(spec) and kind != "ExternalName":
        errors += fields.required("spec.ports")
    errors += _type_rules(spec, kind)
    names: set[str] = set()
    for at, port in enumerate(ports):
        errors += _port(port, f"spec.ports[{at}]", names, named=len(ports) > 1)
    errors += metadata.labels(fields.obj(spec, "selector"), "spec.selector")
    errors += _affinity(spec)
    errors += service_addresses.address_errors(spec)
    for at, address in enumerate(fields.items(spec, "externalIPs")):
        errors += pod_spec.ip(address, f"spec.externalIPs[{at}]") or outside(address, f"spec.externalIPs[{at}]")
    errors += fields.one_of("spec.type", kind, *_TYPES)
    errors += _repeated_ports(ports, kind)
    errors += _source_ranges(body, spec, kind)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        errors += fields.forbidden("spec.allocateLoadBalancerNodePorts", _LB_ONLY)
    return errors + _load_balancer_class(spec) + _traffic(spec)


def _type_rules(spec: Body, kind: str) -> Errors:
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        return fields.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return []
    errors: Errors = []
    for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(key):
            errors += fields.forbidden(f"spec.{key}", "may not be set for ExternalName services")
    name = fields.text(spec, "externalName").removesuffix(".")
    if not name:
        return errors + fields.required("spec.externalName")
    return errors + fields.invalid("spec.externalName", name, *formats.dns_subdomain(name))


def _port(port: Body, path: str, names: set[str], *, named: bool) -> Errors:
    name, number = fields.text(port, "name"), port.get("port") or 0
    errors: Errors = []
    if name:
        errors += fields.invalid(f"{path}.name", name, *formats.dns_label(name))
        errors += fields.duplicate(f"{path}.name", name) if name in names else []
        names.add(name)
    elif named:
        errors += fields.required(f"{path}.name")
    errors += fields.invalid(f"{path}.port", number, *formats.port_number(number))
    errors += fields.one_of(f"{path}.protocol", fields.text(port, "protocol"), "SCTP", "TCP", "UDP")
    errors += port_or_name(port.get("targetPort"), f"{path}.targetPort")
    if (protocol := port.get("appProtocol")) is not None:
        errors += fields.invalid(f"{path}.appProtocol", protocol, *formats.qualified_name(protocol))
    return errors


def _affinity(spec: Body) -> Errors:
    affinity = fields.text(spec, "sessionAffinity")
    errors = fields.one_of("spec.sessionAffinity", affinity, "ClientIP", "None")
    config = spec.get("sessionAffinityConfig")
    if affinity == "ClientIP":
        seconds = fields.obj(config, "clientIP").get("timeoutSeconds") or 0
        if not 0 < seconds <= 86400:
            text = "must be greater than 0 and less than 86400"
            errors += fields.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)
    elif affinity == "None" and config is not None:
        errors += fields.forbidden("spec.sessionAffinityConfig", "must not be set when session affinity is None")
    return errors


def outside(address: str, path: str) -> Errors:
    """An address that others can reach. Kubernetes: ValidateEndpointIP."""
    found = ipaddress.ip_address(address)
    rules = (
        (found.is_unspecified, f"may not be unspecified ({address})"),
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            found.is_multicast and found in ipaddress.ip_network("224.0.0.0/24" if found.version == 4 else "ff02::/16"),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return fields.joined(fields.invalid(path, address, text) for broken, text in rules if broken)


def _repeated_ports(ports: list[Body], kind: str) -> Errors:
    errors: Errors = []
    if kind == "ClusterIP":
        for at, port in enumerate(ports):
            if port.get("nodePort"):
                errors += fields.forbidden(f"spec.ports[{at}].nodePort", "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[Any, Any]] = set()
    for at, port in enumerate(ports):
        key = (port.get("protocol"), port.get("nodePort"))
        if port.get("nodePort") and key in seen:
            errors += fields.duplicate(f"spec.ports[{at}].nodePort", port["nodePort"])
        seen.add(key)
    seen = set()
    for at, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": port.get("protocol"),
                "AppProtocol": None,
                "Port": port.get("port"),
                "TargetPort": 0,
                "NodePort": 0,
            }
            errors += fields.duplicate(f"spec.ports[{at}]", shown)
        seen.add(key)
    return errors


def _source_ranges(body: Body, spec: Body, kind: str) -> Errors:
    ranges = fields.items(spec, "loadBalancerSourceRanges")
    note = fields.obj(body, "metadata", "annotations").get(_SOURCE_RANGES)
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        errors = [] if kind == "LoadBalancer" else fields.forbidden(path, _LB_ONLY)
        for at, value in enumerate(ranges):
            errors += cidr(value.strip(), f"{path}[{at}]")
        return errors
    if note is None:
        return []
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = [] if kind == "LoadBalancer" else fields.forbidden(path, _LB_ONLY)
    for value in note.strip().split(",") if note.strip() else []:
        errors += cidr(value.strip(), path)
    return errors


def cidr(value: str, path: str) -> Errors:
    """Complaints about a network in one of the old fields."""
    try:
        if "/" in value:
            ipaddress.ip_interface(value)
            return []
    except ValueError:
        pass
    return fields.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def _load_balancer_class(spec: Body) -> Errors:
    name = spec.get("loadBalancerClass")
    if name is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return fields.forbidden("spec.loadBalancerClass", _LB_ONLY)
    return fields.invalid("spec.loadBalancerClass", name, *formats.qualified_name(name))


def _traffic(spec: Body) -> Errors:
    external, health = fields.text(spec, "externalTrafficPolicy"), spec.get("healthCheckNodePort") or 0
    errors: Errors = []
    if _is_reachable(spec):
        errors += fields.one_of("spec.externalTrafficPolicy", external, "Cluster", "Local")
    elif external:
        errors += fields.invalid(
            "spec.externalTrafficPolicy", external, "may only be set for externally-accessible services"
        )
    if not needs_health_port(spec):
        if health:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors += fields.invalid("spec.healthCheckNodePort", health, text)
    elif not health:
        errors += fields.required("spec.healthCheckNodePort")
    else:
        errors += fields.invalid("spec.healthCheckNodePort", health, *formats.port_number(health))
    internal = spec.get("internalTrafficPolicy")
    if internal is None:
        if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
            errors += fields.required("spec.internalTrafficPolicy")
    elif internal not in ("Cluster", "Local"):
        errors += fields.unsupported("spec.internalTrafficPolicy", internal, "Cluster", "Local")
    spread, choices = spec.get("trafficDistribution"), ("PreferClose", "PreferSameZone", "PreferSameNode")
    if spread is not None and spread not in choices:
        errors += fields.unsupported("spec.trafficDistribution", spread, *choices)
    return errors


def _validate_update(new: Body, old: Body) -> Errors:
    spec, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    errors: Errors = []
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        errors += _fixed_addresses(spec, before) + _fixed_families(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            errors += fields.invalid("spec.loadBalancerClass", name, "may not change once set")
    errors += _load_balancer_class(spec)
    health = (spec.get("healthCheckNodePort"), before.get("healthCheckNodePort"))
    if needs_health_port(spec) and needs_health_port(before) and health[0] != health[1]:
        errors += fields.forbidden("spec.healthCheckNodePort", "field is immutable")
    return errors


def _fixed_addresses(spec: Body, before: Body) -> Errors:
    new, old = fields.items(spec, "clusterIPs"), fields.items(before, "clusterIPs")
    if is_headless(spec) and is_headless(before):
        return []
    changed = "may not change once set"
    if len(new) == len(old):
        return fields.joined(
            fields.invalid(f"spec.clusterIPs[{at}]", new, changed)
            for at, (one, was) in enumerate(zip(new, old, strict=True))
            if one != was
        )
    errors: Errors = []
    if len(old) > len(new) and not new:
        errors += fields.invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    if old and new and new[0] != old[0]:
        errors += fields.invalid("spec.clusterIPs[0]", new, changed)
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors += fields.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text)
    return errors


def _fixed_families(spec: Body, before: Body) -> Errors:
    new, old = fields.items(spec, "ipFamilies"), fields.items(before, "ipFamilies")
    if is_headless(spec) or is_headless(before):
        return []
    if len(new) == len(old):
        pairs = zip(new, old, strict=True)
        changed = fields.invalid("spec.ipFamilies[0]", new, "may not change once set")
        return fields.joined(changed for one, was in pairs if one != was)
    if old and new and new[0] != old[0]:
        return fields.invalid("spec.ipFamilies[0]", fields.items(spec, "clusterIPs"), "may not change once set")
    return []


def _warnings(body: Body, old: Body | None) -> list[str]:
    spec = fields.obj(body, "spec")
    found: list[str] = []
    if _HINTS in fields.obj(body, "metadata", "annotations"):
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
    external, headless = spec.get("type") == "ExternalName", spec.get("type") == "ClusterIP" and is_headless(spec)
    if headless:
        ignored = [key for key in ("loadBalancerIP", "externalIPs") if spec.get(key)]
        ignored += [] if spec.get("sessionAffinity") == "None" else ["SessionAffinity"]
        found += [f"spec.{key} is ignored for headless services" for key in ignored]
    elif spec.get("externalIPs") and not external:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if external and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not external and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _validate_status(new: Body, old: Body) -> Errors:
    """Kubernetes: ValidateLoadBalancerStatus."""
    path = "status.loadBalancer.ingress"
    given = fields.items(new, "status", "loadBalancer", "ingress")
    if given and fields.obj(new, "spec").get("type") != "LoadBalancer":
        return fields.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
    known = {one.get("ip") for one in fields.items(old, "status", "loadBalancer", "ingress")}
    errors: Errors = []
    for at, one in enumerate(given):
        address, mode = fields.text(one, "ip"), one.get("ipMode")
        errors += pod_spec.ip(address, f"{path}[{at}].ip") if address and address not in known else []
        if mode is None:
            text = "must be specified when `ip` is set"
            errors += fields.required(f"{path}[{at}].ipMode", text) if address else []
        elif not address:
            errors += fields.forbidden(f"{path}[{at}].ipMode", "may not be specified when `ip` is not set")
        elif mode not in ("Proxy", "VIP"):
            errors += fields.unsupported(f"{path}[{at}].ipMode", mode, "Proxy", "VIP")
        errors += _host(fields.text(one, "hostname"), f"{path}[{at}].hostname")
    return errors


def _host(name: str, path: str) -> Errors:
    if not name:
        return []
    errors = fields.invalid(path, name, *formats.dns_subdomain(name))
    if not pod_spec.ip(name, path):
        errors += fields.invalid(path, name, "must be a DNS name, not an IP address")
    return errors


def _external(body: Body) -> str:
    spec = fields.obj(body, "spec")
    kind, own = spec.get("type"), ",".join(fields.items(spec, "externalIPs"))
    if kind in ("ClusterIP", "NodePort"):
        return own or table.NONE
    if kind == "LoadBalancer":
        return ",".join(part for part in (table.load_balancer(body), own) if part) or "<pending>"
    return fields.text(spec, "externalName") if kind == "ExternalName" else table.UNKNOWN


def _row(body: Body, now: datetime) -> list[Any]:
    spec = fields.obj(body, "spec")
    addresses = fields.items(spec, "clusterIPs")
    ports = []
    for port in fields.items(spec, "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return [
        table.name(body),
        fields.text(spec, "type"),
        addresses[0] if addresses else table.NONE,
        _external(body),
        ",".join(ports) or table.NONE,
        table.created(body, now),
        selectors.labels_text(fields.obj(spec, "selector")),
    ]


SERVICE: Final = Kind(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    short_names=("svc",),
    categories=("all",),
    subresources=(
        Subresource(
            name="proxy",
            verbs=("create", "delete", "get", "patch", "update"),
            kind="ServiceProxyOptions",
        ),
        Subresource(name="status"),
    ),
    name_rule="dns-label",
    allow_create_on_update=True,
    default=_default,
    admit=service_addresses.settle,
    prepare_create=lambda body, ctx: preparation.new_status(body, {"loadBalancer": {}}),
    prepare_update=_update,
    prepare_status=preparation.only_status,
    reset_fields={"": (("status",),), "status": (("spec",),)},
    validate=_validate,
    validate_update=_validate_update,
    update_first=True,
    validate_status=_validate_status,
    warnings=_warnings,
    delete_returns_object=True,
    field_labels={
        "spec.clusterIP": lambda body: fields.text(fields.obj(body, "spec"), "clusterIP"),
        "spec.type": lambda body: fields.text(fields.obj(body, "spec"), "type"),
    },
    columns=table.columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"),
    row=_row,
)
