"""Over loopback: what only a real connection shows."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from kubesim.cluster import Cluster
from tests import patience
from tests.conformance.apiserver import ManualClock

PATH = "/api/v1/namespaces/default/configmaps"
HEADERS = {"Authorization": "Bearer admintoken"}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    found = Cluster("member1", clock=ManualClock())
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=HEADERS, auto_decompress=False) as found:
        yield found


async def until(condition: object) -> None:
    assert callable(condition)
    async with asyncio.timeout(patience.SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_watcher_that_leaves_is_forgotten_at_once(cluster: Cluster, session: aiohttp.ClientSession) -> None:
    watchers = cluster.world.store.collection("configmaps").subscriptions
    response = await session.get(cluster.url + PATH, params={"watch": "1", "resourceVersion": "1"})
    assert len(watchers) == 1
    response.close()
    await until(lambda: not watchers)


async def test_who_hangs_up_before_the_answer_begins_is_no_error(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    address = cluster.url.removeprefix("http://")
    host, port = address.split(":")
    asked = f"GET {PATH}?watch=1 HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer admintoken\r\n\r\n"
    for _ in range(20):
        # All before the server, which lives in this thread, gets a turn.
        with socket.create_connection((host, int(port))) as client:
            client.sendall(asked.encode())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.sleep(0)
    watchers = cluster.world.store.collection("configmaps").subscriptions
    await asyncio.sleep(0.1)
    await until(lambda: not watchers)
    assert [record for record in caplog.records if record.name == "aiohttp.server"] == []


async def test_stopping_ends_open_watches(session: aiohttp.ClientSession) -> None:
    cluster = Cluster("member1", clock=ManualClock())
    await cluster.start()
    response = await session.get(cluster.url + PATH, params={"watch": "1"})
    await cluster.stop()
    assert await asyncio.wait_for(response.read(), patience.SECONDS) == b""


async def test_large_answers_are_compressed_only_for_who_can_read_them(
    cluster: Cluster, session: aiohttp.ClientSession
) -> None:
    metadata = {"name": "large", "namespace": "default"}
    cluster.api.create("configmaps", {"metadata": metadata, "data": {"k": "x" * 140_000}})
    async with session.get(cluster.url + PATH, headers={"Accept-Encoding": "gzip"}) as packed:
        assert packed.headers["Content-Encoding"] == "gzip"
        body = json.loads(gzip.decompress(await packed.read()))
    async with session.get(cluster.url + PATH, headers={"Accept-Encoding": "identity"}) as plain:
        assert "Content-Encoding" not in plain.headers
        assert await plain.json() == body


async def test_many_watchers_see_every_change_in_order(cluster: Cluster, session: aiohttp.ClientSession) -> None:
    async def follow() -> list[str]:
        seen: list[str] = []
        params = {"watch": "1", "resourceVersion": str(start)}
        async with session.get(cluster.url + PATH, params=params) as response:
            async for line in response.content:
                event = json.loads(line)
                seen.append(event["type"] + event["object"]["metadata"]["resourceVersion"])
                if event["type"] == "DELETED":
                    return seen
        return seen

    start = cluster.world.store.version
    watchers = [asyncio.create_task(follow()) for _ in range(20)]
    await until(lambda: len(cluster.world.store.collection("configmaps").subscriptions) == 20)
    api = cluster.api
    api.create("configmaps", {"metadata": {"name": "a", "namespace": "default"}})
    api.patch("configmaps", "default", "a", {"data": {"k": "1"}})
    api.delete("configmaps", "default", "a")
    expected = [f"ADDED{start + 1}", f"MODIFIED{start + 2}", f"DELETED{start + 3}"]
    assert await asyncio.wait_for(asyncio.gather(*watchers), patience.SECONDS) == [expected] * 20


async def test_the_gate_sees_a_request_before_the_server_does(session: aiohttp.ClientSession) -> None:
    asked: list[str] = []

    async def gate(raw: web.BaseRequest) -> bool:
        asked.append(raw.path)
        return raw.path != "/version"

    cluster = Cluster("member1")
    cluster.gate = gate
    await cluster.start()
    async with session.get(cluster.url + "/healthz") as response:
        assert response.status == 200
    async with session.get(cluster.url + "/version") as response:
        assert response.status == 503
    assert asked == ["/healthz", "/version"]
    await cluster.stop()
