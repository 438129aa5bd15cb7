"""List, watch, and again: what a follower is told when the server forgets, ends, refuses or lies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Body
from tests.edges.kube.answering import Server, body, connection, serving
from tests.support import patience


class Told:
    def __init__(self) -> None:
        self.news: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def listed(self, items: list[Body], version: str) -> None:
        self.news.put_nowait(("listed", [item["metadata"]["name"] for item in items]))

    def event(self, kind: str, body: Body) -> None:
        self.news.put_nowait((kind, body["metadata"]["name"]))

    def resumed(self) -> None:
        self.news.put_nowait(("resumed", ""))

    def lost(self, error: errors.GitfedError) -> None:
        self.news.put_nowait(("lost", type(error).__name__))

    async def next(self) -> tuple[str, Any]:
        async with asyncio.timeout(patience.SECONDS):
            return await self.news.get()


Watch = Callable[[web.Request, web.StreamResponse], Any]


def named(name: str, version: int) -> dict[str, Any]:
    return {"kind": "X", "metadata": {"name": name, "resourceVersion": str(version)}}


def event(kind: str, value: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": value}) + b"\n"


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@asynccontextmanager
async def following(lists: list[Any], watches: list[Any], **options: Any) -> AsyncIterator[tuple[Told, Server]]:
    """A server that answers these lists and watches, one after the other, the last one for ever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = watches if request.query.get("watch") else lists
        value = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(value, web.Response):
            return web.Response(status=value.status, body=value.body, content_type=value.content_type)
        if found is lists:
            return body(value)
        response = web.StreamResponse()
        await response.prepare(request)
        for line in value:
            if line is None:
                await asyncio.Event().wait()
            if line == b"cut":
                assert request.transport is not None
                request.transport.abort()
                break
            await response.write(line)
        return response

    told = Told()
    async with serving(answer) as server, server.session() as session:
        wake = reflect.Wake()
        task = asyncio.create_task(
            reflect.follow(
                session,
                reflect.Collection("/api/v1/x", "a=b"),
                told,
                wake=wake,
                **{"backoff": Backoff((0.0,)), **options},
            )
        )
        try:
            yield told, server
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def listing(*names: str, version: int = 5, **metadata: Any) -> dict[str, Any]:
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return {
        "kind": "XList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version), **metadata},
        "items": items,
    }


async def test_a_list_then_what_changes() -> None:
    stream = [event("ADDED", named("b", 6)), event("BOOKMARK", named("", 9)), event("DELETED", named("a", 10)), None]
    async with following([listing("a")], [stream]) as (told, server):
        assert [await told.next() for _ in range(3)] == [("listed", ["a"]), ("ADDED", "b"), ("DELETED", "a")]
        watch = dict(server.asked[1].query)
        assert 300 <= int(watch.pop("timeoutSeconds")) <= 450
        assert watch == {
            "labelSelector": "a=b",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "5",
        }


async def test_a_watch_that_the_server_ended_goes_on_from_the_last_version() -> None:
    streams = [[event("ADDED", named("b", 6)), event("BOOKMARK", named("", 9))], [event("ADDED", named("c", 10)), None]]
    async with following([listing()], streams) as (told, server):
        assert [await told.next() for _ in range(3)] == [("listed", []), ("ADDED", "b"), ("ADDED", "c")]
        assert [request.query.get("resourceVersion") for request in server.asked] == [None, "5", "9"]


async def test_a_watch_that_broke_off_goes_on_from_the_last_version_and_nothing_is_lost() -> None:
    streams = [[event("ADDED", named("b", 6)), b"cut"], [event("ADDED", named("c", 7)), None]]
    async with following([listing()], streams) as (told, server):
        got = [await told.next() for _ in range(4)]
        assert got == [("listed", []), ("ADDED", "b"), ("resumed", ""), ("ADDED", "c")]
        assert [request.query.get("resourceVersion") for request in server.asked] == [None, "5", "6"]


FUTURE = {
    "kind": "Status", "code": 504, "reason": "Timeout", "message": "Too large resource version: 5, current: 2",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
}  # fmt: skip
"""What a server says that was restored from a backup: the version is one of its future."""


@pytest.mark.parametrize(
    "forgotten",
    [
        web.Response(status=410, body=orjson.dumps(GONE)),
        [event("ERROR", GONE)],
        web.Response(status=504, body=orjson.dumps(FUTURE)),
        [event("ERROR", FUTURE)],
        [event("BOOKMARK", named("", 2)), None],
    ],
    ids=["refusal", "event", "refusal of the future", "event of the future", "bookmark of the past"],
)
async def test_when_history_is_gone_everything_is_listed_again(forgotten: Any) -> None:
    again = [event("ADDED", named("c", 51)), None]
    async with following([listing("a"), listing("b", version=50)], [forgotten, again]) as (told, server):
        got = [await told.next() for _ in range(3)]
        assert got == [("listed", ["a"]), ("listed", ["b"]), ("ADDED", "c")]
        assert server.asked[3].query["resourceVersion"] == "50"


