"""The raw bytes after `101 Switching Protocols`: exec, attach, port-forward, and whatever else was agreed on.

What travels there is between the client and the member (WebSocket or SPDY); nothing of it is understood here. Both
connections get the same simple protocol, each of which writes what it reads to the other, and reads no faster than
the other takes it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp import web

from gitfed.edges.kube.connection.session import give_up
from gitfed.fleet_api import headers

BEGUN: web.RequestKey[bool] = web.RequestKey("tunnel", bool)
"""Of requests whose client has heard `101`."""


class Tunnelled(web.StreamResponse):
    """What a handler returns when everything was said on the connection itself."""

    def __init__(self) -> None:
        super().__init__(status=101)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        pass

    async def write_eof(self, data: bytes = b"") -> None:
        pass


async def dig(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> Tunnelled:
    """Tell the client what the member agreed to, and carry bytes until either end has enough."""
    near, far = request.transport, answer.connection.transport if answer.connection is not None else None
    if near is None or far is None:
        raise ConnectionResetError
    early = taken_early(answer)
    caller, member = _End(near, far), _End(far, near)
    try:
        near.set_protocol(caller)  # before the client hears that it may speak
        far.set_protocol(member)
        near.write(_head(answer))
        request[BEGUN] = True
        for data in early:
            near.write(data)
        near.resume_reading()
        far.resume_reading()
        await asyncio.wait({caller.over, member.over}, return_when=asyncio.FIRST_COMPLETED)
        # What one end sent last is still delivered: closing a transport sends what it holds.
        await asyncio.wait({caller.over, member.over}, timeout=_LAST_WORDS)
    finally:
        give_up(answer)
        near.abort()
    return Tunnelled()


_LAST_WORDS = 5.0
"""Seconds for them."""


def _head(answer: aiohttp.ClientResponse) -> bytes:
    upgrade = answer.headers.get("Upgrade", "")
    lines = [("Connection", "Upgrade"), ("Upgrade", upgrade), *headers.to_caller(answer.headers.items())]
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"HTTP/1.1 101 Switching Protocols\r\n{text}\r\n".encode("utf-8", "surrogateescape")


def taken_early(answer: aiohttp.ClientResponse) -> list[bytes]:
    """What came with the answer's head already; from here on the client library holds nothing back."""
    early: list[bytes] = []
    assert answer.connection is not None
    protocol = answer.connection.protocol
    assert protocol is not None
    protocol.set_parser(_Collector(early), None)
    return early


class _Collector:
    def __init__(self, parts: list[bytes]) -> None:
        self._found = parts

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        if data:
            self._found.append(bytes(data))
        return False, b""

    def feed_eof(self) -> None:
        pass


class _End(asyncio.Protocol):
    """One of two connections. Its former protocol hears when it is lost: it counts connections."""

    def __init__(self, transport: asyncio.Transport, other: asyncio.Transport) -> None:
        self._other = other
        self._former: Any = transport.get_protocol()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._other.write(data)

    def eof_received(self) -> None:
        """Neither protocol means anything by half a connection: the other end hears the same."""

    def pause_writing(self) -> None:
        """This end takes no more at present."""
        if not self._other.is_closing():
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if not self._other.is_closing():
            self._other.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._other.close()
        if not self.over.done():
            self.over.set_result(None)
        self._former.connection_lost(error)
