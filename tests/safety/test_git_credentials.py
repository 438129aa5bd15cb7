"""A repository cannot name a server that then gets the credentials of its own."""

from __future__ import annotations

import contextlib
import http.server
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.documents.state_commits import Message
from gitfed.errors import SourceError
from gitfed.offline import inputs, operator_orders

SETTINGS = """\
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {name: f}
spec: {state: {url: "%s"}}
"""


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


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("bound", [False, True], ids=["to the URL of the person", "by a file url"])
def test_the_password_goes_to_the_persons_url_and_not_to_the_repositorys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thief: Asked, bound: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    checkout, credentials = tmp_path / "fleet", tmp_path / "credentials"
    checkout.mkdir()
    credentials.mkdir()
    (credentials / "password").write_text("s3cret")
    if bound:
        (credentials / "url").write_text("https://git.example/fleet.git")
    git(checkout, "init", "-q", "-b", "main")
    (checkout / "gitfed.yaml").write_text(SETTINGS % thief.url)
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "x")
    git(checkout, "remote", "add", "origin", "https://git.example/fleet.git")
    opened = inputs.open_repository(str(checkout))
    repo = inputs.read(opened).repo
    assert repo.settings.spec.state.url == thief.url
    book = operator_orders.OrderBook(opened, repo, credentials)
    with pytest.raises(SourceError):
        operator_orders.change(book, lambda orders: orders, message=Message("x", (), {}), now=datetime.now(UTC))
    assert thief.authorizations
    assert set(thief.authorizations) == {""}


def test_a_url_that_the_person_gave_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thief: Asked) -> None:
    """Else the tests above could not fail."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "password").write_text("s3cret")
    with pytest.raises(SourceError):
        inputs.open_repository(thief.url, credentials=tmp_path)
    assert any(thief.authorizations)
