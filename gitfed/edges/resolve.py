"""Names for aiohttp's connections: resolved to the addresses that may be contacted (`address`), and to no others.

The answer is what is connected to, so a name cannot stand for another machine a moment later. A literal address never
comes to a resolver: `edges.http` looks at it where its socket is opened. A caller with a URL may ask `check_host`.
"""

from __future__ import annotations

import ipaddress
import socket

from aiohttp import ThreadedResolver, abc

from gitfed.edges import address


class Checked(abc.AbstractResolver):
    """Raises NotContacted, and OSError for a name that is not known."""

    def __init__(self, inner: abc.AbstractResolver | None = None) -> None:
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[abc.ResolveResult]:
        resolved = await self._inner.resolve(host, port, family)
        allowed = [result for result in resolved if not address.why_not(result["host"])]
        if resolved and not allowed:
            raise address.NotContacted(f"{host} is {resolved[0]['host']}, {address.why_not(resolved[0]['host'])}")
        return allowed

    async def close(self) -> None:
        await self._inner.close()


class Inline(abc.AbstractResolver):
    """Looks a name up while the loop waits: for one with nothing else to serve. The usual way leaves a thread behind
    that a program waits for at its end, as long as the look-up takes."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[abc.ResolveResult]:
        looked_up = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        return [
            abc.ResolveResult(hostname=host, host=str(at[0]), port=port, family=kind, proto=protocol, flags=0)
            for kind, _, protocol, _, at in looked_up
        ]

    async def close(self) -> None:
        """Nothing is held."""


def check_host(host: str) -> str:
    """Why a host that is written as an address is not contacted; "" for others, and for every name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    return address.why_not(host)
