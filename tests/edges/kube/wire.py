"""A cable between gitfed and a cluster that a test can cut, and that counts what goes through."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit


class Cable:
    """Forwards bytes to a server. `cut` breaks every connection and refuses new ones until `mend`."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._scheme, self._host, self._port = parts.scheme, parts.hostname or "", parts.port or 443
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"{self._scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._is_cut = True
        for writer in list(self._open):
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writers = [writer]
        try:
            if self._is_cut:
                writer.transport.abort()
                return
            there_reader, there = await asyncio.open_connection(self._host, self._port)
            writers.append(there)
            self._open.update(writers)
            await asyncio.gather(self._pump(reader, there), self._pump(there_reader, writer))
        finally:
            self._open.difference_update(writers)
            for each in writers:
                each.transport.abort()
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks)
        await self._server.wait_closed()


@contextlib.asynccontextmanager
async def cable(server: str) -> AsyncIterator[Cable]:
    between = Cable(server)
    await between.start()
    try:
        yield between
    finally:
        await between.stop()
