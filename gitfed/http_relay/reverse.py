"""Connections on which the side that accepted asks, and the side that dialled answers.

A pulled cluster cannot be dialled, so its agent dials the hub and upgrades (`PROTOCOL`). From then on the connection
carries HTTP/1.1 the other way round: the hub is the client of aiohttp there, by a `Connector` that opens nothing but
asks for a `Stream`, and the agent the server, by `Answering`. Everything that is built on HTTP works on it as on a
connection that was dialled: one request after the other, answers without end, and upgrades.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.client_proto import ResponseHandler
from aiohttp.web_protocol import RequestHandler

from gitfed.http_relay import passing

PROTOCOL = "gitfed-stream"
"""What the dialling side upgrades to."""
KEY = "Gitfed-Stream"
"""The header with which it says what it was asked for."""
MOST = 32
"""Streams of one cluster at a time: of all that goes on in it, one caller or many."""
_ENDS = 2.0
_NO_LOG: dict[str, Any] = {"access_log": None}
_MOST_HEADERS = 1024
"""Of a request: those of a caller, and one for each group that they are in."""
_LARGEST_FIELD = 64 << 10


class Stream(ResponseHandler):
    """The asking end. The protocol that accepted the connection hears when it is lost: it counts connections."""

    def __init__(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(loop)
        self._former: Any = transport.get_protocol()
        self._accepted = transport
        self.over: asyncio.Future[None] = loop.create_future()
        transport.set_protocol(self)
        self.connection_made(transport)
        passing.keep_alive(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        _settle(self.over)
        super().connection_lost(exc)
        self._former.connection_lost(exc)

    def give_up(self) -> None:
        self._accepted.abort()


class Connector(aiohttp.BaseConnector):
    """Connections that an agent dials back when `dial` asks for one. Raises what it raises."""

    def __init__(self, dial: Callable[[], Awaitable[Stream]]) -> None:
        super().__init__(limit=0)
        self._dial = dial

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> ResponseHandler:
        return await self._dial()


class Answering:
    """The answering end: `take` a connection on which the other side has agreed to the upgrade."""

    def __init__(self, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        # A caller may leave before there is an answer: a watch of what does not change has none for hours.
        self._server = web.Server(answer, handler_cancellation=True)

    async def take(self, transport: asyncio.Transport, early: list[bytes]) -> None:
        """Answer what is asked until the connection ends. `early`: what was read of it already."""
        served = _Served(self._server, transport)
        try:
            transport.set_protocol(served)
            served.connection_made(transport)
            passing.keep_alive(transport)
            for data in early:
                served.data_received(data)
            transport.resume_reading()
            await asyncio.wait({served.over})
        finally:
            transport.abort()
            await asyncio.wait({served.over}, timeout=_ENDS)


class _Served(RequestHandler):
    __slots__ = ("_former", "over")

    def __init__(self, server: web.Server, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=loop,
            auto_decompress=False,
            max_headers=_MOST_HEADERS,
            max_field_size=_LARGEST_FIELD,
            max_line_size=_LARGEST_FIELD,
            **_NO_LOG,
        )
        self._former: Any = transport.get_protocol()
        self.over: asyncio.Future[None] = loop.create_future()

    def connection_lost(self, exc: BaseException | None) -> None:
        _settle(self.over)
        super().connection_lost(exc)
        self._former.connection_lost(exc)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
