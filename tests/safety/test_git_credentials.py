"""A repository cannot name a server that then gets the credentials of its own."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.documents.state_commits import Message
from gitfed.errors import SourceError
from gitfed.offline import inputs, order_book
from tests.safety.thief import Asked
from tests.safety.thief import thief as thief

SETTINGS = """\
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {name: f}
spec: {state: {url: "%s"}}
"""


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
    book = order_book.OrderBook(opened, repo, credentials)
    with pytest.raises(SourceError):
        order_book.change(book, lambda orders: orders, message=Message("x", (), {}), now=datetime.now(UTC))
    assert thief.authorizations
    assert set(thief.authorizations) == {""}


def test_a_url_that_the_person_gave_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thief: Asked) -> None:
    """Else the tests above could not fail."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "password").write_text("s3cret")
    with pytest.raises(SourceError):
        inputs.open_repository(thief.url, credentials=tmp_path)
    assert any(thief.authorizations)
