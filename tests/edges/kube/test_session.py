"""Requests to one cluster: budget, time limits, streams, and what is never done."""

from __future__ import annotations

import asyncio
import socket

import orjson
import pytest
from aiohttp import web

from gitfed import errors
from gitfed.edges.kube.connection import session as sessions
from tests.edges.kube.answering import always, body, connection, serving


async def test_a_request_sends_json_and_reads_json() -> None:
    async with (
        serving(always(lambda: body({"kind": "X"}, headers={"X-Y": "z"}))) as server,
        server.session() as session,
    ):
        answer = await session.request("POST", "/api/v1/things", query={"a": "b c&d"}, body={"k": [1, None]})
        assert (answer.status, answer.json(), answer.headers["X-Y"]) == (200, {"kind": "X"}, "z")
        (asked,) = server.asked
        assert (asked.method, asked.path, dict(asked.query)) == ("POST", "/api/v1/things", {"a": "b c&d"})
        assert await asked.read() == b'{"k":[1,null]}'
        assert asked.headers["Content-Type"] == "application/json"
        assert asked.headers["User-Agent"] == "gitfed"


async def test_a_path_is_sent_as_it_is_encoded() -> None:
    async with serving(always(lambda: body({}))) as server, server.session() as session:
        await session.request("GET", "/apis/rbac/clusterroles/system%3Anode%2Fx")
        assert server.asked[0].raw_path == "/apis/rbac/clusterroles/system%3Anode%2Fx"


async def test_a_servers_path_goes_before_every_request() -> None:
    async with serving(always(lambda: body({}))) as server:
        async with sessions.Session("m1", connection(f"{server.url}/k8s/clusters/c-1")) as session:
            await session.request("GET", "/version")
        assert server.asked[0].path == "/k8s/clusters/c-1/version"


async def test_allowed_statuses_are_answers() -> None:
    async with serving(always(lambda: web.Response(status=404, text="no"))) as server, server.session() as session:
        assert (await session.request("GET", "/readyz", allow={404})).status == 404
        with pytest.raises(errors.ObjectNotFound, match=r"^cluster m1: no$"):
            await session.request("GET", "/readyz")


async def test_an_answer_that_is_no_json_object_is_the_clusters_failure() -> None:
    async with serving(always(lambda: web.Response(text="[1]"))) as server, server.session() as session:
        with pytest.raises(errors.ClusterFailed, match=r"^cluster m1: GET /x: the answer is no JSON object$"):
            await session.json("GET", "/x")


async def test_no_more_requests_at_a_time_than_the_budget_allows() -> None:
    under_way = most = 0
    full = asyncio.Event()

    async def slowly(request: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        under_way -= 1
        return body({})

    async with serving(slowly) as server, server.session(concurrency=3) as session:
        await asyncio.gather(*(session.request("GET", "/x") for _ in range(12)))
    assert most == 3


async def test_a_cluster_that_does_not_answer_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "TIMEOUT", 0.05)

    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(never) as server, server.session() as session:
        with pytest.raises(errors.ClusterUnreachable, match=r"^cluster m1: no answer in time$"):
            await session.request("GET", "/x")
        with pytest.raises(errors.ClusterUnreachable, match=r"^cluster m1: no answer in time$"):
            async with session.lines("/x", {}, idle=60):
                pass


async def test_a_cluster_that_is_not_there_is_unreachable() -> None:
    async with sessions.Session("m1", connection("http://127.0.0.1:1")) as session:
        with pytest.raises(errors.ClusterUnreachable, match=r"^cluster m1: http://127.0.0.1:1 refuses the connection$"):
            await session.request("GET", "/x")


async def test_an_answer_that_breaks_off_is_unreachable() -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(half) as server, server.session() as session:
        with pytest.raises(errors.ClusterUnreachable):
            await session.request("GET", "/x")


async def test_an_endless_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_LARGEST", 1 << 20)

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    async with serving(endless) as server, server.session() as session:
        with pytest.raises(errors.ClusterFailed, match=r"an answer of more than 1 MiB is not read$"):
            await session.request("GET", "/x")


async def test_a_redirect_is_not_followed() -> None:
    async with serving(always(lambda: body({}))) as elsewhere:
        away = {"Location": f"{elsewhere.url}/x"}
        async with (
            serving(always(lambda: web.Response(status=307, headers=away))) as server,
            server.session() as session,
        ):
            with pytest.raises(errors.ClusterError, match=r"a redirect \(HTTP 307\), which is not followed"):
                await session.request("GET", "/x")
            with pytest.raises(errors.ClusterError, match=r"a redirect \(HTTP 307\), which is not followed"):
                async with session.lines("/x", {}, idle=60):
                    pass
        assert elsewhere.asked == []


async def test_the_environment_adds_no_password(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with serving(always(lambda: body({}))) as server, server.session() as session:
        await session.request("GET", "/x")
        assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
async def test_lines_come_whole_however_they_are_cut(size: int) -> None:
    lines = [orjson.dumps({"n": number, "text": "é" * (number * 40_000)}) for number in range(4)]
    text = b"\n".join(lines) + b"\n"
    if size < 7:
        text, lines = b'{"a":1}\n\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(text), size):
            await response.write(text[start : start + size])
        return response

    async with (
        serving(stream) as server,
        server.session() as session,
        session.lines("/x", {"watch": "true"}, idle=60) as found,
    ):
        assert [line async for line in found] == lines


async def test_a_silent_stream_is_given_up() -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"a":1}\n')
        await asyncio.Event().wait()
        return response

    async with serving(silent) as server, server.session() as session, session.lines("/x", {}, idle=0.5) as lines:
        assert await anext(lines) == b'{"a":1}'
        with pytest.raises(errors.ClusterUnreachable):
            await anext(lines)


async def test_a_refused_stream_raises_its_class() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    async with serving(always(lambda: body(gone, 410))) as server, server.session() as session:
        with pytest.raises(errors.HistoryGone, match=r"^cluster m1: too old resource version$"):
            async with session.lines("/x", {}, idle=60):
                pass


async def test_a_closed_session_opens_again() -> None:
    async with serving(always(lambda: body({}))) as server:
        session = server.session()
        await session.request("GET", "/x")
        await session.close()
        await session.request("GET", "/x")
        await session.close()
        assert len(server.asked) == 2


async def test_a_session_that_is_closed_for_good_opens_no_more() -> None:
    async with serving(always(lambda: body({}))) as server:
        session = server.session()
        await session.request("GET", "/x")
        await session.close(for_good=True)
        await session.close()
        with pytest.raises(errors.ClusterUnreachable, match=r"^cluster m1: its connection was closed$"):
            await session.request("GET", "/x")
        with pytest.raises(errors.ClusterUnreachable, match=r"^cluster m1: its connection was closed$"):
            await session.begin("GET", "/x", [], seconds=60)
        assert len(server.asked) == 1


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"])
async def test_an_address_of_metadata_is_no_cluster(host: str) -> None:
    async with sessions.Session("m1", connection(f"https://{host}:6443")) as session:
        with pytest.raises(errors.CredentialsError, match="a link-local or metadata address, which is not contacted"):
            await session.request("GET", "/x")


async def test_a_name_that_stands_for_an_address_of_metadata_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(host: str, port: int | None, *_: object, **__: object) -> list[tuple[int, int, int, str, object]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    async with sessions.Session("m1", connection("https://api.example:6443")) as session:
        with pytest.raises(errors.ClusterUnreachable, match="a link-local or metadata address, which is not contacted"):
            await session.request("GET", "/x")
