"""A WebSocket of aiohttp, of either side, as a `link.Socket`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp
from aiohttp import web

from gitfed.errors import LinkCut, LinkError

_FAREWELL = 2.0


class WebSocket:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse | web.WebSocketResponse) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except (ConnectionError, RuntimeError, aiohttp.ClientError) as error:
            raise LinkCut("the connection is gone") from error

    async def receive(self) -> bytes:
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            data: bytes = message.data
            return data
        if message.type is aiohttp.WSMsgType.TEXT:
            raise LinkError("a frame is no binary message")
        raise LinkCut("the other side is gone")

    async def close(self) -> None:
        with suppress(ConnectionError, RuntimeError, aiohttp.ClientError, TimeoutError):
            await asyncio.wait_for(self._socket.close(), _FAREWELL)
