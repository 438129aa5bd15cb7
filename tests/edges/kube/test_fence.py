"""Writes end with the lead: none begins after it, none goes on, and nothing that is left of one is sent later."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
from aiohttp import web

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.leases import fence as fences
from gitfed.edges.kube.leases.fence import Fence
from tests.edges.kube.answering import always, body, connection, serving

FOR_EVER = 3600.0


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(fences, "clock", time)
    monkeypatch.setattr(fences, "_STEP", 0.001)
    return time


@pytest.fixture
def fence(time: Time) -> Fence:
    made = Fence(5)
    made.extend(time.now + 10)
    return made


async def test_nothing_is_written_before_the_lead_is_won_or_after_it_has_run_out(fence: Fence, time: Time) -> None:
    async with serving(always(lambda: body({}))) as server, server.session(fence=fence) as session:
        await session.request("PATCH", "/x", body={})
        time.now += 10
        with pytest.raises(errors.NotOwned, match=r"^cluster m1: not written: this daemon's lead has run out$"):
            await session.request("PATCH", "/x", body={})
        assert [one.method for one in server.asked] == ["PATCH"]
        assert (await session.request("GET", "/x")).status == 200, "looking harms nobody"
    async with serving(always(lambda: body({}))) as server, server.session(fence=Fence(5)) as session:
        with pytest.raises(errors.NotOwned):
            await session.request("DELETE", "/x")
        assert server.asked == []


async def test_a_write_under_way_when_the_lead_ends_is_cut_off(fence: Fence, time: Time) -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def slowly(request: web.Request) -> web.Response:
        arrived.set()
        while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        gone.set()
        return body({})

    async with serving(slowly) as server, server.session(fence=fence) as session:
        writing = asyncio.create_task(session.request("PATCH", "/x", body={}))
        await arrived.wait()
        time.now += 10
        with pytest.raises(errors.NotOwned, match="given up on its way: this daemon's lead has run out"):
            await writing
        await gone.wait()


async def test_a_write_goes_on_as_long_as_the_lead_is_renewed(fence: Fence, time: Time) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(request: web.Request) -> web.Response:
        arrived.set()
        await go_on.wait()
        return body({})

    async with serving(slowly) as server, server.session(fence=fence) as session:
        writing = asyncio.create_task(session.request("PATCH", "/x", body={}))
        await arrived.wait()
        for _ in range(5):
            time.now += 9
            fence.extend(time.now + 10)
            await asyncio.sleep(0.002)
        go_on.set()
        assert (await writing).status == 200


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("how", ["the lead runs out", "somebody else leads"])
async def test_what_has_not_reached_the_server_by_then_is_never_sent(fence: Fence, time: Time, how: str) -> None:
    """The network stands still in the middle of a large write, and is mended when somebody else leads."""
    size = 16 << 20  # more than a kernel keeps
    received = 0
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        loop = asyncio.get_running_loop()
        async with Session("m1", connection(url), fence=fence) as session:
            writing = asyncio.create_task(session.request("PATCH", "/x", body=b"x" * size))
            accepted, _ = await loop.sock_accept(listening)
            with accepted:
                accepted.setblocking(False)
                received += len(await loop.sock_recv(accepted, 1))
                if how == "somebody else leads":
                    fence.close()
                    writing.cancel()
                else:
                    time.now += 10
                with pytest.raises((errors.NotOwned, asyncio.CancelledError)):
                    await writing
                with contextlib.suppress(ConnectionResetError):
                    # Until it is reset. Without that the rest comes, and after it nothing at all.
                    while received < size and (part := await loop.sock_recv(accepted, 1 << 20)):
                        received += len(part)
    assert received < size


def test_a_kernel_goes_on_with_a_write_no_longer_than_until_somebody_else_may_lead() -> None:
    address = socket.getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)[0]
    with Fence(5).open_socket(address) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == fences._DROP_ON_CLOSE
