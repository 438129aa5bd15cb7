"""A watch of the fleet whose client is slow: members wait for it within bounds, and it is cut off."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gitfed.errors import ClusterUnreachable
from gitfed.fleet_api import versions
from gitfed.fleet_api.event_text import EventTexts
from gitfed.fleet_api.watching import Merged
from gitfed.hub.doors import watch
from tests.hub import stage
from tests.hub.doors import members
from tests.support import patience

MAPS = members.fleet_door("/api/v1/namespaces/shop/configmaps")


def line(version: int, size: int = 0) -> bytes:
    body = {"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": str(version)}, "data": {"x": "x" * size}}
    return json.dumps({"type": "MODIFIED", "object": body}).encode()


class Stream:
    """Of a member: as many lines as are read, or those that are given and then its end."""

    def __init__(self, cluster: str, lines: list[bytes] | None = None, *, broken: bool = False) -> None:
        self.cluster = cluster
        self.read = 0
        """Bytes."""
        self._lines = lines
        self._broken = broken

    async def parts(self, answer: object) -> AsyncIterator[list[bytes]]:
        for one in self._lines or ():
            yield [one]
        if self._broken:
            raise ClusterUnreachable("gone", cluster=self.cluster)
        while self._lines is None:
            self.read += len(line(self.read, 9_000))
            yield [line(self.read, 9_000)]
            await asyncio.sleep(0)

    def opened(self, *first: bytes) -> Any:
        return watch._Stream(self, None, list(first))  # type: ignore[arg-type]


class Client(web.StreamResponse):
    def __init__(self, *, takes: bool) -> None:
        super().__init__()
        self.told = b""
        self._takes = takes

    async def write(self, data: Any) -> None:
        self.told += data
        if not self._takes:
            await asyncio.Event().wait()


async def follow(client: Client, *streams: Any) -> None:
    names = [one.session.cluster for one in streams]
    ends = asyncio.create_task(asyncio.Event().wait())
    try:
        pouring = watch._Pouring(Merged(names, "", EventTexts()))
        await pouring.follow(client, list(streams), ends)  # type: ignore[arg-type]
    finally:
        ends.cancel()


async def test_members_are_read_no_further_than_a_client_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_STALLED", 0.3)
    streams = [Stream(f"m{number}") for number in range(5)]
    with pytest.raises(TimeoutError):
        await follow(Client(takes=False), *(one.opened() for one in streams))
    # What was written, what is written next, and a part of each that waits for its turn.
    assert sum(one.read for one in streams) < 2 * watch._TOGETHER + 3 * 5 * 10_000


@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broken"])
async def test_what_was_told_before_the_end_of_a_stream_is_still_written(broken: bool) -> None:
    client = Client(takes=True)
    await follow(client, Stream("m1", [line(5), line(6)], broken=broken).opened(line(4)), Stream("m2").opened())
    found = [json.loads(one)["object"]["metadata"]["resourceVersion"] for one in client.told.splitlines()]
    assert [version for one in found if "m2" not in (version := versions.decode(one))] == [
        {"m1": "4"}, {"m1": "5"}, {"m1": "6"},
    ]  # fmt: skip


async def test_nothing_follows_an_error() -> None:
    client = Client(takes=True)
    gone = b'{"type":"ERROR","object":{"kind":"Status","code":410}}'
    await follow(client, Stream("m1", [line(5), gone, line(6)]).opened(), Stream("m2").opened())
    assert json.loads(client.told.splitlines()[-1])["type"] == "ERROR"
    assert client.told.count(b"ERROR") == 1


async def test_a_client_that_takes_nothing_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "_STALLED", 0.3)

    async def serve(member: members.Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        version = 4
        while True:
            version += 1
            text = line(version, 50_000) + b"\n"
            writer.write(b"%x\r\n%b\r\n" % (len(text), text))
            await writer.drain()

    async with members.exact(tmp_path, serve) as (staged, member):
        reader, writer = await asyncio.open_connection("127.0.0.1", staged.port, limit=1000)
        asked = f"{MAPS}?watch=true&resourceVersion={versions.encode({'m1': '4'})}"
        with caplog.at_level(logging.INFO, "gitfed.hub.doors.watch"):
            writer.write(f"GET {asked} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ann\r\n\r\n".encode())
            async with asyncio.timeout(patience.SECONDS):
                await member.ended.wait()  # the hub gives up the member's stream, too
        metric = next(one for one in staged.hub.metrics if one.name == "gitfed_proxy_watches_cut_off_total")
        assert list(metric.read()) == [((), 1.0)]
        async with asyncio.timeout(patience.SECONDS):
            assert not (await reader.read()).endswith(b"\r\n0\r\n\r\n")  # it did not end as an answer does
        writer.close()
    said = [one for one in caplog.records if one.name == "gitfed.hub.doors.watch"]
    assert [(one.getMessage(), getattr(one, "who", "")) for one in said] == [
        ("a watch was cut off: its client takes nothing", "ann")
    ]


async def test_what_was_written_for_all_is_forgotten_once_nobody_watches(tmp_path: Path) -> None:
    async def serve(member: members.Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        text = line(5) + b"\n"
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(text), text))

    made: list[EventTexts] = []

    class Kept(EventTexts):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(watch, "EventTexts", Kept)
        async with members.exact(tmp_path, serve) as (staged, _):
            asked = f"{MAPS}?watch=true&resourceVersion={versions.encode({'m1': '4'})}"
            _, text = await stage.get(staged, asked, token="ann")
    assert json.loads(text)["object"]["metadata"]["name"] == "a"
    assert [one.written for one in made] == [1, 0]
