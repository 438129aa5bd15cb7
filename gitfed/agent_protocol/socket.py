"""A WebSocket of aiohttp, of either side and opened without `autoping`, as a `link.Socket`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import aiohttp
from aiohttp import web

from gitfed.errors import LinkCut, LinkError

_FAREWELL = 2.0


class WebSocket:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse | web.WebSocketResponse) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        await self._written(self._socket.send_bytes(data))

    async def receive(self) -> bytes | None:
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            data: bytes = message.data
            return data
        if message.type is aiohttp.WSMsgType.PING:
            await self._written(self._socket.pong(message.data))
            return None
        if message.type is aiohttp.WSMsgType.PONG:
            return None
        if message.type is aiohttp.WSMsgType.TEXT:
            raise LinkError("a frame is no binary message")
        raise LinkCut("the other side is gone")

    async def ping(self) -> None:
        await self._written(self._socket.ping())

    async def _written(self, writing: Awaitable[None]) -> None:
        try:
            await writing
        except (ConnectionError, RuntimeError, aiohttp.ClientError) as error:
            raise LinkCut("the connection is gone") from error

    async def close(self) -> None:
        with suppress(ConnectionError, RuntimeError, aiohttp.ClientError, TimeoutError):
            await asyncio.wait_for(self._socket.close(), _FAREWELL)
