"""Agents that mean harm, or have gone wrong: more connections, and more messages, than any honest one has."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import aiohttp

from gitfed.agent_protocol import frames
from gitfed.hub.listener import ConnectionLimits
from tests.agent.site import Site as Place
from tests.hub.doors import pulled
from tests.hub.enrolment.site import Site, registered
from tests.hub.stage import EVERYWHERE, Staged, get, snapshot, staged, until
from tests.support import patience

DOOR = "/agents/v1/connection"
NO_FLEET: Any = None
"""The clusters are not looked into."""


async def opened(http: aiohttp.ClientSession, hub: Staged, who: Site) -> aiohttp.ClientWebSocketResponse:
    return await http.ws_connect(hub.url + DOOR, ssl=hub.context(who.file()), autoping=False)


async def test_an_agent_with_many_connections_takes_no_place_of_others(tmp_path: Path) -> None:
    limits = ConnectionLimits(connections=64)  # half of them for one address
    async with staged(tmp_path, options=EVERYWHERE, limits=limits) as hub, aiohttp.ClientSession() as http:
        one, other = await registered(hub, "m1", tmp_path), await registered(hub, "m2", tmp_path)
        refused = []
        sockets = []
        for _ in range(20):
            try:
                sockets.append(await opened(http, hub, one))
            except aiohttp.WSServerHandshakeError as error:
                refused.append(error.status)
        assert (len(sockets), set(refused)) == (8, {429})
        assert await get(hub, "/livez") == (200, "ok\n")
        await (await opened(http, hub, other)).close()
        await sockets.pop().close()

        async def again() -> bool:
            with contextlib.suppress(aiohttp.WSServerHandshakeError):
                sockets.append(await opened(http, hub, one))
            return len(sockets) == 8

        async with asyncio.timeout(patience.SECONDS):
            while not await again():
                pass


async def test_an_agent_that_floods_its_connection_keeps_nobody_waiting(tmp_path: Path) -> None:
    place = Place(NO_FLEET, "m1")
    try:
        async with staged(tmp_path, options=EVERYWHERE) as hub, aiohttp.ClientSession() as http:
            agent = await registered(hub, "m1", tmp_path)
            hub.hub.running.recorded.repo = snapshot(pulled.cluster("m1"))
            member = place.hub()
            pulled.lead(hub, member)
            socket = await opened(http, hub, agent)
            await socket.send_bytes(frames.encode(frames.Hello(frames.OLDEST, frames.NEWEST, "i", "p", ())))
            await until(lambda: member.agent.connected)

            async def flood() -> None:
                while True:
                    await socket.ping(b"x" * 125)

            async def take() -> None:
                while (await socket.receive()).type in (aiohttp.WSMsgType.PONG, aiohttp.WSMsgType.BINARY):
                    pass

            flooding = [asyncio.create_task(flood()), asyncio.create_task(take())]
            try:
                for _ in range(20):
                    assert (await get(hub, "/agents/v1/authority"))[0] == 200
                assert not any(task.done() for task in flooding), "it went on meanwhile"
            finally:
                for task in flooding:
                    task.cancel()
                await asyncio.gather(*flooding, return_exceptions=True)
    finally:
        await place.close()
