"""What a Service must obey, when it is new and when it changes.

Kubernetes: ValidateService, ValidateServiceUpdate, ValidateLoadBalancerStatus. Rules about which addresses and families
fit each other are in `service_addresses`; defaults and what else happens to a Service are in `services`.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim.kind import Body
from kubesim.kinds import fields, formats, ip_rules, metadata, service_addresses
from kubesim.kinds.fields import Errors
from kubesim.kinds.pod_probes import port_or_name
from kubesim.kinds.service_addresses import is_headless, is_reachable, needs_health_port

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LB_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"


def validate(body: Body) -> Errors:
    """Complaints about a Service as such, in the order in which Kubernetes looks."""
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
        path = f"spec.externalIPs[{at}]"
        errors += ip_rules.address(address, path) or ip_rules.outside(address, path)
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
            errors += ip_rules.cidr(value.strip(), f"{path}[{at}]") or ip_rules.prefix(value.strip(), f"{path}[{at}]")
        return errors
    if note is None:
        return []
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = [] if kind == "LoadBalancer" else fields.forbidden(path, _LB_ONLY)
    for value in note.strip().split(",") if note.strip() else []:
        errors += ip_rules.cidr(value.strip(), path)
    return errors


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
    if is_reachable(spec):
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


def validate_update(new: Body, old: Body) -> Errors:
    """Complaints about the change alone."""
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


def validate_status(new: Body, old: Body) -> Errors:
    """Kubernetes: ValidateLoadBalancerStatus."""
    path = "status.loadBalancer.ingress"
    given = fields.items(new, "status", "loadBalancer", "ingress")
    if given and fields.obj(new, "spec").get("type") != "LoadBalancer":
        return fields.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
    known = {one.get("ip") for one in fields.items(old, "status", "loadBalancer", "ingress")}
    errors: Errors = []
    for at, one in enumerate(given):
        address, mode = fields.text(one, "ip"), one.get("ipMode")
        errors += ip_rules.address(address, f"{path}[{at}].ip") if address and address not in known else []
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
    if not ip_rules.address(name, path):
        errors += fields.invalid(path, name, "must be a DNS name, not an IP address")
    return errors
