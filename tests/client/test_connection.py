"""What becomes of an answer that is none, or none of a hub; against servers that listen for real."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gitfed.cli import exits
from gitfed.client import lists
from gitfed.client.connection import HubConnection
from gitfed.client.credential import Credential
from gitfed.edges import certificates
from gitfed.errors import GitfedError, HubError, HubUnreachable, NotThere, UsageError
from tests.cli.world import gitfed

TOKEN = "a-token-that-nobody-may-see"
Answer = tuple[int, dict[str, str], bytes]
_JSON = {"Content-Type": "application/json"}
_PROBLEM = {"Content-Type": "application/problem+json"}


@contextlib.contextmanager
def answering(
    answer: Callable[[BaseHTTPRequestHandler], Answer], context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """A server that answers all requests so; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"{'https' if context is not None else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _problem(status: int, detail: str, **headers: str) -> Answer:
    body = json.dumps({"type": "about:blank", "title": "", "status": status, "detail": detail}).encode()
    return status, {**_PROBLEM, **headers}, body


def _asked(url: str) -> list[Any]:
    return lists.items(HubConnection(url, Credential(token=TOKEN), seconds=5), "clusters")


@pytest.mark.parametrize(
    ("answer", "kind", "told", "hint", "code"),
    [
        (_problem(401, "no credential"), HubError, "the hub at URL: no credential", "the token has expired, is for", 4),
        (_problem(403, "no AccessPolicy lets bob view"), HubError, "the hub at URL: no AccessPolicy lets bob view",
         "AccessPolicies say who may do what", 4),
        (_problem(404, "no object x"), NotThere, "no object x", "", 2),
        (_problem(404, "404: Not Found"), HubError, "the hub at URL knows no /api/v1/clusters",
         "it is a gitfed of another version", 4),
        (_problem(409, "written by others"), HubError, "the hub at URL: written by others", "", 4),
        (_problem(400, "limit is a number"), UsageError, "limit is a number", "", 2),
        (_problem(429, "too many", **{"Retry-After": "30"}), HubUnreachable, "the hub at URL: too many",
         "try again in 30 s", 4),
        (_problem(503, "no commit was planned yet"), HubUnreachable, "the hub at URL: no commit was planned yet",
         "try again in a moment", 4),
        (_problem(500, "oh"), HubUnreachable, "the hub at URL answers HTTP 500 Internal Server Error", "", 4),
        (_problem(403, f"bad token {TOKEN}"), HubError, "the hub at URL: bad token ***", "AccessPolicies", 4),
        ((502, {"Content-Type": "text/html"}, b"<html>"), HubUnreachable, "URL answers HTTP 502 Bad Gateway", "", 4),
        ((200, {"Content-Type": "text/html"}, b"<html>hello"), HubError,
         "what answers at URL is no hub of gitfed (HTTP 200 OK, text/html)", "gitfed run --hub-address opens one", 4),
        ((404, {"Content-Type": "text/plain"}, b"no"), HubError,
         "what answers at URL is no hub of gitfed (HTTP 404 Not Found, text/plain)", "", 4),
        ((302, {"Location": "https://login.example"}, b""), HubError, "URL sends us elsewhere (HTTP 302 Found)",
         "name the address of the hub itself", 4),
        ((200, _JSON, b'{"schema": "gitf'), HubError, "the hub at URL: its answer is no JSON", "", 4),
        ((200, _JSON, b"[1]"), HubError, "the hub at URL: its answer is no JSON object", "", 4),
        ((200, _JSON, b"{}"), HubError,
         "the hub at URL does not say what it answers, where gitfed.io/clusters/v1 was asked for", "it is a", 4),
        ((200, _JSON, b'{"schema": "gitfed.io/clusters/v2", "items": []}'), HubError,
         "the hub at URL answers 'gitfed.io/clusters/v2', where gitfed.io/clusters/v1 was asked for", "it is a", 4),
        ((200, _JSON, b'{"schema": "gitfed.io/clusters/v1", "items": [{}]}'), HubError,
         "the hub at URL: items.0.name of its answer: Field required", "it is a gitfed of another version", 4),
        ((200, {**_JSON, "Content-Length": "100"}, b"{"), HubUnreachable, "the hub at URL cut the connection", "", 4),
        ((200, {**_JSON, "Content-Encoding": "gzip"}, b"no gzip"), HubUnreachable,
         "the hub at URL: its answer is damaged", "", 4),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_is_told_with_what_to_do(
    answer: Answer, kind: type[GitfedError], told: str, hint: str, code: int
) -> None:
    with answering(lambda request: answer) as url:
        with pytest.raises(GitfedError) as refused:
            _asked(url)
        assert type(refused.value) is kind
        assert refused.value.message == told.replace("URL", url)
        assert refused.value.hint.startswith(hint)
        assert TOKEN not in str(refused.value)
        assert exits.of(refused.value) == code


def test_agents_of_a_hub_that_knows_no_pools_are_their_clusters_own() -> None:
    told = {
        "cluster": "edge", "name": "system:gitfed:agent:edge", "state": "Connected", "connections": 1, "instance": "a1",
        "connectedSince": "2026-03-01T12:00:00Z", "lastHeard": None, "program": "gitfed 0.1", "protocol": 2,
        "slice": None, "certificateEnds": None,
    }  # fmt: skip
    body = json.dumps({"schema": "gitfed.io/agents/v1", "items": [told], "total": 1}).encode()
    with answering(lambda request: (200, _JSON, body)) as url:
        found = lists.items(HubConnection(url, Credential(token=TOKEN), seconds=5), "agents")
    assert found == [{**told, "pool": "", "member": ""}]


def test_a_redirect_does_not_carry_the_token_along() -> None:
    seen: list[str | None] = []

    def note(request: BaseHTTPRequestHandler) -> Answer:
        seen.append(request.headers["Authorization"])
        return 200, _JSON, b"{}"

    with (
        answering(note) as elsewhere,
        answering(lambda request: (307, {"Location": f"{elsewhere}/api/v1/clusters"}, b"")) as url,
        pytest.raises(HubError),
    ):
        _asked(url)
    assert seen == []


def test_members_that_are_new_are_no_fault() -> None:
    body = b'{"schema": "gitfed.io/quotas/v1", "items": [], "more": 1}'
    with answering(lambda request: (200, _JSON, body)) as url:
        assert lists.items(HubConnection(url, Credential(token=TOKEN)), "quotas") == []


def test_who_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(HubUnreachable) as late:
            lists.items(HubConnection(url, Credential(token=TOKEN), seconds=0.2), "clusters")
    assert late.value.message == f"the hub at {url} does not answer in time"
    with pytest.raises(HubUnreachable) as refused:
        _asked(url)
    assert refused.value.message == f"the hub at {url} refuses the connection"


def _server(folder: Path, pair: certificates.Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "pair.pem").write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(folder / "pair.pem")
    return context


def test_a_hub_whose_certificate_is_not_trusted_gets_nothing(tmp_path: Path) -> None:
    authority = certificates.Authority.open(tmp_path / "ca")
    seen: list[str] = []

    def note(request: BaseHTTPRequestHandler) -> Answer:
        seen.append(request.path)
        return 200, _JSON, b"{}"

    long_ago = datetime.now(UTC) - timedelta(days=100)
    for pair, trusts, told in (
        (authority.server(["127.0.0.1"]), b"", "its certificate is not trusted: "),
        (authority.server(["127.0.0.1"], now=long_ago), authority.certificate,
         "its certificate is not trusted: certificate has expired"),
        (authority.server(["other.example"]), authority.certificate, "its certificate is not trusted: IP address mism"),
    ):  # fmt: skip
        with answering(note, _server(tmp_path, pair)) as url, pytest.raises(HubUnreachable) as refused:
            lists.items(HubConnection(url, Credential(authority=trusts, token=TOKEN), seconds=5), "clusters")
        assert refused.value.message.startswith(f"the hub at {url}: {told}")
    assert seen == []


def test_a_client_certificate_that_is_over_is_told_as_such(tmp_path: Path) -> None:
    authority = certificates.Authority.open(tmp_path / "ca")
    context = _server(tmp_path, authority.server(["127.0.0.1"]))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=authority.certificate.decode())
    over = authority.client("ann", (), timedelta(hours=1), now=datetime.now(UTC) - timedelta(days=1))
    credential = Credential(authority.certificate, over.certificate, over.key)
    with answering(lambda request: (200, _JSON, b"{}"), context) as url, pytest.raises(HubUnreachable) as refused:
        lists.items(HubConnection(url, credential, seconds=5), "clusters")
    assert refused.value.message == f"the hub at {url}: your client certificate has expired"
    assert refused.value.hint == "gitfed kubeconfig --admin makes another"


def test_the_command_line_says_what_is_wrong_and_never_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with answering(lambda request: _problem(403, f"no AccessPolicy lets {TOKEN} view")) as url:
        for words in (
            ["get", "clusters"],
            ["explain", "deploy/shop/web"],
            ["suspend", "all"],
            ["approve", "deletions"],
        ):
            found = gitfed(*words, "--server", url, "--token-file", token)
            assert (found.code, found.out) == (4, "")
            assert found.err == (f"error: the hub at {url}: no AccessPolicy lets *** view\n"
                                 "hint: AccessPolicies say who may do what\n")  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["get", "clusters", "--server", "http://hub.example"], "http://hub.example has no TLS"),
        (["get", "clusters", "--server", "https://a:b@hub.example"], "https://hub.example holds a user or a password"),
        (["get", "clusters", "--server", "https://hub.example", "--repo", "."], "--repo is about a repository"),
        (["get", "works", "--live", "--context", "hub"], "no kubeconfig: no context 'hub'"),
        (["get", "clusters", "--token-file", "/dev/null"], "--token-file is about a hub: --server says where it is"),
        (["get", "clusters", "--watch"], "--watch follows a running daemon: --server says where its hub is"),
        (["get", "clusters", "--server", "https://hub.example", "--kubeconfig", "/dev/null"],
         "nothing says who asks https://hub.example"),
        (["reconcile", "--wait", "--server", "https://hub.example"], "--wait reads the state branch"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_bad_usage(words: list[str], told: str) -> None:
    found = gitfed(*words)
    assert found.code == 2
    assert found.err.startswith(f"error: {told}")


def test_what_is_typed_beats_the_environment(tmp_path: Path) -> None:
    environment = {"GITFED_SERVER": "https://hub.invalid"}
    missing = gitfed("get", "clusters", "--repo", tmp_path / "none", env=environment)
    assert "hub.invalid" not in missing.err
    asked = gitfed("get", "clusters", env={**environment, "KUBECONFIG": str(tmp_path / "none")})
    assert asked.err.startswith("error: nothing says who asks https://hub.invalid")
