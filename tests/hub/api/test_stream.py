"""Server-sent events: for whom they are, where they go on, and how they end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Right
from gitfed.hub.api.feed import Feed
from gitfed.hub.api.stream import StreamLimits, Streams
from gitfed.hub.routes import Capability, Route
from gitfed.hub.running import Running
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change
from tests.hub import fleet
from tests.hub.stage import Staged, ask, snapshot, staged, until
from tests.support import patience

NAMES = ("ann", "bob", "eve")
SHOP = (fleet.workload("shop", "web"), fleet.workload("bank", "ledger"))


def _done(running: Running, cluster: str, namespace: str, name: str = "web") -> None:
    key = ObjectKey("apps", "Deployment", namespace, name)
    change = Change(cluster, key, "apps/v1", Action.UPDATE)
    running.heard("result", (change, ApplyResult(cluster, key, "configured")))


class Stage:
    def __init__(self, hub: Staged, running: Running, feed: Feed, streams: Streams) -> None:
        self.hub, self.running, self.feed, self.streams = hub, running, feed, streams


@contextlib.asynccontextmanager
async def _stage(folder: Path, *, most: int = 2000, **limits: Any) -> AsyncIterator[Stage]:
    """A hub with a second stream, at /events, whose limits are small."""
    running = Running(fleet.planned(*SHOP))
    feeds: list[Feed] = []

    async def handle(request: Any) -> Any:
        return await streams[0].handle(request)

    feeds.append(Feed(running, most=most, beat=0.01))
    streams: list[Streams] = []
    more = Capability((Route("GET", "/events", handle, needs=Right.VIEW, lasting=True),), services=(feeds[0].run,))
    async with staged(folder, names=NAMES, running=running, more=[more]) as hub:
        streams.append(Streams(hub.hub, feeds[0], StreamLimits(**{"heartbeat": 0.05, **limits})))
        await until(lambda: feeds[0].newest > 0)
        yield Stage(hub, running, feeds[0], streams[0])


class Reader:
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def event(self) -> dict[str, str]:
        """The next one that is no comment."""
        found: dict[str, str] = {}
        async with asyncio.timeout(patience.SECONDS):
            while True:
                line = (await self._answer.content.readline()).decode().rstrip("\n")
                if not line and "event" in found:
                    return found
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    found[name] = value
                assert line or not self._answer.content.at_eof(), "the stream has ended"

    async def data(self) -> Any:
        return json.loads((await self.event())["data"])


@contextlib.asynccontextmanager
async def _reading(stage: Stage, token: str, *, path: str = "/events", **headers: str) -> AsyncIterator[Reader]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            stage.hub.url + path, headers={**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        ) as answer,
    ):
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        yield Reader(answer)


async def test_a_reader_hears_of_what_they_may_see(tmp_path: Path) -> None:
    async with _stage(tmp_path) as stage, _reading(stage, "bob") as bob, _reading(stage, "ann") as ann:
        _done(stage.running, "us-1", "shop")
        _done(stage.running, "eu-1", "bank", "ledger")
        stage.running.heard("source-error", "no route to git.example")
        _done(stage.running, "eu-1", "shop")
        assert [(await ann.data()).get("namespace") for _ in range(4)] == ["shop", "bank", None, "shop"]
        found = await bob.event()
        assert found["event"] == "result"
        assert json.loads(found["data"]) == {
            "cluster": "eu-1", "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web",
            "action": "update", "outcome": "configured", "message": "",
        }  # fmt: skip


async def test_a_reader_who_comes_back_misses_nothing(tmp_path: Path) -> None:
    async with _stage(tmp_path) as stage:
        async with _reading(stage, "ann") as ann:
            _done(stage.running, "eu-1", "shop", "a")
            last = (await ann.event())["id"]
        _done(stage.running, "eu-1", "shop", "b")
        _done(stage.running, "eu-1", "shop", "c")
        async with _reading(stage, "ann", **{"Last-Event-ID": last}) as ann:
            assert [(await ann.data())["name"] for _ in range(2)] == ["b", "c"]


@pytest.mark.parametrize("last", ["0", "x-1", "{life}-999999", "{life}-1", "{life}--1", "{life}-٣", "\t"])
async def test_whose_place_is_lost_is_told_to_read_anew(tmp_path: Path, last: str) -> None:
    async with _stage(tmp_path, most=3) as stage:
        for _ in range(5):
            _done(stage.running, "eu-1", "shop")
        life = stage.feed.name(0).partition("-")[0]
        header = last.format(life=life).encode().decode("latin-1")
        async with _reading(stage, "ann", **{"Last-Event-ID": header}) as ann:
            _done(stage.running, "eu-1", "shop", "next")
            if header.strip():
                assert (await ann.event())["event"] == "resync"
            assert (await ann.data())["name"] == "next"


async def test_a_reader_who_is_too_slow_is_told_so_and_dropped(tmp_path: Path) -> None:
    async with _stage(tmp_path, most=3) as stage, _reading(stage, "ann") as ann:
        for _ in range(50):  # before the stream has a turn
            _done(stage.running, "eu-1", "shop")
        assert await ann.event() == {"retry": "3000", "event": "end", "data": '{"reason":"slow"}'}


async def test_a_reader_who_takes_nothing_is_dropped(tmp_path: Path) -> None:
    async with _stage(tmp_path, most=100_000, patience=0.2) as stage:
        connection = socket.create_connection(("127.0.0.1", stage.hub.port))
        with contextlib.closing(connection):
            connection.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n\r\n")
            await until(lambda: stage.streams.open == 1)
            for number in range(60_000):
                _done(stage.running, "eu-1", "shop", f"w{number}-{'x' * 200}")
            await until(lambda: stage.streams.open == 0)


async def test_the_end_of_a_session_ends_its_stream(tmp_path: Path) -> None:
    async with _stage(tmp_path) as stage:
        session = stage.hub.hub.sessions.begin(Caller("ann"))
        async with _reading(stage, "", Cookie=f"gitfed-session={session}") as ann:
            stage.hub.hub.sessions.end(session)
            assert json.loads((await ann.event())["data"]) == {"reason": "expired"}


async def test_the_end_of_a_right_ends_the_stream(tmp_path: Path) -> None:
    async with _stage(tmp_path) as stage, _reading(stage, "bob") as bob:
        stage.running.recorded.repo = snapshot(fleet.ADMIN, *fleet.CLUSTERS)  # type: ignore[union-attr, misc]
        assert json.loads((await bob.event())["data"]) == {"reason": "denied"}


async def test_a_new_plan_and_a_cluster_that_fails_are_told(tmp_path: Path) -> None:
    async with _stage(tmp_path) as stage, _reading(stage, "ann", path="/events?cluster=eu-1") as ann:
        found = fleet.planned(*SHOP, fleet.workload("shop", "new"))
        found.facts = {"eu-1": stage.running.facts["eu-1"]}
        stage.running.recorded = found
        event = await ann.event()
        assert (event["event"], json.loads(event["data"])["digest"]) == (
            "plan",
            found.plan.digest if found.plan else "",
        )
        found.facts = {}
        assert await ann.data() == {"name": "eu-1", "state": "Gone"}


async def test_one_caller_has_so_many_streams(tmp_path: Path) -> None:
    async with _stage(tmp_path, per_caller=1) as stage:
        async with _reading(stage, "ann"), _reading(stage, "bob"):
            assert (await ask(stage.hub, "GET", "/events", token="ann"))[0] == 429
        await until(lambda: stage.hub.hub.listener is not None and stage.hub.hub.listener.open == 0)


async def test_what_a_stream_is_not_asked_for(tmp_path: Path) -> None:
    async with staged(tmp_path, names=NAMES, running=Running(fleet.planned(*SHOP))) as hub:
        for path, headers, status in (
            ("?watch=true", {}, 400), ("?cluster=a&cluster=b", {}, 400), ("", {"Accept": "application/json"}, 406),
        ):  # fmt: skip
            assert (await ask(hub, "GET", f"/api/v1/events{path}", token="ann", headers=headers))[0] == status
