"""How two sides that have nothing to say know of each other, over a real WebSocket."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from gitfed.agent_protocol import frames
from gitfed.agent_protocol.link import Link, LinkHandlers, SignsOfLife
from gitfed.agent_protocol.replica import Heard, Told
from gitfed.agent_protocol.socket import WebSocket
from gitfed.errors import LinkCut, LinkError
from tests.support import patience

LEASE = 2.0
_ENOUGH = 6
"""Signs of life, of four in a lease."""


class _Counting(WebSocket):
    def __init__(self, socket: Any) -> None:
        super().__init__(socket)
        self.sent: list[bytes] = []

    async def send(self, data: bytes) -> None:
        self.sent.append(data)
        await super().send(data)


async def _asked(what: str, about: Any) -> Any:
    raise LinkError("nothing is asked")


IDLE = LinkHandlers(lambda change: None, _asked)


@asynccontextmanager
async def sockets() -> AsyncIterator[tuple[_Counting, _Counting]]:
    """The hub's end and the agent's."""
    opened: asyncio.Future[_Counting] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def door(request: web.Request) -> web.StreamResponse:
        answer = web.WebSocketResponse(autoping=False)
        await answer.prepare(request)
        opened.set_result(_Counting(answer))
        await over.wait()
        return answer

    app = web.Application()
    app.router.add_get("/", door)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with aiohttp.ClientSession() as session:
            dialled = await session.ws_connect(f"http://127.0.0.1:{runner.addresses[0][1]}/", autoping=False)
            yield await opened, _Counting(dialled)
            over.set()
            await dialled.close()
    finally:
        await runner.cleanup()


def a_link(socket: WebSocket, life: SignsOfLife, alive: asyncio.Semaphore) -> Link:
    """`alive` is released for each sign of life of the other side."""
    return Link(socket, Told(), Heard(), replace(IDLE, alive=alive.release), lease=LEASE, life=life)


async def _ended(task: asyncio.Task[None]) -> LinkError:
    done, _ = await asyncio.wait({task}, timeout=patience.SECONDS)
    assert done
    error = task.exception()
    assert isinstance(error, LinkError)
    return error


@pytest.mark.parametrize(
    ("version", "messages"),
    [pytest.param(frames.PINGS, False, id="pings"), pytest.param(frames.PINGS - 1, True, id="the version before")],
)
async def test_an_idle_connection_lives_and_carries_no_message(version: int, messages: bool) -> None:
    async with sockets() as both:
        lives = [SignsOfLife.of(version, agent=agent) for agent in (False, True)]
        alive = [asyncio.Semaphore(0) for _ in both]
        links = [a_link(*one) for one in zip(both, lives, alive, strict=True)]
        tasks = [asyncio.create_task(one.run()) for one in links]
        for _ in range(_ENOUGH):
            for one in alive:
                await asyncio.wait_for(one.acquire(), patience.SECONDS)
        assert not any(one.done() for one in tasks)
        assert any(one.sent for one in both) is messages
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_hub_that_answers_no_ping_is_gone_after_a_lease() -> None:
    async with sockets() as (_, there):
        error = await _ended(asyncio.create_task(a_link(there, SignsOfLife.PINGS, asyncio.Semaphore(0)).run()))
    assert isinstance(error, LinkCut)
    assert str(error) == "no sign of life for 2 s"


async def test_an_agent_that_pings_no_more_is_gone_after_a_lease() -> None:
    async with sockets() as (here, _):
        error = await _ended(asyncio.create_task(a_link(here, SignsOfLife.ANSWERS, asyncio.Semaphore(0)).run()))
    assert isinstance(error, LinkCut)
    assert str(error) == "no sign of life for 2 s"


class _Told(Told):
    def __init__(self) -> None:
        super().__init__()
        self.over = asyncio.Event()

    def acknowledged(self, number: int) -> None:
        super().acknowledged(number)
        self.over.set()


def _frames() -> list[object]:
    return [one for one in gc.get_objects() if type(one) in (frames.Put, frames.Ack)]


async def test_of_what_was_said_nothing_stays_with_links_that_wait() -> None:
    before = _frames()  # of other tests
    async with sockets() as (here, there):
        told, heard, came = _Told(), Heard(), asyncio.Event()
        told.connect(heard.connect())
        links = [
            Link(here, told, Heard(), IDLE, lease=LEASE, life=SignsOfLife.ANSWERS),
            Link(
                there, Told(), heard, replace(IDLE, change=lambda change: came.set()), lease=LEASE,
                life=SignsOfLife.PINGS,
            ),
        ]  # fmt: skip
        tasks = [asyncio.create_task(one.run()) for one in links]
        told.put("object/a", {"status": {"replicas": 1}})
        links[0].poke()
        await asyncio.wait_for(came.wait(), patience.SECONDS)
        await asyncio.wait_for(told.over.wait(), patience.SECONDS)
        assert len(_frames()) == len(before)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Stuck:
    """The other side lives, and reads nothing."""

    async def send(self, data: bytes) -> None:
        await asyncio.Event().wait()

    async def receive(self) -> bytes | None:
        await asyncio.sleep(LEASE / 20)
        return None

    async def ping(self) -> None: ...
    async def close(self) -> None: ...


async def test_a_side_that_reads_nothing_is_gone_after_a_lease_however_alive_it_is() -> None:
    told = Told()
    told.connect(())
    told.put("a", 1)
    link = Link(_Stuck(), told, Heard(), IDLE, lease=LEASE, life=SignsOfLife.ANSWERS)
    error = await _ended(asyncio.create_task(link.run()))
    assert isinstance(error, LinkCut)
    assert str(error) == "nothing could be sent for 2 s"
