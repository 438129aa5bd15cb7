"""Complaints about addresses and networks in fields of any kind: pods, Services, endpoints, nodes, policies.

Which addresses a Service gets is `service_addresses`' question.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from kubesim.kinds import fields
from kubesim.kinds.fields import Errors

_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def address(value: str, path: str) -> Errors:
    """Complaints about an address in one of the old fields, which forgive leading zeros no more."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return fields.invalid(path, value, _IP)
    return []


def cidr(value: str, path: str) -> Errors:
    """Complaints about a network in one of the old fields."""
    try:
        if "/" in value:
            ipaddress.ip_interface(value)
            return []
    except ValueError:
        pass
    return fields.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def prefix(value: str, path: str) -> Errors:
    """Complaints about a network whose address is that of a host in it."""
    interface = ipaddress.ip_interface(value)
    if interface.ip == interface.network.network_address:
        return []
    return fields.invalid(path, value, "must not have bits set beyond the prefix length")


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
