"""Ingresses and NetworkPolicies. Kubernetes: pkg/apis/networking/validation."""

from __future__ import annotations

import ipaddress
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import fields, formats, ip_rules, pod_defaults, preparation, references, selectors, table
from kubesim.kinds.fields import Errors

_CLASS: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _host(host: str, path: str) -> Errors:
    check = formats.wildcard_subdomain if "*" in host else formats.dns_subdomain
    return fields.invalid(path, host, *check(host))


def _validate_ingress(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    rules, backend = fields.items(spec, "rules"), spec.get("defaultBackend")
    errors: Errors = []
    if not rules and backend is None:
        errors += fields.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        errors += _backend(backend, "spec.defaultBackend")
    for at, rule in enumerate(rules):
        errors += _rule(rule, f"spec.rules[{at}]")
    for at, tls in enumerate(fields.items(spec, "tls")):
        for index, host in enumerate(fields.items(tls, "hosts")):
            errors += _host(host, f"spec.tls[{at}].hosts[{index}]")
        if secret := fields.text(tls, "secretName"):
            errors += fields.invalid(f"spec.tls[{at}].secretName", secret, *formats.dns_subdomain(secret))
    name = spec.get("ingressClassName")
    return errors + (
        fields.invalid("spec.ingressClassName", name, *formats.dns_subdomain(name)) if name is not None else []
    )


def _rule(rule: Body, path: str) -> Errors:
    host, http = fields.text(rule, "host"), rule.get("http")
    errors: Errors = []
    if host:
        if _is_address(host):
            errors += fields.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        errors += _host(host, f"{path}.host")
    if http is None:
        return errors
    paths = fields.items(http, "paths")
    errors += [] if paths else fields.required(f"{path}.http.paths")
    for at, one in enumerate(paths):
        errors += _path(one, f"{path}.http.paths[{at}]")
    return errors


def _path(one: Body, path: str) -> Errors:
    kind, where = one.get("pathType"), fields.text(one, "path")
    if kind is None:
        return fields.required(f"{path}.pathType", "pathType must be specified")
    errors: Errors = []
    if kind not in _PATH_TYPES:
        errors += fields.unsupported(f"{path}.pathType", kind, *_PATH_TYPES)
    elif not where.startswith("/") and (where or kind != "ImplementationSpecific"):
        errors += fields.invalid(f"{path}.path", where, "must be an absolute path")
    if kind in ("Exact", "Prefix") and where:
        for part in _BAD_PARTS:
            errors += fields.invalid(f"{path}.path", where, f"must not contain '{part}'") if part in where else []
        for end in _BAD_ENDS:
            errors += fields.invalid(f"{path}.path", where, f"cannot end with '{end}'") if where.endswith(end) else []
    return errors + _backend(fields.obj(one, "backend"), f"{path}.backend")


def _backend(backend: Body, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return fields.invalid(path, "", "cannot set both resource and service backends")
    if resource is not None:
        return _reference(resource, f"{path}.resource")
    if service is None:
        return fields.invalid(path, "", "resource or service backend is required")
    name, port = fields.text(service, "name"), fields.obj(service, "port")
    errors: Errors = []
    if name:
        errors += fields.invalid(f"{path}.service.name", name, *formats.dns_label(name))
    else:
        errors += fields.required(f"{path}.service.name")
    port_name, number = fields.text(port, "name"), port.get("number") or 0
    if port_name and number:
        errors += fields.invalid(path, "", "cannot set both port name & port number")
    elif port_name:
        errors += fields.invalid(f"{path}.service.port.name", port_name, *formats.port_name(port_name))
    elif number:
        errors += fields.invalid(f"{path}.service.port.number", number, *formats.port_number(number))
    else:
        errors += fields.required(path, "port name or number is required")
    return errors


def _reference(ref: Body, path: str) -> Errors:
    group = ref.get("apiGroup")
    errors = [] if group is None else fields.invalid(f"{path}.apiGroup", group, *formats.dns_subdomain(group))
    return errors + references.kind_and_name(ref, path)


def _validate_new_ingress(body: Body) -> Errors:
    note = fields.obj(body, "metadata", "annotations").get(_CLASS)
    name = fields.obj(body, "spec").get("ingressClassName")
    if note is None or name is None or note == name:
        return []
    # Kubernetes tells this path without the metadata it is in.
    text = "must match `ingressClassName` when both are specified"
    return fields.invalid(f"annotations.{_CLASS}", note, text)


def _validate_ingress_status(new: Body, old: Body) -> Errors:
    errors: Errors = []
    for at, one in enumerate(fields.items(new, "status", "loadBalancer", "ingress")):
        path, host = f"status.loadBalancer.ingress[{at}]", fields.text(one, "hostname")
        errors += ip_rules.address(one["ip"], f"{path}.ip") if one.get("ip") else []
        if host:
            errors += fields.invalid(f"{path}.hostname", host, *formats.dns_subdomain(host))
            if _is_address(host):
                errors += fields.invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address")
    return errors


def _ingress_warnings(body: Body, old: Body | None) -> list[str]:
    found: list[str] = []
    if old is None and _CLASS in fields.obj(body, "metadata", "annotations"):
        found.append(f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead")
    return found


def _ingress_row(body: Body, now: datetime) -> list[Any]:
    spec = fields.obj(body, "spec")
    rules = fields.items(spec, "rules")
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    shown = ",".join(hosts[:3]) or "*"
    if len(hosts) > 3:
        shown = f"{shown} + {len(rules) - 3} more..."
    return [
        table.name(body),
        spec.get("ingressClassName") or table.NONE,
        shown,
        table.load_balancer(body),
        "80, 443" if spec.get("tls") else "80",
        table.created(body, now),
    ]


INGRESS: Final = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="Ingress",
    plural="ingresses",
    short_names=("ing",),
    subresources=(Subresource(name="status"),),
    validate=_validate_ingress,
    validate_create=_validate_new_ingress,
    validate_status=_validate_ingress_status,
    warnings=_ingress_warnings,
    columns=table.columns("Name", "Class", "Hosts", "Address", "Ports", "Age"),
    row=_ingress_row,
    **preparation.keeping({"loadBalancer": {}}),
)


def _default_policy(body: Body) -> Body:
    return pod_defaults.within(body, "spec", _default_policy_spec)


def _default_policy_spec(spec: Body) -> Body:
    def rule(one: Body) -> Body:
        return pod_defaults.each(one, "ports", lambda port: pod_defaults.fill(port, protocol="TCP"))

    for key in ("ingress", "egress"):
        spec = pod_defaults.each(spec, key, rule)
    if spec.get("policyTypes"):
        return spec
    return {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}


def _validate_policy(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = selectors.validate(spec.get("podSelector"), "spec.podSelector")
    for key, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in enumerate(fields.items(spec, key)):
            path = f"spec.{key}[{at}]"
            for index, port in enumerate(fields.items(rule, "ports")):
                errors += _policy_port(port, f"{path}.ports[{index}]")
            for index, peer in enumerate(fields.items(rule, peers)):
                errors += _peer(peer, f"{path}.{peers}[{index}]")
    types = fields.items(spec, "policyTypes")
    if len(types) > 2:
        return errors + fields.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
    for at, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            errors += fields.unsupported(f"spec.policyTypes[{at}]", kind, "Ingress", "Egress")
    return errors


def _policy_port(port: Body, path: str) -> Errors:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    errors: Errors = []
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        errors += fields.unsupported(f"{path}.protocol", protocol, "TCP", "UDP", "SCTP")
    where = f"{path}.endPort"
    if number is None:
        text = "may not be specified when `port` is not specified"
        return errors + (fields.invalid(where, end, text) if end is not None else [])
    if isinstance(number, str):
        text = "may not be specified when `port` is non-numeric"
        errors += fields.invalid(where, end, text) if end is not None else []
        return errors + fields.invalid(f"{path}.port", number, *formats.port_name(number))
    errors += fields.invalid(f"{path}.port", number, *formats.port_number(number))
    if end is not None:
        if end < number:
            errors += fields.invalid(where, number, "must be greater than or equal to `port`")
        errors += fields.invalid(where, end, *formats.port_number(end))
    return errors


def _peer(peer: Body, path: str) -> Errors:
    given = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    errors: Errors = []
    for key in given:
        if key == "ipBlock":
            errors += _block(peer[key], f"{path}.ipBlock")
        else:
            errors += selectors.validate(peer[key], f"{path}.{key}")
    if not given:
        return fields.required(path, "must specify a peer")
    if len(given) > 1 and "ipBlock" in given:
        errors += fields.forbidden(path, "may not specify both ipBlock and another peer")
    return errors


def _block(block: Body, path: str) -> Errors:
    whole = fields.text(block, "cidr")
    if not whole:
        return fields.required(f"{path}.cidr")
    errors = ip_rules.cidr(whole, f"{path}.cidr")
    if errors:
        return errors
    network = ipaddress.ip_network(whole, strict=False)
    for at, part in enumerate(fields.items(block, "except")):
        here = f"{path}.except[{at}]"
        broken = ip_rules.cidr(part, here)
        errors += broken
        if broken:
            continue
        inner = ipaddress.ip_network(part, strict=False)
        inside = inner.version == network.version and inner.network_address in network
        if not inside or network.prefixlen >= inner.prefixlen:
            errors += fields.invalid(here, part, "must be a strict subset of `cidr`")
    return errors


def _policy_row(body: Body, now: datetime) -> list[Any]:
    selector = fields.obj(body, "spec").get("podSelector")
    return [table.name(body), selectors.text(selector), table.created(body, now)]


def _create_policy(body: Body, ctx: Context) -> Body:
    return fields.without(body, "status")


NETWORK_POLICY: Final = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
    short_names=("netpol",),
    has_generation=True,
    default=_default_policy,
    prepare_create=_create_policy,
    validate=_validate_policy,
    columns=table.columns("Name", "Pod-Selector", "Age"),
    row=_policy_row,
)