async def test_a_collection_that_cannot_be_read_is_lost_until_it_can() -> None:
    lists = [web.Response(status=503), web.Response(status=500), listing("a")]
    async with following(lists, [[None]]) as (told, _):
        got = [await told.next() for _ in range(3)]
        assert got == [("lost", "ClusterBusy"), ("lost", "ClusterFailed"), ("listed", ["a"])]


async def test_a_watch_that_is_refused_is_lost_until_it_is_not() -> None:
    async with following([listing("a")], [web.Response(status=403), [None]]) as (told, server):
        assert [await told.next() for _ in range(3)] == [("listed", ["a"]), ("lost", "Unauthorized"), ("resumed", "")]
        assert [request.query.get("watch") for request in server.asked] == [None, "true", "true"]


async def test_an_event_that_is_no_json_breaks_off_and_does_not_end_the_following() -> None:
    streams = [[event("ADDED", named("b", 6)), b"nonsense\n"], [event("ADDED", named("c", 7)), None]]
    async with following([listing()], streams) as (told, server):
        got = [await told.next() for _ in range(4)]
        assert got == [("listed", []), ("ADDED", "b"), ("resumed", ""), ("ADDED", "c")]
        assert server.asked[2].query["resourceVersion"] == "6"


async def test_pages_are_put_together_and_an_expired_token_begins_anew() -> None:
    lists = [
        listing("a", **{"continue": "t1"}),
        web.Response(status=410, body=orjson.dumps(GONE)),
        listing("a", **{"continue": "t2"}),
        listing("b", version=8),
    ]
    async with following(lists, [[None]]) as (told, server):
        assert await told.next() == ("listed", ["a", "b"])
        assert [request.query.get("continue") for request in server.asked[:4]] == [None, "t1", None, "t2"]


async def test_a_path_that_is_not_served_ends_the_following() -> None:
    async with serving(lambda request: _not_found()) as server, server.session() as session:
        with pytest.raises(errors.ObjectNotFound):
            await reflect.follow(session, reflect.Collection("/apis/x/v1/y"), Told(), wake=reflect.Wake())


async def _not_found() -> web.StreamResponse:
    return web.Response(status=404, text="404 page not found\n")


async def test_waiting_is_cut_short_for_those_who_wait_now() -> None:
    wake = reflect.Wake()
    waiting = asyncio.create_task(wake.pause(3600))
    await asyncio.sleep(0)
    wake.set()
    await waiting
    later = asyncio.create_task(wake.pause(3600))
    await asyncio.sleep(0)
    assert not later.done()
    later.cancel()


def test_delays_grow_and_the_last_one_stays() -> None:
    for failures, base in [(1, 0.5), (2, 1.0), (7, 30.0), (99, 30.0)]:
        assert base <= reflect.BACKOFF.after(failures) <= 1.5 * base


@pytest.mark.parametrize(
    ("version", "known", "later"),
    [("10", "9", True), ("9", "10", False), ("9", "9", False), ("b", "a", True), ("a", "a", False), ("9", "", True)],
)
def test_versions_are_compared_as_numbers_only_if_they_are(version: str, known: str, later: bool) -> None:
    assert reflect.newer(version, known) is later


def complaints(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.__dict__["error"]) for one in caplog.records if one.message == "cannot follow"]


async def test_a_refusal_is_said_once_for_as_long_as_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    forbidden, failed = (
        web.json_response({"kind": "Status", "code": code, "message": message}, status=code)
        for code, message in ((403, "not for you"), (500, "out of order"))
    )
    lists = [forbidden, forbidden, forbidden, failed, listing("a"), failed, listing("a")]
    gone = [event("ERROR", GONE)]
    async with following(lists, [gone, gone, [None]]) as (told, _):
        while (await told.next())[0] != "listed":
            pass
        while (await told.next())[0] != "listed":
            pass
    levels = [level for level, _ in complaints(caplog)]
    assert levels == ["INFO", "DEBUG", "DEBUG", "INFO", "INFO"], "what came back after a success is news"


async def test_that_the_cluster_gives_no_answer_is_not_said_of_each_collection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    told = Told()
    async with Session("m1", connection("http://127.0.0.1:1")) as session:
        following = reflect.follow(
            session, reflect.Collection("/api/v1/x"), told, wake=reflect.Wake(), backoff=Backoff((0.0,))
        )
        task = asyncio.create_task(following)
        assert [await told.next() for _ in range(3)] == [("lost", "ClusterUnreachable")] * 3
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(complaints(caplog)) >= 2
    assert {level for level, _ in complaints(caplog)} == {"DEBUG"}
