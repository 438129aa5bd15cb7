"""Several streams over one WebSocket: the first byte of a message tells which (Kubernetes: remotecommand, v4 and v5).

0 what is typed · 1 what is printed · 2 complaints · 3 the Status at the end · 4 the size of the terminal · 255 (v5)
the client closes the stream named by the next byte
"""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from aiohttp import WSMsgType, web

from kubesim.containers.streams import Session, Streams

TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io", TUNNEL)
_TYPED, _PRINTED, _COMPLAINTS, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_PIECE: Final = 32 * 1024
_START: Final = 0.1
"""Seconds until a session begins. A container runtime takes longer to start a command, and kubectl drops what comes
before it has opened its own end of each stream."""


async def serve(raw: web.BaseRequest, session: Session) -> web.StreamResponse:
    """Until the session is done or the client has gone."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=0)
    await socket.prepare(raw)
    typed: asyncio.Queue[bytes] = asyncio.Queue()

    async def read() -> bytes:
        data = await typed.get()
        if not data:
            typed.put_nowait(b"")  # nothing more comes, however often it is asked for
        return data

    async def write(channel: int, data: bytes) -> None:
        if socket.ws_protocol == TUNNEL:
            await socket.send_bytes(data)
            return
        for at in range(0, len(data), _PIECE):
            await socket.send_bytes(bytes([channel]) + data[at : at + _PIECE])

    async def listen() -> None:
        async for message in socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            if socket.ws_protocol == TUNNEL:
                typed.put_nowait(message.data)
                continue
            channel, data = message.data[0], message.data[1:]
            if channel == _TYPED and data:
                typed.put_nowait(data)
            elif channel == _CLOSE and data[:1] == bytes([_TYPED]):
                typed.put_nowait(b"")

    async def work() -> None:
        streams = Streams(read, lambda data: write(_PRINTED, data), lambda data: write(_COMPLAINTS, data))
        if socket.ws_protocol != TUNNEL:
            await asyncio.sleep(_START)
        status = await session(streams)
        if socket.ws_protocol != TUNNEL:
            await write(_STATUS, orjson.dumps(status))
        await socket.close()

    tasks = [asyncio.create_task(listen()), asyncio.create_task(work())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return socket
