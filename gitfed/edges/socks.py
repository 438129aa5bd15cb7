"""Connections of aiohttp through a SOCKS5 proxy: `socks5://[user:password@]host:port`.

aiohttp knows HTTP proxies only. The handshake is python-socks's; the connection to the proxy is opened here, so that
its name stands only for addresses that may be contacted (`resolve`), and so that a socket can be had from the code that
has to close it. As with an HTTP proxy, the name behind it is the proxy's to know and is not looked up here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp import abc

from gitfed.edges import address, resolve

SCHEMES = ("socks5", "socks5h")
"""Two names for the same, as for kubectl: the proxy looks up the name of the server."""
PORT = 1080
"""Where the address names none."""

_REPLIES = {
    1: "it fails",
    2: "its rules do not allow it",
    3: "it has no way to that network",
    4: "it has no way to that host",
    5: "the connection is refused there",
    6: "it takes too long",
    7: "it does not connect to anything",
    8: "it does not know this kind of address",
}
"""What a proxy answers instead of connecting (RFC 1928, 6)."""


def is_one(proxy: str) -> bool:
    return urlsplit(proxy).scheme.lower() in SCHEMES


class Connector(aiohttp.TCPConnector):
    """Raises what a TCPConnector raises; a ClientProxyConnectionError for what is the proxy's."""

    def __init__(
        self, proxy: str, *, socket_factory: Callable[[Any], socket.socket] | None = None, **options: Any
    ) -> None:
        super().__init__(resolver=_AsWritten(), **options)
        parts = urlsplit(proxy)
        self._host, self._port = parts.hostname or "", parts.port or PORT
        self._login = [unquote(text) if text else None for text in (parts.username, parts.password)]
        self._way = _Way(socket_factory)

    async def _wrap_create_connection(
        self,
        *args: Any,
        addr_infos: Any,
        req: Any,
        timeout: Any,
        client_error: Any = aiohttp.ClientConnectorError,
        **kwargs: Any,
    ) -> Any:
        host, port = addr_infos[0][4][:2]
        try:
            async with asyncio.timeout(timeout.sock_connect):
                opened = await self._through(host, port)
        except TimeoutError:
            raise
        except OSError as error:
            at = req.connection_key._replace(host=self._host, port=self._port)
            raise aiohttp.ClientProxyConnectionError(at, error) from error
        return await self._wrap_existing_connection(
            *args, req=req, timeout=timeout, client_error=client_error, sock=opened, **kwargs
        )

    async def _through(self, host: str, port: int) -> socket.socket:
        from python_socks import ProxyError, ProxyType
        from python_socks.async_.asyncio import Proxy

        user, password = self._login
        way: Any = self._way
        proxy = Proxy(ProxyType.SOCKS5, self._host, self._port, user, password, rdns=True, forward=way)
        try:
            opened: socket.socket = await proxy.connect(host, port)
        except ProxyError as error:
            why = _REPLIES.get(error.error_code or 0, "the login is wrong, or it is no SOCKS5 proxy")
            raise address.ProxyRefused(f"it does not connect: {why}") from None
        return opened


class _Way:
    """To the proxy itself: what python-socks asks for a socket."""

    def __init__(self, opens: Callable[[Any], socket.socket] | None) -> None:
        self._opens = opens

    async def connect(self, dest_host: str, dest_port: int, timeout: float | None = None) -> socket.socket:
        trouble: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for resolved in await resolve.Checked().resolve(dest_host, dest_port, socket.AF_UNSPEC):
            address = (
                resolved["family"],
                socket.SOCK_STREAM,
                resolved["proto"],
                "",
                (resolved["host"], resolved["port"]),
            )
            opened = self._opens(address) if self._opens is not None else socket.socket(*address[:3])
            opened.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(opened, address[4])
            except OSError as error:
                opened.close()
                trouble = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise trouble


class _AsWritten(abc.AbstractResolver):
    """The name itself in place of an address."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[abc.ResolveResult]:
        return [abc.ResolveResult(hostname=host, host=host, port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        """Nothing is held."""
