"""Orders to a running fleet from another process: take a cluster away, bring it back.

A line each way over loopback: ``fail NAME`` or ``recover NAME``, then ``ok …`` or ``error …``. Where to send it stands
in the fleet's kubeconfig as an extension, so that whoever can reach the clusters can rehearse with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

Body = dict[str, Any]
Act = Callable[[str], Awaitable[str]]
"""(name of a cluster) → what became of it. LookupError for a cluster that is not there."""

EXTENSION: Final = "kubesim"


class ControlError(Exception):
    """The order was not carried out; says why."""


class Control:
    def __init__(self, acts: Mapping[str, Act]) -> None:
        self._acts = acts
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    def extension(self) -> Body | None:
        """For a kubeconfig; ``None`` while not started."""
        if self._server is None:
            return None
        return {"name": EXTENSION, "extension": {"port": self._server.sockets[0].getsockname()[1]}}

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            verb, _, name = (await reader.readline()).decode(errors="replace").strip().partition(" ")
            writer.write(f"{await self._carry_out(verb, name)}\n".encode())
            await writer.drain()
        except (ConnectionError, ValueError):  # gone again, or a line without end
            pass
        finally:
            writer.close()

    async def _carry_out(self, verb: str, name: str) -> str:
        act = self._acts.get(verb)
        if act is None:
            return f"error there is no order {verb!r}"
        try:
            return f"ok {await act(name)}"
        except LookupError as problem:
            return f"error {problem.args[0]}"


def port_of(kubeconfig: Mapping[str, Any]) -> int | None:
    """Where the fleet of a kubeconfig takes orders; ``None`` if it is not of a fleet."""
    for one in kubeconfig.get("extensions") or ():
        if one.get("name") == EXTENSION:
            return int(one["extension"]["port"])
    return None


async def order(port: int, verb: str, name: str) -> str:
    """What became of the cluster. ControlError if nothing did; OSError if the fleet has gone."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{verb} {name}\n".encode())
        await writer.drain()
        done, _, text = (await reader.readline()).decode().strip().partition(" ")
    finally:
        writer.close()
    if done != "ok":
        raise ControlError(text or "the fleet went away")
    return text
