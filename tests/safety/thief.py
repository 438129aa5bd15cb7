"""A Git server that notes which credentials it is offered."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

import pytest


class Asked(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        self.authorizations: list[str] = []
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/fleet.git"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Asked)
        self.server.authorizations.append(self.headers.get("Authorization", ""))
        self.server.paths.append(self.path)
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_PATCH = do_CONNECT = do_GET

    def log_message(self, *ignored: object) -> None:
        pass


@contextlib.contextmanager
def asked() -> Iterator[Asked]:
    server = Asked()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def thief() -> Iterator[Asked]:
    with asked() as server:
        yield server
