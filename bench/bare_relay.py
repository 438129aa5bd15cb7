"""A process between clients and a member that does nothing but pass bytes on, for `bench.doors`: what a way through one
more process costs on this machine at this time, whatever that process does. `python -m bench.bare_relay FOLDER PORT`
writes its URL there.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


class _End(asyncio.Protocol):
    """One of two connections; what it reads the other writes."""

    def __init__(self, other: _End | None = None) -> None:
        self.transport: asyncio.Transport | None = None
        self.other = other
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.other is None or self.other.transport is None:
            self.early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


async def main(folder: Path, member: int) -> None:
    loop = asyncio.get_running_loop()
    dialling: set[asyncio.Task[None]] = set()

    async def dial(near: _End) -> None:
        _, far = await loop.create_connection(lambda: _End(near), "127.0.0.1", member)
        near.other = far
        assert far.transport is not None
        for data in near.early:
            far.transport.write(data)

    def accepted() -> _End:
        near = _End()
        task = loop.create_task(dial(near))
        dialling.add(task)
        task.add_done_callback(dialling.discard)
        return near

    server = await loop.create_server(accepted, "127.0.0.1", 0, backlog=256)
    made = folder / "made-relay"
    made.write_text(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    made.rename(folder / "relay-url")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
