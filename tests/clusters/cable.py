"""A network that can be cut: one TCP proxy on loopback per address, `with Cables() as cables: cables.to(port)`.

A cut cable is no refused connection. Connections stay open and nothing comes through, in neither direction; new ones
are accepted and stay silent, as when a firewall drops packets. What was under way when the cable was cut arrives when
it is mended, as TCP would send it again: also what its sender has long given up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import yaml

from tests.clusters import beside

_LOOPBACK = "127.0.0.1"
_CHUNK = 65536


class Cable:
    """The way to one port, or to several that serve the same: as with a Service of Kubernetes, each connection goes to
    the next one that takes it. `port` is this side of it."""

    def __init__(self, loop: beside.Loop, targets: Iterable[int]) -> None:
        self._loop = loop
        self.targets = list(targets)
        self._turn = 0
        self._open = asyncio.Event()
        self._open.set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.passed = 0
        """Bytes towards the server since the beginning."""
        self.port: int = loop.call(self._listen())

    def begin_with(self, target: int) -> None:
        """The next connection goes there, if it is taken."""
        self._turn = self.targets.index(target) - 1

    def cut(self) -> None:
        self._loop.call(self._switch(whole=False))

    def mend(self) -> None:
        self._loop.call(self._switch(whole=True))

    async def _switch(self, *, whole: bool) -> None:
        (self._open.set if whole else self._open.clear)()

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._connect, _LOOPBACK, 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: the one that a server starts must not be cancelled.
        carrying = asyncio.ensure_future(self._carry(reader, writer))
        self._pumps.add(carrying)
        await asyncio.wait({carrying})
        self._pumps.discard(carrying)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            await self._open.wait()
            away, there = await self._connected()
            ends.append(there)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, there, towards=True))
                group.create_task(self._pump(away, writer, towards=False))
        except* OSError:
            pass  # either side went away
        finally:
            for end in ends:
                end.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raises OSError when nobody takes it."""
        error = OSError("nobody is there")
        for _ in self.targets:
            self._turn += 1
            try:
                return await asyncio.open_connection(_LOOPBACK, self.targets[self._turn % len(self.targets)])
            except OSError as refused:
                error = refused
        raise error

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, towards: bool) -> None:
        while True:
            content = await source.read(_CHUNK)
            await self._open.wait()
            if not content:
                with contextlib.suppress(OSError):
                    sink.write_eof() if sink.can_write_eof() else sink.close()
                return
            self.passed += len(content) if towards else 0
            sink.write(content)
            await sink.drain()

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._pumps):
            task.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)


class Cables:
    """All cables of one machine."""

    def __init__(self) -> None:
        self._cables: list[Cable] = []

    def __enter__(self) -> Self:
        self._loop = beside.Loop()
        return self

    def __exit__(self, *ignored: object) -> None:
        for cable in self._cables:
            self._loop.call(cable._close())
        self._loop.close()

    def to(self, *ports: int) -> Cable:
        cable = Cable(self._loop, ports)
        self._cables.append(cable)
        return cable

    def kubeconfig(self, original: Path, path: Path) -> dict[str, Cable]:
        """Write a kubeconfig whose clusters are behind a cable each; the cables by the names of the clusters."""
        config = yaml.safe_load(original.read_text())
        found = {}
        for one in config["clusters"]:
            url = urlsplit(one["cluster"]["server"])
            assert url.port is not None
            cable = found[one["name"]] = self.to(url.port)
            one["cluster"]["server"] = f"{url.scheme}://{url.hostname}:{cable.port}"
        path.write_text(yaml.safe_dump(config))
        return found

    def cut(self) -> None:
        """All at once: this machine's own network is gone."""
        for cable in self._cables:
            cable.cut()

    def mend(self) -> None:
        for cable in self._cables:
            cable.mend()
