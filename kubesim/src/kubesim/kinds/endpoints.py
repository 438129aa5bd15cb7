"""EndpointSlices: the addresses behind Services. Kubernetes: ValidateEndpointSlice."""

from __future__ import annotations

import ipaddress
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind
from kubesim.kinds import fields, formats, ip_rules, metadata, pod_defaults, preparation, table
from kubesim.kinds.fields import Errors

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def _listed(values: list[str], empty: str) -> str:
    more = f" + {len(values) - 3} more..." if len(values) > 3 else ""
    return ",".join(values[:3]) + more or empty


def _protocols(port: Body, path: str) -> Errors:
    errors = fields.one_of(f"{path}.protocol", fields.text(port, "protocol"), *_PROTOCOLS)
    if (application := port.get("appProtocol")) is not None:
        errors += fields.invalid(f"{path}.appProtocol", application, *formats.qualified_name(application))
    return errors


def _default_slice(body: Body) -> Body:
    return pod_defaults.each(body, "ports", lambda port: {"name": "", "protocol": "TCP", **port})


def _stored_slice(body: Body) -> Body:
    """The topology of an older version is read and dropped."""
    body = pod_defaults.each(body, "endpoints", lambda endpoint: fields.without(endpoint, "deprecatedTopology"))
    return preparation.stored_lists(body, "endpoints", "ports")


def _validate_slice(body: Body) -> Errors:
    kind = fields.text(body, "addressType")
    errors = fields.one_of("addressType", kind, "FQDN", "IPv4", "IPv6")
    names: set[str] = set()
    for at, port in enumerate(fields.items(body, "ports")):
        path, name = f"ports[{at}]", fields.text(port, "name")
        errors += fields.invalid(f"{path}.name", name, *formats.dns_label(name)) if name else []
        errors += fields.duplicate(f"{path}.name", name) if name in names else []
        names.add(name)
        errors += _protocols(port, path)
    return errors


def _validate_addresses(body: Body) -> Errors:
    kind = fields.text(body, "addressType")
    errors: Errors = []
    for at, one in enumerate(fields.items(body, "endpoints")):
        path, addresses = f"endpoints[{at}]", fields.items(one, "addresses")
        if not addresses:
            errors += fields.required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > 100:
            errors += fields.too_many(f"{path}.addresses", len(addresses), 100)
        for number, address in enumerate(addresses):
            errors += _of_type(kind, address, f"{path}.addresses", number)
        if (node := one.get("nodeName")) is not None:
            errors += fields.invalid(f"{path}.nodeName", node, *formats.dns_subdomain(node))
        errors += metadata.labels(fields.obj(one, "deprecatedTopology"), f"{path}.deprecatedTopology")
        if (host := one.get("hostname")) is not None:
            errors += fields.invalid(f"{path}.hostname", host, *formats.dns_label(host))
    return errors


def _of_type(kind: str, address: str, path: str, at: int) -> Errors:
    here = f"{path}[{at}]"
    if kind == "FQDN":
        return _domain(address, here)
    if kind not in ("IPv4", "IPv6"):
        return []
    if bad := ip_rules.address(address, here):
        return bad
    errors: Errors = []
    if f"IPv{ipaddress.ip_address(address).version}" != kind:
        errors = fields.invalid(path, address, f"must be an {kind} address")
    return errors + ip_rules.outside(address, here)


def _domain(name: str, path: str) -> Errors:
    if not name:
        return fields.required(path)
    name = name.removesuffix(".")
    if bad := formats.dns_subdomain(name):
        return fields.invalid(path, name, *bad)
    if "." not in name:
        return fields.invalid(path, name, "should be a domain with at least two segments separated by dots")
    return []


def _validate_slice_update(new: Body, old: Body) -> Errors:
    errors = [] if new.get("endpoints") == old.get("endpoints") else _validate_addresses(new)
    return errors + fields.unchanged("addressType", new.get("addressType"), old.get("addressType"))


def _slice_row(body: Body, now: datetime) -> list[Any]:
    ports = [
        str(fields.text(port, "name") if port.get("port") is None else port["port"])
        for port in fields.items(body, "ports")
    ]
    addresses = [one for endpoint in fields.items(body, "endpoints") for one in fields.items(endpoint, "addresses")]
    return [
        table.name(body),
        fields.text(body, "addressType"),
        _listed(ports, "<unset>"),
        _listed(addresses, "<unset>"),
        table.created(body, now),
    ]


ENDPOINT_SLICE: Final = Kind(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    has_generation=True,
    generation_moves=lambda new, old: any(
        new.get(key) != old.get(key) for key in ("addressType", "endpoints", "ports")
    ),
    default=_default_slice,
    prepare_create=lambda body, ctx: _stored_slice(body),
    prepare_update=lambda new, old, ctx: _stored_slice(new),
    validate=_validate_slice,
    validate_create=_validate_addresses,
    validate_update=_validate_slice_update,
    columns=table.columns("Name", "AddressType", "Ports", "Endpoints", "Age"),
    row=_slice_row,
)
