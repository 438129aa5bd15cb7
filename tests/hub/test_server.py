"""What becomes of a request before a capability sees it."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from gitfed.hub import login, routes
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.access.rights import Right
from gitfed.hub.listener import ConnectionLimits, Listener, is_no_stranger
from gitfed.hub.options import HubOptions
from gitfed.hub.routes import Capability, Route
from tests.hub import stage
from tests.hub.stage import ask, get, policy, raw, staged, until, user

VIEWER = policy("viewer", subjects=[user("ann")], allow=["view"])
OPERATOR = policy("operator", subjects=[user("ann")], allow=["view", "operate"])


async def _echo(request: web.Request) -> web.StreamResponse:
    routes.audited(request, cluster="m1")
    return web.Response(text=f"{routes.caller(request).name} {await request.text()}")


ECHO = Capability(
    (
        Route("GET", "/echo", _echo, needs=Right.VIEW),
        Route("POST", "/echo", _echo, needs=Right.OPERATE, largest=100),
        Route("PUT", "/echo", _echo),
    )
)


@pytest.mark.parametrize("path", ["/", "/metrics", "/ui", "/echo", "/livez/x", "/apis", "/logout"])
async def test_without_a_credential_every_path_answers_401(tmp_path: Path, path: str) -> None:
    async with staged(tmp_path, VIEWER, more=[ECHO]) as hub:
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            status, text, headers = await ask(hub, method, path)
            assert (status, text) == (401, "no credential\n")
            assert headers["WWW-Authenticate"] == 'Bearer realm="gitfed"'


async def test_below_api_refusals_are_problem_details(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER) as hub:
        for path in ("/api", "/api/v1", "/api/v1/clusters", "/api/v2/x"):
            status, text, headers = await ask(hub, "GET", path)
            assert (status, headers["Content-Type"]) == (401, "application/problem+json")
            assert json.loads(text) == {
                "type": "about:blank", "title": "Unauthorized", "status": 401, "detail": "no credential",
            }  # fmt: skip


async def test_health_answers_without_a_credential(tmp_path: Path) -> None:
    async with staged(tmp_path) as hub:
        assert await get(hub, "/livez") == (200, "ok\n")
        assert await get(hub, "/healthz") == (200, "ok\n")
        assert await get(hub, "/readyz") == (503, "no commit was planned yet\n")


async def test_a_caller_whom_we_know_is_told_that_a_path_is_unknown(tmp_path: Path) -> None:
    async with staged(tmp_path, more=[ECHO]) as hub:
        assert (await get(hub, "/nothing", token="bob"))[0] == 404
        assert (await ask(hub, "DELETE", "/echo", token="bob"))[0] == 405


async def test_nobody_has_a_right_that_no_policy_gives(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER, more=[ECHO]) as hub:
        assert await get(hub, "/echo", token="ann") == (200, "ann ")
        assert await get(hub, "/echo", token="bob") == (403, "no AccessPolicy lets bob view\n")
        assert (await ask(hub, "POST", "/echo", token="ann"))[:2] == (403, "no AccessPolicy lets ann operate\n")
        assert (await ask(hub, "PUT", "/echo", token="bob"))[:2] == (200, "bob ")


async def test_a_wrong_token_is_refused_and_tells_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    async with staged(tmp_path) as hub:
        assert await get(hub, "/metrics", token="eve") == (401, "your credential is not accepted\n")
        basic = {"Authorization": "Basic YW5uOmFubg=="}
        assert await get(hub, "/metrics", headers=basic) == (401, "your credential is not accepted\n")
    refused = [record for record in caplog.records if record.msg == "caller refused"]
    assert [vars(record)["error"] for record in refused] == [
        "this hub accepts no such tokens", "the Authorization header is no bearer token",
    ]  # fmt: skip


async def test_the_metrics_tell_of_all_so_they_need_a_right_to_all(tmp_path: Path) -> None:
    some = policy("some", subjects=[user("bob")], allow=["view"], clusters={"clusterNames": ["m1"]})
    async with staged(tmp_path, VIEWER, some, stage.cluster("m1")) as hub:
        assert (await get(hub, "/metrics", token="ann"))[0] == 200
        assert await get(hub, "/metrics", token="bob") == (403, "no AccessPolicy lets bob view everything\n")


async def test_an_operation_is_one_audit_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        await ask(hub, "POST", "/echo", token="ann", data="x")
        await ask(hub, "POST", "/echo", token="bob", data="x")
        await get(hub, "/echo", token="ann")
    lines = [vars(record) for record in caplog.records if record.name == "gitfed.audit"]
    told = [[line[key] for key in ("who", "way", "what", "where", "result", "remote")] for line in lines]
    assert told == [
        ["ann", "oidc", "POST /echo", "cluster=m1", "200", "127.0.0.1"],
        ["bob", "oidc", "POST /echo", "/echo", "refused: no right", "127.0.0.1"],
    ]


# -- sessions ---------------------------------------------------------------------------------------------------


async def _logged_in(hub: stage.Staged) -> tuple[dict[str, str], str]:
    token = hub.hub.login_tokens.issue(Caller("ann", way=AuthenticationMethod.LOGIN_TOKEN))
    status, text, headers = await ask(hub, "GET", f"/login/token?token={token}")
    assert status == 200
    assert 'content="0;url=/ui"' in text
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    value = cookie.partition(";")[0]
    session = hub.hub.sessions.find(value.partition("=")[2])
    assert session is not None
    return {"Cookie": value}, session.csrf


async def test_a_login_link_works_once(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER) as hub:
        token = hub.hub.login_tokens.issue(Caller("ann"))
        assert (await ask(hub, "GET", f"/login/token?token={token}"))[0] == 200
        assert (await ask(hub, "GET", f"/login/token?token={token}"))[0] == 401
        assert (await ask(hub, "GET", "/login/token"))[0] == 401


async def test_with_tls_on_a_loopback_address_a_browser_may_come_without(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER, options=HubOptions("127.0.0.1", 0, plain_too=True)) as hub:
        assert hub.hub.url == f"https://127.0.0.1:{hub.port}"
        link = login.link(hub.hub, Caller("ann", way=AuthenticationMethod.LOGIN_TOKEN))
        assert link.startswith("http://127.0.0.1:")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            async with browser.get(link) as answer:
                assert answer.status == 200
            async with browser.get(f"{hub.hub.browser_url}/metrics") as answer:
                assert answer.status == 200
            async with browser.get(f"{hub.hub.url}/metrics", ssl=hub.context()) as answer:
                assert answer.status == 401, "what a browser got without TLS opens nothing with it"
        assert (await get(hub, "/metrics", token="ann"))[0] == 200
    async with staged(tmp_path, VIEWER) as hub:
        assert login.link(hub.hub, Caller("ann")).startswith(f"{hub.hub.url}/login")


async def test_a_session_reads_and_ends(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER) as hub:
        cookie, csrf = await _logged_in(hub)
        assert (await get(hub, "/metrics", headers=cookie))[0] == 200
        assert (await ask(hub, "POST", "/logout", headers={**cookie, "X-CSRF-Token": csrf}))[0] == 204
        assert (await get(hub, "/metrics", headers=cookie))[0] == 401


async def test_a_write_of_a_session_repeats_its_token(tmp_path: Path) -> None:
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        cookie, csrf = await _logged_in(hub)
        stale = (403, "the form is too old: load the page again\n")
        assert (await ask(hub, "POST", "/echo", headers=cookie))[:2] == stale
        assert (await ask(hub, "POST", "/echo", headers={**cookie, "X-CSRF-Token": csrf[:-1]}))[:2] == stale
        assert (await ask(hub, "POST", "/echo", headers={**cookie, "X-CSRF-Token": "ä"}))[:2] == stale
        assert (await ask(hub, "POST", "/echo", headers={**cookie, "X-CSRF-Token": csrf}))[0] == 200
        assert (await ask(hub, "POST", "/echo", headers=cookie, data={"csrf": csrf}))[0] == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"}],
)  # fmt: skip
async def test_what_another_site_makes_a_browser_send_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        refused = (403, "a page of another site sent this\n")
        assert (await ask(hub, "POST", "/echo", token="ann", headers=headers))[:2] == refused
        assert (await ask(hub, "POST", "/echo", token="ann", headers={"Origin": hub.url}))[0] == 200


# -- requests that no honest client sends -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/a/../livez", "the path must be in its plain form"),
        ("/a/%2e%2e/livez", "the path must be in its plain form"),
        ("/%2E/livez", "the path must be in its plain form"),
        ("//livez", "the path must be in its plain form"),
        ("/livez\\x", "the path must be in its plain form"),
        ("/livez%00", "the path must be in its plain form"),
        ("/livez/..", "the path must be in its plain form"),
        ("http://elsewhere.example/livez", "the request target must be a path"),
        ("/" + "a" * 5000, "the path is too long"),
    ],
)
async def test_a_path_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, target: str, told: str) -> None:
    async with staged(tmp_path) as hub:
        answer = await raw(hub, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(f"\r\n\r\n{told}\n".encode())


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (b"GET /livez/%FF HTTP/1.1\r\nHost: x\r\n", "the address must be UTF-8"),
        (b"GET /login/token?token=%FFa HTTP/1.1\r\nHost: x\r\n", "the address must be UTF-8"),
        (b"GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n", "the header Authorization must be UTF-8"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nX-CSRF-Token: \xff\r\nCookie: %s\r\n",
         "the header X-CSRF-Token must be UTF-8"),
        (b"GET /echo HTTP/1.1\r\nHost: x\r\nCookie: gitfed-session=\xff\r\n", "the header Cookie must be UTF-8"),
        (b"GET /echo HTTP/1.1\r\nHost: x\r\nAccept: \xff\r\n", "the header Accept must be UTF-8"),
    ],
)  # fmt: skip
async def test_what_is_not_utf_8_is_refused_in_a_sentence(tmp_path: Path, request_: bytes, told: str) -> None:
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        cookie, _ = await _logged_in(hub)
        start = request_.replace(b"%s", cookie["Cookie"].encode())
        answer = await raw(hub, start + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(f"\r\n\r\n{told}\n".encode())


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FORM, b"csrf=\xff"), (FORM, b"csrf=%FF"), (FORM, b"csrf=a&\xff=b"), (f"{FORM}; charset=nothing", b"csrf=a"),
        (f"{FORM}; charset=utf-16", b"csrf=a"), (f"{FORM}; charset=hex", b"csrf=a"),
    ],
)  # fmt: skip
async def test_a_form_that_is_not_utf_8_is_refused_in_a_sentence(tmp_path: Path, kind: str, body: bytes) -> None:
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        cookie, _ = await _logged_in(hub)
        asked = await ask(hub, "POST", "/echo", headers={**cookie, "Content-Type": kind}, data=body)
        assert asked[:2] == (400, "the form cannot be read: it must be UTF-8\n")


async def test_connect_is_refused(tmp_path: Path) -> None:
    async with staged(tmp_path) as hub:
        answer = await raw(hub, b"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", b"tunnelled")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"tunnelled" not in answer


async def test_a_header_that_stands_twice_is_refused(tmp_path: Path) -> None:
    async with staged(tmp_path, VIEWER) as hub:
        twice = "Authorization: Bearer bob\r\nAuthorization: Bearer ann\r\n"
        answer = await raw(hub, f"GET /metrics HTTP/1.1\r\nHost: x\r\n{twice}Connection: close\r\n\r\n".encode())
        assert answer.endswith(b"the header Authorization stands twice\n")


async def test_headers_that_proxies_send_are_not_believed(tmp_path: Path) -> None:
    lies = {
        "X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "ann", "X-Remote-User": "ann", "X-Forwarded-Proto": "https",
        "Impersonate-User": "ann", "Forwarded": "for=127.0.0.1",
    }  # fmt: skip
    async with staged(tmp_path, VIEWER) as hub:
        assert (await get(hub, "/metrics", headers=lies))[0] == 401
        assert await get(hub, "/metrics", token="bob", headers=lies) == (
            403,
            "no AccessPolicy lets bob view everything\n",
        )


async def test_a_flood_of_headers_is_refused(tmp_path: Path) -> None:
    async with staged(tmp_path) as hub:
        many = "".join(f"X-{number}: y\r\n" for number in range(10_000))
        assert (
            b" 400 " in (await raw(hub, f"GET /livez HTTP/1.1\r\nHost: x\r\n{many}\r\n".encode())).partition(b"\r")[0]
        )
        long = f"GET /livez HTTP/1.1\r\nHost: x\r\nX: {'y' * 100_000}\r\n\r\n".encode()
        assert b" 400 " in (await raw(hub, long)).partition(b"\r")[0]


async def test_a_body_is_never_read_past_its_routes_limit(tmp_path: Path) -> None:
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        assert (await ask(hub, "POST", "/echo", token="ann", data=b"x" * 100))[0] == 200
        assert (await ask(hub, "POST", "/echo", token="ann", data=b"x" * 101))[0] == 413
        head = b"POST /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nContent-Length: 1000000000\r\n\r\n"
        assert (await raw(hub, head)).startswith(b"HTTP/1.1 413 ")
        chunked = head.replace(b"Content-Length: 1000000000", b"Transfer-Encoding: chunked")
        assert (await raw(hub, chunked, b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")).startswith(b"HTTP/1.1 413 ")


async def test_a_compressed_body_is_not_unpacked(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(50 << 20))
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        sent = await ask(hub, "PUT", "/echo", token="ann", data=bomb, headers={"Content-Encoding": "gzip"})
        assert sent[:2] == (400, "compressed bodies are not accepted\n")


async def test_what_is_no_http_gets_no_echo_and_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with staged(tmp_path) as hub:
        answer = await raw(hub, b"<script> HTTP/9.9\r\n\r\n")
        assert answer.startswith(b"HTTP/1.0 400 ")
        assert answer.endswith(b"\r\n\r\nthis is no HTTP request\n")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_every_answer_says_that_nothing_may_be_made_of_it(tmp_path: Path) -> None:
    async with staged(tmp_path) as hub:
        _, _, headers = await ask(hub, "GET", "/livez")
        assert headers["Server"] == "gitfed"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


# -- many and slow ----------------------------------------------------------------------------------------------


async def test_who_dribbles_a_request_is_cut_off(tmp_path: Path) -> None:
    async with staged(tmp_path, limits=ConnectionLimits(head=0.2)) as hub:
        letters = [bytes([letter]) for letter in b"GET /livez HTTP/1.1\r\nX: " + b"y" * 100]
        assert await raw(hub, *letters, pause=0.02) == b""
        assert await raw(hub) == b""
        assert hub.hub.listener is not None
        assert hub.hub.listener.refused["no request"] == 2


async def test_a_connection_that_rests_too_long_after_an_answer_is_closed(tmp_path: Path) -> None:
    async with staged(tmp_path, limits=ConnectionLimits(head=0.2)) as hub:
        answer = await raw(hub, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /li")
        assert answer.startswith(b"HTTP/1.1 200 OK")


async def test_who_shakes_no_hands_is_cut_off(tmp_path: Path) -> None:
    async with staged(tmp_path, options=stage.EVERYWHERE, limits=ConnectionLimits(handshake=0.2)) as hub:
        assert await raw(hub) == b""
        assert hub.hub.listener is not None
        assert hub.hub.listener.refused["handshake"] == 1


async def test_one_address_has_half_of_all_connections_at_most(tmp_path: Path) -> None:
    async with staged(tmp_path, limits=ConnectionLimits(connections=8)) as hub:
        kept = [await asyncio.open_connection("127.0.0.1", hub.port) for _ in range(4)]
        for reader, writer in kept:
            writer.write(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 401 " in await reader.readline()
        assert await raw(hub, b"GET /livez HTTP/1.1\r\n\r\n") == b""
        kept[0][1].close()
        await kept[0][1].wait_closed()
        await until(lambda: hub.hub.listener is not None and hub.hub.listener.open == 3)
        assert await get(hub, "/livez") == (200, "ok\n")
        for _, writer in kept[1:]:
            writer.close()


async def test_connections_of_agents_leave_the_room_to_others(tmp_path: Path) -> None:
    async def door(request: web.Request) -> web.StreamResponse:
        is_no_stranger(request)
        return web.Response(text="let in")

    async def other(request: web.Request) -> web.StreamResponse:
        return web.Response()

    app = web.Application()
    app.router.add_get("/agent", door)
    app.router.add_get("/", other)
    served = Listener(app, ConnectionLimits(connections=4))
    await served.start("127.0.0.1", 0)
    kept = []
    try:
        for path, answered in (("/agent", 6), ("/", 2)):
            for _ in range(answered):
                reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
                kept.append(writer)
                writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert b" 200 " in await reader.readline()
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        kept.append(writer)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readline() == b"", "half of four is what strangers of one address have"
        assert served.open == 8
    finally:
        for writer in kept:
            writer.close()
        await served.stop()


@pytest.mark.parametrize("options", [stage.LOOPBACK, stage.EVERYWHERE], ids=["no request", "no handshake"])
async def test_the_longest_silent_connection_makes_way(tmp_path: Path, options: HubOptions) -> None:
    async with staged(tmp_path, options=options, limits=ConnectionLimits(connections=8)) as hub:
        kept = [await asyncio.open_connection("127.0.0.1", hub.port) for _ in range(4)]
        await until(lambda: hub.hub.listener is not None and hub.hub.listener.open == 4)
        assert await get(hub, "/livez") == (200, "ok\n")
        assert await kept[0][0].read() == b""
        assert hub.hub.listener is not None
        assert hub.hub.listener.refused["made way"] == 1
        for _, writer in kept:
            writer.close()


async def test_what_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.hub.server.LONGEST", 0.2)
    async with staged(tmp_path, OPERATOR, more=[ECHO]) as hub:
        head = b"POST /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nContent-Length: 90\r\n\r\n"
        assert (await raw(hub, head, b"y")).startswith(b"HTTP/1.1 503 ")


async def test_one_caller_has_so_many_requests_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.hub.server._MOST_AT_ONCE", 2)
    free = asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse:
        await free.wait()
        return web.Response()

    async with staged(tmp_path, VIEWER, more=[Capability((Route("GET", "/wait", wait),))]) as hub:
        waiting = [asyncio.create_task(get(hub, "/wait", token="ann")) for _ in range(2)]
        await until(lambda: hub.hub.listener is not None and hub.hub.listener.open == 2)
        assert (await get(hub, "/metrics", token="ann"))[0] == 429
        assert (await get(hub, "/nothing", token="bob"))[0] == 404
        free.set()
        assert [status for status, _ in await asyncio.gather(*waiting)] == [200, 200]


async def test_a_service_that_fails_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.hub.server._AGAIN", 0.01)
    begun: list[int] = []

    async def service() -> None:
        begun.append(len(begun))
        if len(begun) < 3:
            raise ValueError("no")
        await asyncio.Event().wait()

    async with staged(tmp_path, more=[Capability(services=(service,))]) as hub:
        await until(lambda: len(begun) == 3)
        assert await get(hub, "/livez") == (200, "ok\n")
