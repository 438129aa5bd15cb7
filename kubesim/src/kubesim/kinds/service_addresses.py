"""Addresses and ports of Services: which families, which address, which node ports.

The server settles them before it prepares and validates the object, and after it has noted who owns which field; so
they belong to nobody. What is taken is read from the stored Services, there is no second ledger that could
disagree. Dynamic choices leave the lower part of each range to people who choose for themselves.

Kubernetes: registry/core/service/storage (allocateCreate, allocateUpdate), SetDefaults of IP families.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, ip_address
from typing import Final

from kubesim import status
from kubesim.kind import Body, Context
from kubesim.kinds import fields, ip_rules
from kubesim.kinds.fields import Errors

NETWORK: Final = IPv4Network("10.0.0.0/16")
PORTS: Final[range] = range(30000, 32768)
_FIRST_DYNAMIC_ADDRESS: Final = 1 + min(max(16, NETWORK.num_addresses // 16), 256)
"""Kubernetes: calculateRangeOffset."""
_FIRST_DYNAMIC_PORT: Final = 30086


def is_headless(spec: Body) -> bool:
    return fields.items(spec, "clusterIPs") == ["None"]


def has_node_ports(spec: Body) -> bool:
    """Whether ports of nodes lead to it."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def is_reachable(spec: Body) -> bool:
    """Whether traffic from outside the cluster is meant for it."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_port(spec: Body) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def settle(body: Body, old: Body | None, ctx: Context) -> Body:
    """The Service with everything the server decides. Raises `ApiError` (422) for what it cannot give."""
    spec = fields.obj(body, "spec")
    before = fields.obj(old, "spec") if old else None
    name = fields.text(fields.obj(body, "metadata"), "name")
    if before is not None:
        spec = _keep(spec, before)
    spec = _same_address(spec, before)
    spec = _families(spec, before, name)
    if not _unsettled(spec, before):
        return body if spec == body.get("spec") else {**body, "spec": spec}
    others = [one for one in ctx.lookup.list("services") if not _is_same(one, body)]
    spec = _address(spec, before, (fields.obj(one, "spec") for one in others), name)
    spec = _node_ports(spec, before, others, name)
    return {**body, "spec": spec}


def _is_same(one: Body, body: Body) -> bool:
    left, right = fields.obj(one, "metadata"), fields.obj(body, "metadata")
    return left.get("name") == right.get("name") and left.get("namespace") == right.get("namespace")


def _unsettled(spec: Body, before: Body | None) -> bool:
    """Whether anything is to be chosen or reserved; most updates change neither."""
    same_address = before is not None and spec.get("clusterIPs") == before.get("clusterIPs")
    same_ports = (
        before is not None and spec.get("ports") == before.get("ports") and spec.get("type") == before.get("type")
    )
    return not (
        same_address and same_ports and spec.get("healthCheckNodePort") == (before or {}).get("healthCheckNodePort")
    )


def _needs_address(spec: Body) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def _keep(spec: Body, before: Body) -> Body:
    """What an update leaves out stays."""
    if _needs_address(before) and _needs_address(spec):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec = {**spec, "clusterIP": before["clusterIP"]}
        if not spec.get("clusterIPs") and spec.get("clusterIP") == before.get("clusterIP") and before.get("clusterIPs"):
            spec = {**spec, "clusterIPs": before["clusterIPs"]}
    if has_node_ports(before) and has_node_ports(spec):
        spec = _keep_ports(spec, before)
    if needs_health_port(before) and needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec = fields.carry(spec, before, "healthCheckNodePort")
    return spec


def _keep_ports(spec: Body, before: Body) -> Body:
    old = {fields.text(port, "name"): port.get("nodePort") for port in fields.items(before, "ports")}
    now = [port.get("nodePort") for port in fields.items(spec, "ports")]
    used = {number for number in now if number} & {number for number in old.values() if number}
    ports = []
    for port in fields.items(spec, "ports"):
        kept = old.get(fields.text(port, "name"))
        ports.append({**port, "nodePort": kept} if not port.get("nodePort") and kept and kept not in used else port)
    return {**spec, "ports": ports} if ports else spec


def _same_address(spec: Body, before: Body | None) -> Body:
    """The single address and the list are two views of one field; who knows only the first may still change it."""
    one, many = fields.text(spec, "clusterIP"), fields.items(spec, "clusterIPs")
    if before is None:
        return {**spec, "clusterIPs": [one]} if one and not many else spec
    if one != fields.text(before, "clusterIP") and many == fields.items(before, "clusterIPs"):
        return {**spec, "clusterIPs": [one]} if one else fields.without(spec, "clusterIPs")
    return spec


def _families(spec: Body, before: Body | None, name: str) -> Body:
    if spec.get("type") == "ExternalName":
        return spec
    policy = spec.get("ipFamilyPolicy")
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if policy is None:
        kept = (before or {}).get("ipFamilyPolicy")
        policy = kept or ("RequireDualStack" if headless else "SingleStack")
        spec = {**spec, "ipFamilyPolicy": policy}
    _refuse(name, address_errors(spec))
    families = list(fields.items(spec, "ipFamilies"))
    addresses = fields.items(spec, "clusterIPs")
    if policy == "SingleStack":
        where, must = "spec.ipFamilyPolicy", "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        errors = fields.invalid(where, policy, f"{must} cluster IPs are specified") if len(addresses) == 2 else []
        errors += fields.invalid(where, policy, f"{must} IP families are specified") if len(families) == 2 else []
        _refuse(name, errors)
    for at, address in enumerate(addresses):
        if address != "None" and at >= len(families):
            family = f"IPv{ip_address(address).version}"
            if family == "IPv6":
                text = "IPv6 is not configured on this cluster"
                _refuse(name, fields.invalid(f"spec.clusterIPs[{at}]", addresses, text))
            families.append(family)
    if headless:
        families = families or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        return {**spec, "ipFamilies": families}
    errors = []
    if policy == "RequireDualStack":
        errors += fields.invalid(
            "spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services"
        )
    for at, family in enumerate(families):
        if family != "IPv4":
            errors += fields.invalid(f"spec.ipFamilies[{at}]", family, "not configured on this cluster")
    _refuse(name, errors)
    return {**spec, "ipFamilies": families or ["IPv4"]}


def _refuse(name: str, errors: Errors) -> None:
    if errors:
        raise status.invalid("", "Service", name, errors)


def address_errors(spec: Body) -> Errors:
    """Complaints about addresses and families. Kubernetes: ValidateServiceClusterIPsRelatedFields."""
    if spec.get("type") == "ExternalName":
        return []
    one, many = fields.text(spec, "clusterIP"), fields.items(spec, "clusterIPs")
    where = "spec.clusterIPs"
    errors: Errors = []
    if one and not many:
        errors += fields.required(where)
    elif one and many[0] != one:
        errors += fields.invalid(where, many, "first value must match `clusterIP`")
    elif many and not one:
        errors += fields.invalid(where, many, "must be empty when `clusterIP` is not specified")
    families = fields.items(spec, "ipFamilies")
    for at, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            errors += fields.unsupported(f"spec.ipFamilies[{at}]", family, "IPv4", "IPv6")
        if family in families[:at]:
            errors += fields.duplicate(f"spec.ipFamilies[{at}]", family)
    policy = spec.get("ipFamilyPolicy")
    choices = ("PreferDualStack", "RequireDualStack", "SingleStack")
    if policy is not None and policy not in choices:
        errors += fields.unsupported("spec.ipFamilyPolicy", policy, *choices)
    broken: Errors = []
    for at, address in enumerate(many):
        if at == 0 and address == "None":
            if len(many) > 1:
                broken += fields.invalid(where, many, "'None' must be the first and only value")
        else:
            broken += ip_rules.address(address, f"{where}[{at}]")
    errors += broken
    errors += fields.invalid(where, many, "may only hold up to 2 values") if len(many) > 2 else []
    if broken:
        return errors
    if len(many) > 1 and len({ip_address(address).version for address in many}) == 1:
        errors += fields.invalid(where, many, "may specify no more than one IP for each IP family")
    if many != ["None"]:
        for at, (address, family) in enumerate(zip(many, families, strict=False)):
            if family != f"IPv{ip_address(address).version}" and family in ("IPv4", "IPv6"):
                text = f"expected an {family} value as indicated by `ipFamilies[{at}]`"
                errors += fields.invalid(f"{where}[{at}]", address, text)
    return errors


def _address(spec: Body, before: Body | None, others: Iterable[Body], name: str) -> Body:
    if not _needs_address(spec) or is_headless(spec):
        return spec
    if before is not None and _needs_address(before):
        return spec
    taken = {address for other in others for address in fields.items(other, "clusterIPs")}
    given = fields.items(spec, "clusterIPs")
    if given:
        _refuse(name, _reserve(given, taken))
        return spec
    chosen = _free(taken)
    return {**spec, "clusterIP": chosen, "clusterIPs": [chosen]}


def _reserve(given: list[str], taken: set[str]) -> Errors:
    for address in given:
        text = f"failed to allocate IP {address}: "
        if ip_address(address) not in NETWORK:
            text += "the provided network does not match the current range"
            return fields.invalid("spec.clusterIPs", given, text)
        if address in taken:
            return fields.invalid("spec.clusterIPs", given, text + "provided IP is already allocated")
    return []


def _free(taken: set[str]) -> str:
    size = NETWORK.num_addresses
    for offset in (*range(_FIRST_DYNAMIC_ADDRESS, size - 1), *range(1, _FIRST_DYNAMIC_ADDRESS)):
        if (address := str(NETWORK[offset])) not in taken:
            return address
    raise status.internal("failed to allocate a serviceIP: range is full")


def _node_ports(spec: Body, before: Body | None, others: list[Body], name: str) -> Body:
    if spec.get("type") not in ("NodePort", "LoadBalancer"):
        return spec
    taken = {number for other in others for number in _used(fields.obj(other, "spec"))}
    mine = _used(before or {})
    ports: list[Body] = []
    # A number may serve several protocols of one port; the first that asks for it reserves it for all.
    shared: dict[int, int] = {}
    for at, port in enumerate(fields.items(spec, "ports")):
        number, key = port.get("nodePort") or 0, port.get("port") or 0
        if not number and not has_node_ports(spec):
            ports.append(port)
            continue
        number = number or shared.get(key) or _asked(spec, key)
        if number and number not in mine and shared.get(key) != number:
            _refuse(name, _reserve_port(number, taken, f"spec.ports[{at}].nodePort"))
        number = number or _free_port(taken | mine)
        taken.add(number)
        shared.setdefault(key, number)
        ports.append(port if port.get("nodePort") == number else {**port, "nodePort": number})
    spec = {**spec, "ports": ports} if ports else spec
    if needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec = {**spec, "healthCheckNodePort": _free_port(taken | mine)}
    return spec


def _asked(spec: Body, key: int) -> int:
    """A number given for the same port under another protocol."""
    asked: list[int] = [port.get("nodePort") or 0 for port in fields.items(spec, "ports") if port.get("port") == key]
    return next((number for number in asked if number), 0)


def _used(spec: Body) -> set[int]:
    numbers = {port.get("nodePort") or 0 for port in fields.items(spec, "ports")}
    return (numbers | {spec.get("healthCheckNodePort") or 0}) - {0}


def _reserve_port(number: int, taken: set[int], path: str) -> Errors:
    if number not in PORTS:
        text = f"provided port is not in the valid range. The range of valid ports is {PORTS[0]}-{PORTS[-1]}"
        return fields.invalid(path, number, text)
    return fields.invalid(path, number, "provided port is already allocated") if number in taken else []


def _free_port(taken: set[int]) -> int:
    number: int
    for number in (*PORTS[_FIRST_DYNAMIC_PORT - PORTS.start :], *PORTS):
        if number not in taken:
            return number
    raise status.internal("failed to allocate a nodePort: range is full")
