"""Streams between an API server and a kubelet: SPDY, in what was an HTTP connection (Kubernetes: remotecommand v4).

Whichever protocol kubectl speaks, the API server speaks this one to a node. It opens each stream with the header
`streamtype`: `stdin`, `stdout`, `stderr`, `resize`, and `error` for the Status at the end. Ports are streams, too, and
kubesim's own session reads them from the bare bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import orjson

from kubesim.containers import spdy
from kubesim.containers.streams import Session, Streams

COMMANDS = "v4.channel.k8s.io"
PORTS = "portforward.k8s.io"
_PIECE = 32 * 1024


async def ports(session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the caller has gone."""

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    await session(Streams(lambda: reader.read(65536), write, write))


async def command(
    session: Session, names: Collection[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Until the session is over or the caller has gone. `names`: the streams that the caller is going to open."""
    opened = _Opened(names, reader, writer)
    listening = asyncio.create_task(opened.listen())
    working = asyncio.create_task(opened.work(session))
    try:
        await asyncio.wait({listening, working}, return_when=asyncio.FIRST_COMPLETED)
        for task in (listening, working):
            if task.done():
                task.result()
    finally:
        for task in (listening, working):
            task.cancel()
        await asyncio.gather(listening, working, return_exceptions=True)


class _Opened:
    def __init__(
        self, names: Collection[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:  # fmt: skip
        self._expected = set(names)
        self._reader, self._writer = reader, writer
        self._wire = spdy.Wire()
        self._ids: dict[str, int] = {}
        self._complete = asyncio.Event()
        self._typed: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(self) -> None:
        while received := await self._reader.read(65536):
            for frame in self._wire.feed(received):
                await self._take(frame)

    async def _take(self, frame: spdy.Frame) -> None:
        if frame.kind == spdy.SYN_STREAM:
            self._ids[self._wire.headers(frame)["streamtype"]] = frame.stream
            await self._send(self._wire.accepted(frame.stream))
            if self._expected <= set(self._ids):
                self._complete.set()
        elif frame.kind == spdy.PING:
            await self._send(spdy.pong(frame.stream))
        elif frame.stream == self._ids.get("stdin") and frame.kind in (spdy.DATA, spdy.RST_STREAM):
            if frame.data and frame.kind == spdy.DATA:
                self._typed.put_nowait(frame.data)
            if frame.ends or frame.kind == spdy.RST_STREAM:
                self._typed.put_nowait(b"")

    async def work(self, session: Session) -> None:
        await self._complete.wait()
        status = await session(Streams(self._read, lambda data: self._print("stdout", data),
                                       lambda data: self._print("stderr", data)))  # fmt: skip
        await self._print("error", orjson.dumps(status))
        for stream in self._ids.values():
            await self._send(spdy.data(stream, b"", ends=True))

    async def _read(self) -> bytes:
        data = await self._typed.get()
        if not data:
            self._typed.put_nowait(b"")  # nothing more comes, however often it is asked for
        return data

    async def _print(self, name: str, data: bytes) -> None:
        stream = self._ids.get(name, self._ids.get("stdout"))  # a terminal has no stderr of its own
        if stream is not None:
            for at in range(0, len(data), _PIECE):
                await self._send(spdy.data(stream, data[at : at + _PIECE]))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
