"""Requests by aiohttp, from an event loop: what they may contact, and what they never do (see the package).

Names and addresses are looked at where a connection takes its address from, so a name cannot stand for another machine
a moment later, nor can an address be written in a way that only the library understands. Behind a proxy it is the
proxy's address that is looked at, and the server's name is the proxy's to know.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import aiohttp
import yarl
from aiohttp import abc
from aiohttp.connector import Connection

from gitfed.edges import address, resolve, socks
from gitfed.edges.http import LARGEST_REFUSAL, Answer, NoAnswer, Request, proxies

_LONGEST_LINE: Final = 64 << 10
"""Bytes of one header: aiohttp's own limit is smaller than what some forges send."""

OpensSocket = Callable[[Any], socket.socket]
FAILURES: Final = (aiohttp.ClientError, OSError, ValueError)
"""What aiohttp raises where no answer comes, TimeoutError and UnicodeError among them."""


def connector(
    context: ssl.SSLContext | bool = True,
    *,
    by: str = "",
    resolver: abc.AbstractResolver | None = None,
    opens: OpensSocket | None = None,
    limit: int = 0,
    limit_per_host: int = 0,
) -> aiohttp.TCPConnector:
    """What makes connections. `by`: a proxy; one of HTTP has to be named with each request, too.

    `resolver` takes the place of the machine's own and `opens` that of the socket module. No limit is 0.
    """
    options: dict[str, Any] = {"ssl": context, "limit": limit, "limit_per_host": limit_per_host}
    options["socket_factory"] = _only_where_allowed(opens)
    if by and socks.is_one(by):
        return socks.Connector(by, **options)
    return aiohttp.TCPConnector(resolver=resolve.Checked(resolver), **options)


def session(connector: aiohttp.BaseConnector, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
    """Requests by it still have to say `allow_redirects=False`."""
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        # It would take a password for the host from a .netrc file, too.
        trust_env=False,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
    )


async def ask(
    request: Request, *, most: int, of_refusal: int = LARGEST_REFUSAL, resolver: abc.AbstractResolver | None = None
) -> Answer:
    """At most so many bytes of the answer, and one more where there are more. Raises NoAnswer."""
    try:
        async with opened(request, resolver=resolver) as response:
            if 200 <= response.status < 300:
                return Answer(response.status, response.headers, await _body(response, most))
            return await refusal(response, of_refusal)
    except FAILURES as error:
        raise NoAnswer(error) from error


async def refusal(response: aiohttp.ClientResponse, most: int = LARGEST_REFUSAL) -> Answer:
    """An answer that is not good, with at most so many bytes of its body, fewer where that breaks off."""
    said = b""
    with contextlib.suppress(*FAILURES):
        said = await _body(response, most)
    return Answer(response.status, response.headers, said[:most])


@contextlib.asynccontextmanager
async def opened(
    request: Request, *, resolver: abc.AbstractResolver | None = None
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer to a request over a connection of its own, its body yet to be read. Raises FAILURES."""
    by = proxies.of_environment(request.url, os.environ) or ""
    url = _as_written(request.url)
    host = url.raw_host or ""
    if why := resolve.check_host(host):
        raise address.NotContacted(f"{host} is {why}")
    headers = {"Accept-Encoding": "identity", "Connection": "close", **request.headers}
    timeout = aiohttp.ClientTimeout(total=request.total, connect=request.silence, sock_read=request.silence)
    of_http = None if not by or socks.is_one(by) else by
    made = _once(request.context, by, resolver)
    try:
        async with (
            session(made, timeout) as http,
            http.request(
                request.method, url, headers=headers, data=request.body, allow_redirects=False, proxy=of_http
            ) as response,
        ):
            yield response
    finally:
        for transport in made.opened:
            # TLS would wait for the server's parting words, and its loop may end before these come. A transport that is
            # gone by then has no protocol any more, which Python 3.11.2 does not expect.
            with contextlib.suppress(AttributeError):
                transport.abort()
        await asyncio.sleep(0)  # aborted transports leave with the next turn of the loop


class _Once(aiohttp.TCPConnector):
    """For one request: it knows what it opened."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.opened: list[asyncio.Transport] = []

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if connection.transport is not None:
            self.opened.append(connection.transport)
        return connection


class _OnceBySocks(_Once, socks.Connector):
    pass


def _once(context: ssl.SSLContext, by: str, resolver: abc.AbstractResolver | None) -> _Once:
    options: dict[str, Any] = {"ssl": context, "socket_factory": _only_where_allowed(None)}
    if by and socks.is_one(by):
        return _OnceBySocks(by, **options)
    return _Once(resolver=resolve.Checked(resolver), **options)


async def _body(response: aiohttp.ClientResponse, most: int) -> bytes:
    received = bytearray()
    async for part in response.content.iter_any():
        received += part
        if len(received) > most:
            break
    return bytes(received[: most + 1])


def _as_written(url: str) -> yarl.URL:
    """yarl would take `..` out of a path and decode letters in it. Raises ValueError."""
    if any(letter <= " " or letter == "\x7f" for letter in url):
        raise ValueError("a space or a control character in an address")
    return yarl.URL(url, encoded=url.isascii())


def _only_where_allowed(opens: OpensSocket | None) -> OpensSocket:
    def open_socket(place: Any) -> socket.socket:
        family, kind, protocol, _, (host, *_) = place
        if why := address.why_not(host):
            raise address.NotContacted(f"{host} is {why}")
        return opens(place) if opens is not None else socket.socket(family, kind, protocol)

    return open_socket
