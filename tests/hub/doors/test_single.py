"""The door of one cluster: who gets through, what goes through, and what becomes of members that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gitfed.errors import ClusterError, NotThere
from gitfed.hub.doors import entry, relay
from gitfed.hub.doors.member_sessions import MemberSessions
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.doors.exec_answers import echo, says, status_of
from tests.hub.doors.members import ANYTHING, EVERYTHING, Exact, answer, door
from tests.support import patience

NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}


async def test_the_members_rbac_decides_what_somebody_who_may_enter_does(tmp_path: Path) -> None:
    on_m1 = stage.policy("tom", subjects=[stage.user("ann")], clusters={"clusterNames": ["m1"]}, allow=["proxy"])
    async with members.embedded(tmp_path, ["m1", "m2"], on_m1) as (staged, fleet):
        status, text = await stage.get(staged, door("m2", "/api"), token="ann")
        assert status == 403
        assert status_of(text) == (403, "Forbidden", "no AccessPolicy lets ann through the door of cluster m2")
        assert (await stage.get(staged, door("m1", "/api"), token="ann"))[0] == 200
        status, text = await stage.get(staged, door("m1", "/api/v1/nodes"), token="ann")
        assert status_of(text) == (
            403, "Forbidden",
            'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope',
        )  # fmt: skip
        members.allow(fleet, "m1", "ann", NODES)
        status, text = await stage.get(staged, door("m1", "/api/v1/nodes"), token="ann")
        assert (status, json.loads(text)["kind"]) == (200, "NodeList")
        status, text = await stage.get(staged, door("m1", "/api"))
        assert status_of(text) == (401, "Unauthorized", "no credential")
        status, text = await stage.get(staged, door("m1", "/api"), token="bob")
        assert status_of(text) == (403, "Forbidden", "no AccessPolicy lets bob proxy")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/version", 200),
        ("/apis/apps/v1", 200),
        ("/api/v1/namespaces/shop/pods", 200),
        ("/api/v1/namespaces/shop", 200),
        ("/api/v1/namespaces/other/pods", 403),
        ("/api/v1/pods", 403),
        ("/api/v1/nodes", 403),
        ("/api/v1/namespaces", 403),
        ("/api/v1/watch/namespaces/other/pods", 403),
        ("/api/v1/namespaces/shop%2f..%2fother/pods", 400),
        ("/api/v1/namespaces/%6fther/pods", 403),
    ],
)
async def test_a_policy_with_namespaces_opens_what_is_in_them(tmp_path: Path, path: str, status: int) -> None:
    shop = stage.policy("shop", subjects=[stage.user("ann")], namespaces=["shop"], allow=["proxy"])
    async with members.embedded(tmp_path, ["m1"], shop) as (staged, fleet):
        fleet["m1"].api.create("namespaces", {"metadata": {"name": "shop"}})
        members.allow(fleet, "m1", "ann", EVERYTHING)
        assert (await stage.get(staged, door("m1", path), token="ann"))[0] == status


ZIPPED = gzip.compress(b'{"a":1}')


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "head_and_body",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAudit-Id: 5\r\nContent-Length: 7\r\n\r\n", b'{"a":1}'),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b\r\n\r\n", b"2\r\nab\r\n0\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(ZIPPED), ZIPPED),
        (b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n", b"{}"),
    ],
    ids=["JSON", "empty", "chunked", "compressed", "refused"],
)
async def test_an_answer_is_the_same_whether_it_comes_at_once_or_in_parts(
    tmp_path: Path, head_and_body: tuple[bytes, bytes], method: str
) -> None:
    head, body = head_and_body
    body = body if method == "GET" else b""
    head_came = asyncio.Event()

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:  # the hub keeps the connection
            if "in-parts" in await member.head(reader):
                writer.write(head)
                await head_came.wait()
                writer.write(body)
            else:
                writer.write(head + body)

    async with members.exact(tmp_path, serve) as (staged, _):
        found = []
        for how in ("in-parts", "at-once"):
            reader, writer = await asyncio.open_connection("127.0.0.1", staged.port)
            asked = f"{method} {door('m1', f'/api/v1/nodes/{how}')} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
            writer.write(f"{asked}Authorization: Bearer ann\r\n\r\n".encode())
            async with asyncio.timeout(patience.SECONDS):
                lines = (await reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n\r\n")  # no head waits for its body
                head_came.set()
                rest = await reader.read()
            writer.close()
            first, *names = lines.split(b"\r\n")
            chunked = any(one.lower().startswith(b"transfer-encoding") for one in names)
            framing = (b"transfer-encoding", b"content-length", b"date")
            kept = sorted(one for one in names if not one.lower().startswith(framing))
            found.append((first, kept, _joined(rest) if chunked else rest))
        assert found[0] == found[1]
        assert method == "HEAD" or found[0][2] == (b"ab" if b"chunked" in head else body)


def _joined(rest: bytes) -> bytes:
    """Of a body in chunks."""
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return body


async def test_everything_kubectl_does_goes_through(tmp_path: Path) -> None:
    async with members.embedded(tmp_path, ["m1"], ANYTHING) as (staged, fleet):
        members.allow(fleet, "m1", "ann", EVERYTHING)
        maps = door("m1", "/api/v1/namespaces/default/configmaps")
        body = {"metadata": {"name": "c"}, "data": {"a": "1"}}
        assert (await stage.ask(staged, "POST", maps, token="ann", json=body))[0] == 201
        patch = {"data": b'{"data": {"a": "2"}}', "headers": {"Content-Type": "application/merge-patch+json"}}
        assert (await stage.ask(staged, "PATCH", f"{maps}/c", token="ann", **patch))[0] == 200
        status, text, _ = await stage.ask(staged, "GET", f"{maps}/c?pretty=false", token="ann")
        found = json.loads(text)
        assert (status, found["data"]) == (200, {"a": "2"})
        found["data"] = {"a": "3"}
        assert (await stage.ask(staged, "PUT", f"{maps}/c", token="ann", json=found))[0] == 200
        assert (await stage.ask(staged, "HEAD", f"{maps}/c", token="ann"))[0] in (200, 405)
        assert (await stage.ask(staged, "DELETE", f"{maps}/c", token="ann"))[0] == 200
        assert (await stage.ask(staged, "GET", f"{maps}/c", token="ann"))[0] == 404


async def test_nobody_but_the_hub_says_who_asks(tmp_path: Path) -> None:
    async with members.exact(tmp_path, says(answer(b"{}", "200 OK", "Set-Cookie: a=b", "X-Mine: kept"))) as (
        staged,
        member,
    ):
        sent = {
            "Impersonate-User": "root", "Impersonate-Group": "system:masters", "Impersonate-Extra-Scopes": "x",
            "Impersonate-Uid": "0", "X-Remote-User": "root", "X-Forwarded-For": "10.0.0.1", "Cookie": "a=b",
            "Connection": "keep-alive, X-Odd", "X-Odd": "1", "TE": "trailers", "Accept": "application/json",
            "Sec-WebSocket-Protocol": "base64url.bearer.authorization.k8s.io.YW5u, v5.channel.k8s.io",
        }  # fmt: skip
        status, _, headers = await stage.ask(
            staged, "GET", door("m1", "/api/v1/pods?a=%26&b"), token="ann", headers=sent
        )
    assert status == 200
    assert "Set-Cookie" not in headers
    assert headers["X-Mine"] == "kept"
    assert headers["Content-Security-Policy"].startswith("sandbox;")
    lines = member.heads[0].split("\r\n")
    assert lines[0] == "GET /api/v1/pods?a=%26&b HTTP/1.1"
    told = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines[1:] if line}
    assert told.pop("host").startswith("127.0.0.1:")
    assert told.pop("user-agent").startswith("Python")
    told.pop("accept-encoding")
    assert told == {
        "accept": "application/json",
        "authorization": "Bearer the-daemons",
        "impersonate-user": "ann",
        "sec-websocket-protocol": "v5.channel.k8s.io",
    }


async def test_an_answer_is_passed_back_as_it_comes(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await seen.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()

    async with members.exact(tmp_path, serve) as (staged, _), aiohttp.ClientSession() as session:
        url = staged.url + door("m1", "/api/v1/namespaces/default/pods/p/log?follow=true")
        async with session.get(url, headers={"Authorization": "Bearer ann"}) as got:
            assert await got.content.readany() == b"one"
            seen.set()
            assert await got.content.read() == b"two"


async def test_a_body_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        assert await reader.readuntil(b"one") == b"3\r\none"
        seen.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(answer(b"done"))

    async def parts() -> Any:
        yield b"one"
        await seen.wait()
        yield b"two"

    async with members.exact(tmp_path, serve) as (staged, _):
        found = await stage.ask(staged, "POST", door("m1", "/api/v1/namespaces"), token="ann", data=parts())
        assert found[:2] == (200, "done")


async def test_a_compressed_answer_stays_compressed(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"kind": "PodList"}')
    zipped = says(answer(packed, "200 OK", "Content-Encoding: gzip"))
    async with (
        members.exact(tmp_path, zipped) as (staged, _),
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(staged.url + door("m1", "/api/v1/pods"), headers={"Authorization": "Bearer ann"}) as got,
    ):
        assert (await got.read(), got.headers["Content-Length"]) == (packed, str(len(packed)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (answer(b"", "307 Temporary Redirect", "Location: https://evil.example/"),
         (502, "", "cluster m1: it answers with a redirect (HTTP 307), which is not followed")),
        (answer(b"{}", "401 Unauthorized"),
         (503, "ServiceUnavailable",
          "cluster m1: it does not accept the credential that gitfed has for it (HTTP 401)")),
        (b"SSH-2.0-dropbear\r\n\r\n", (503, "ServiceUnavailable", "cluster m1: {server}: its answer is not HTTP")),
        (b"", (503, "ServiceUnavailable", "cluster m1: {server} cut the connection")),
    ],
    ids=["a redirect", "our credential is refused", "no HTTP", "no answer"],
)  # fmt: skip
async def test_a_member_that_misbehaves_is_told_of(tmp_path: Path, data: bytes, expected: tuple[int, str, str]) -> None:
    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(data)

    async with members.exact(tmp_path, serve) as (staged, _):
        status, text, headers = await stage.ask(staged, "GET", door("m1", "/api/v1/pods"), token="ann")
    found = json.loads(text)
    server = json.loads((tmp_path / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    code, reason, message = expected
    assert (status, found.get("reason", ""), found["message"]) == (code, reason, message.format(server=server))
    assert "Location" not in headers


async def test_only_what_waits_for_a_program_may_begin_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "HEAD", 0.2)
    asked = asyncio.Event()

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if "/log" not in await member.head(reader):
            await reader.read()  # it hangs
            return
        await asked.wait()
        writer.write(answer(b"at last"))

    async with members.exact(tmp_path, serve) as (staged, _):
        log = asyncio.create_task(
            stage.get(staged, door("m1", "/api/v1/namespaces/d/pods/p/log?follow=true"), token="ann")
        )
        status, text = await stage.get(staged, door("m1", "/api/v1/pods"), token="ann")
        assert status == 504
        assert status_of(text) == (504, "Timeout", "cluster m1: no answer in time")
        asked.set()
        assert await log == (200, "at last")


async def test_clusters_without_a_way_say_why(tmp_path: Path) -> None:
    pulled = stage.cluster("far").replace("Push", "Pull")
    async with members.exact(tmp_path, says(b""), ANYTHING, pulled) as (staged, _):
        assert status_of((await stage.get(staged, door("far", "/api"), token="ann"))[1]) == (
            503, "ServiceUnavailable",
            "cluster far: it is pulled, and its agent talks to the daemon that leads: this one does not",
        )  # fmt: skip
        assert status_of((await stage.get(staged, door("m9", "/api"), token="ann"))[1]) == (
            404, "NotFound", "no cluster m9 is declared",
        )  # fmt: skip


async def test_a_door_that_is_closed_leaves_no_connection_behind(tmp_path: Path) -> None:
    async with members.exact(tmp_path, says(answer(b"{}")), ANYTHING, stage.cluster("m2")) as (staged, member):
        reach = MemberSessions(staged.hub)
        running = asyncio.create_task(reach.run())
        await asyncio.sleep(0)
        held = reach.session("m1")
        await held.request("GET", "/api")
        members.commit(staged, stage.snapshot(ANYTHING, stage.cluster("m2")))
        with pytest.raises(NotThere):
            reach.session("m1")
        running.cancel()
        await asyncio.wait([running])
        await asyncio.wait_for(member.ended.wait(), 60)
        for late in (lambda: held.request("GET", "/api"), lambda: reach.session("m2").request("GET", "/api")):
            with pytest.raises(ClusterError, match=r": (its connection was closed|this hub is stopping)$"):
                await late()


@pytest.mark.parametrize("path", ["/api/../x", "/api/%2e%2e/x", "//api", "/api%2Fv1", "/api/v1/x%5c..", "/a/..%2fb"])
async def test_paths_that_could_be_read_in_two_ways_are_refused(tmp_path: Path, path: str) -> None:
    async with members.exact(tmp_path, says(answer(b"{}"))) as (staged, member):
        head = f"GET {door('m1', path)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n"
        found = await stage.raw(staged, head.encode())
        assert found.startswith(b"HTTP/1.1 400 "), found
        assert member.heads == []


async def test_a_body_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LARGEST", 1 << 20)

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        while await reader.read(1 << 16):
            pass

    async def parts() -> Any:
        for _ in range(64):
            yield bytes(1 << 16)

    async with members.exact(tmp_path, serve) as (staged, _):
        _, text, _ = await stage.ask(staged, "POST", door("m1", "/api/v1/namespaces"), token="ann", data=parts())
        assert status_of(text) == (413, "RequestEntityTooLarge", "the body is larger than 1 MiB")
        huge = {"Content-Length": str(1 << 30)}
        _, text, _ = await stage.ask(staged, "POST", door("m1", "/api/v1/namespaces"), token="ann", headers=huge)
        assert status_of(text)[:2] == (413, "RequestEntityTooLarge")


async def test_who_hangs_up_is_not_waited_for(tmp_path: Path) -> None:
    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await reader.read()  # until the hub has gone

    async with members.exact(tmp_path, serve) as (staged, member), aiohttp.ClientSession() as session:
        url = staged.url + door("m1", "/api/v1/pods?watch=true")
        async with session.get(url, headers={"Authorization": "Bearer ann"}) as got:
            assert got.status == 200
        got.close()
        await asyncio.wait_for(member.ended.wait(), 60)


async def test_a_right_that_is_taken_away_ends_what_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "_LOOK", 0.05)

    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await reader.read()

    async with members.exact(tmp_path, serve) as (staged, member), aiohttp.ClientSession() as session:
        url = staged.url + door("m1", "/api/v1/pods?watch=true")
        async with session.get(url, headers={"Authorization": "Bearer ann"}) as got:
            members.commit(staged, stage.snapshot(stage.cluster("m1")))
            with pytest.raises(aiohttp.ClientError):
                await got.read()
        await asyncio.wait_for(member.ended.wait(), 60)


# -- upgrades ---------------------------------------------------------------------------------------------------------


def _upgrade(method: str, protocol: str, *more: str) -> bytes:
    path = door("m1", "/api/v1/namespaces/d/pods/p/exec?command=sh")
    lines = [f"{method} {path} HTTP/1.1", "Host: hub", "Authorization: Bearer ann", "Connection: Upgrade",
             f"Upgrade: {protocol}", "Content-Length: 0", *more]  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@pytest.mark.parametrize(("method", "protocol"), [("GET", "websocket"), ("POST", "SPDY/3.1")])
async def test_after_an_upgrade_bytes_go_both_ways(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, method: str, protocol: str
) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    async with members.exact(tmp_path, echo) as (staged, member):
        reader, writer = await asyncio.open_connection("127.0.0.1", staged.port)
        writer.write(_upgrade(method, protocol))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert f"Upgrade: {protocol}\r\n".encode() in head
        assert await reader.readexactly(6) == b"ready;"
        block = bytes(range(256)) * 4096
        for _ in range(4):
            writer.write(block)
            assert await reader.readexactly(len(block)) == block
        assert "Impersonate-User: ann" in member.heads[0]
        writer.close()
        await asyncio.wait_for(member.ended.wait(), 60)
        await stage.until(lambda: any(record.name == "gitfed.audit" for record in caplog.records))
    line = next(record for record in caplog.records if record.name == "gitfed.audit")
    assert (line.who, line.where, line.result) == ("ann", "cluster=m1 path=/api/v1/namespaces/d/pods/p/exec", "101")


async def test_what_a_member_said_last_in_a_tunnel_arrives(tmp_path: Path) -> None:
    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await member.head(reader)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        writer.write(b"x" * (1 << 20))
        await writer.drain()

    async with members.exact(tmp_path, serve) as (staged, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", staged.port)
        writer.write(_upgrade("GET", "websocket"))
        await reader.readuntil(b"\r\n\r\n")
        assert len(await reader.read(-1)) == 1 << 20
        writer.close()


async def test_an_upgrade_that_a_member_refuses_is_an_answer(tmp_path: Path) -> None:
    async with members.exact(tmp_path, says(answer(b"no", "403 Forbidden"))) as (staged, _):
        found = await stage.raw(staged, _upgrade("POST", "SPDY/3.1").replace(b": Upgrade", b": Upgrade, close"))
        assert found.startswith(b"HTTP/1.1 403 ")
        assert found.endswith(b"no")


async def test_a_page_of_another_site_opens_no_tunnel(tmp_path: Path) -> None:
    async with members.exact(tmp_path, echo) as (staged, member):
        request = _upgrade("GET", "websocket", "Origin: https://evil.example").replace(
            b": Upgrade", b": Upgrade, close"
        )
        assert (await stage.raw(staged, request)).startswith(b"HTTP/1.1 403 ")
        assert member.heads == []
