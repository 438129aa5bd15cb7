"""A SOCKS5 proxy of a few lines."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Socks:
    """RFC 1928 and 1929, for CONNECT. `to`: where every name leads; `reply`: what is answered instead."""

    to: int
    password: str = ""
    reply: int = 0
    address: str = ""
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            _, methods = await reader.readexactly(2)
            offered = await reader.readexactly(methods)
            if self.password:
                writer.write(b"\x05\x02" if 2 in offered else b"\x05\xff")
                _, length = await reader.readexactly(2)
                user = await reader.readexactly(length)
                password = await reader.readexactly((await reader.readexactly(1))[0])
                good = (user, password) == (b"u", self.password.encode())
                writer.write(b"\x01\x00" if good else b"\x01\x01")
            else:
                writer.write(b"\x05\x00")
            kind = (await reader.readexactly(4))[3]
            if kind == 3:
                host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            else:
                host = socket.inet_ntoa(await reader.readexactly(4))
            (port,) = struct.unpack(">H", await reader.readexactly(2))
            self.asked.append(f"{host}:{port}")
            writer.write(bytes([5, self.reply, 0, 1, 127, 0, 0, 1, 0, 0]))
            if not self.reply:
                there, back = await asyncio.open_connection("127.0.0.1", self.to)
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
        writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()


@contextlib.asynccontextmanager
async def proxying(to: str, **options: object) -> AsyncIterator[Socks]:
    proxy = Socks(int(to.rpartition(":")[2]), **options)  # type: ignore[arg-type]
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
