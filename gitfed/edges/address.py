"""Addresses that are only of use inside a machine: they are not contacted, whatever name leads there.

A name in a repository is foreign text. Behind a link-local address the clouds hand out the credentials of the machine
that asks; so a name is looked up, what it stands for is looked at, and where that can be done only that is contacted.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_METADATA: Final = frozenset({ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200")})
"""Where clouds answer a machine's questions about itself, and it is not a link-local address."""
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")


class NotContacted(OSError):
    """A name leads only to such addresses. The text is ours, so a message may hold it."""


class ProxyRefused(OSError):
    """A proxy was reached and does not connect. The text is ours, so a message may hold it."""


def resolved(host: str, port: int) -> tuple[tuple[str, ...], str]:
    """The addresses of a host that may be contacted, and why the others are not ("" when all may be).

    Nothing at all for a name that cannot be looked up here: a proxy may know it.
    """
    try:
        answers = socket.getaddrinfo(host, port or None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return (), ""
    allowed: dict[str, None] = {}
    refused = ""
    for *_, place in answers:
        text = str(place[0])
        if why := why_not(text):
            refused = f"{text}, {why}"
        else:
            allowed[text] = None
    return tuple(allowed), refused


def why_not(text: str) -> str:
    """Why an IP address is not contacted; "" if it may be. IPv4 inside of IPv6 is looked at as IPv4."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        address = inner or address
    if address.is_link_local or address in _METADATA:
        return "a link-local or metadata address, which is not contacted"
    if address.is_unspecified or address.is_multicast or address == _BROADCAST:
        return "not the address of one machine"
    return ""
