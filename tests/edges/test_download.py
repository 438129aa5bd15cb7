"""Files by their address, from a real server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gitfed.edges import download
from gitfed.errors import SourceError, SourceUnreachable, UsageError

PLACES = {
    "/away": "http://rules.example.com/x.yaml",
    "/file": "file:///etc/passwd",
    "/there": "/rules.yaml",
    "/spaced": "/r%75les.yaml?of=a b\xe9",
    "/round": "/round",
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        assert query in ("", "token=secret", "of=a%20b%E9"), query
        if path in PLACES:
            self.send_response(302)
            self.send_header("Location", PLACES[path])
            self.end_headers()
        elif path in ("/rules.yaml", "/r%75les.yaml"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a: 1\n" * 1000)
        else:
            self.send_error(503 if path == "/down" else 404)

    def log_message(self, *_: object) -> None:
        """Nothing on the screen of who runs the tests."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_file_is_fetched_up_to_its_limit(server: str) -> None:
    assert download.fetch(f"{server}/rules.yaml", most=10_000) == b"a: 1\n" * 1000
    assert len(download.fetch(f"{server}/rules.yaml", most=100)) == 101
    assert download.fetch(f"{server}/there", most=10_000) == b"a: 1\n" * 1000
    assert download.fetch(f"{server}/spaced", most=10_000) == b"a: 1\n" * 1000


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://rules.example.com/x.yaml", "is no https address"),
        ("file:///etc/passwd", "is no https address"),
        ("ftp://localhost/x", "is no https address"),
        ("https:///x", "is no https address"),
        ("https://localhost:abc/x", "is no address"),
    ],
)
def test_only_addresses_that_nobody_on_the_way_can_change_are_asked(url: str, why: str) -> None:
    with pytest.raises(UsageError) as told:
        download.fetch(url, most=10)
    assert str(told.value) == f"{url} {why}"


def test_a_password_is_neither_sent_nor_shown() -> None:
    with pytest.raises(UsageError) as told:
        download.fetch("https://me:secret@localhost/x.yaml?token=secret", most=10)
    assert str(told.value).startswith("https://localhost/x.yaml holds a password")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("/none?token=secret", SourceError, "{server}/none: HTTP status 404"),
        ("/down", SourceUnreachable, "{server}/down: HTTP status 503"),
        ("/away", SourceError, "{server}/away sends us to http://rules.example.com/x.yaml, which is no https address"),
        ("/file", SourceError, "{server}/file: HTTP status 302"),
    ],
)
def test_what_the_server_says_is_told_without_the_query(
    server: str, path: str, kind: type[SourceError], message: str
) -> None:
    with pytest.raises(SourceError) as told:
        download.fetch(f"{server}{path}", most=10)
    assert type(told.value) is kind
    assert str(told.value) == message.format(server=server)


def test_a_server_that_is_not_there_or_sends_us_round_is_told(server: str) -> None:
    with pytest.raises(SourceUnreachable, match=r"^http://127.0.0.1:1/x: the server refuses the connection$"):
        download.fetch("http://127.0.0.1:1/x", most=10)
    with pytest.raises(SourceError, match="/round: HTTP status 302"):
        download.fetch(f"{server}/round", most=10)
