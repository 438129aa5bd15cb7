"""A repository whose server says nothing, behind a cable that is cut: whoever waited once does not wait again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gitfed.edges import git
from gitfed.edges.git import remote
from gitfed.errors import SourceUnreachable
from tests.clusters.cable import Cable, Cables
from tests.support.git_servers import git_daemon, needs_git_program
from tests.support.ports import free_port

pytestmark = needs_git_program("git-daemon")
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def way(tmp_path: Path) -> Iterator[tuple[str, Cable]]:
    """(URL, the cable to it) of a repository that can be pushed to."""
    (tmp_path / "served").mkdir()
    served = git.Repository.create(tmp_path / "served" / "fleet.git")
    served.commit_files("main", {"a": b"1"}, "one", parent=None, when=WHEN)
    served.close()
    with git_daemon(tmp_path / "served", free_port(), push=True) as url, Cables() as cables:
        cable = cables.to(urlsplit(url).port or 0)
        yield f"git://127.0.0.1:{cable.port}/fleet.git", cable


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[git.Repository]:
    repository = git.Repository.create(tmp_path / "clone.git")
    repository.ours = True
    yield repository
    repository.close()


def refused(clone: git.Repository, url: str) -> SourceUnreachable:
    with pytest.raises(SourceUnreachable) as caught:
        clone.remote_refs(url)
    return caught.value


def test_a_silent_server_is_left_alone_and_every_command_fails_at_once(
    way: tuple[str, Cable], clone: git.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, cable = way
    assert clone.remote_refs(url)
    clone.commit_files("refs/heads/mine", {"b": b"2"}, "two", parent=None, when=WHEN)
    cable.cut()
    monkeypatch.setattr(remote, "_QUESTION", 0.5)
    monkeypatch.setattr(remote, "_AFTER_SILENCE", 0.5)
    monkeypatch.setattr(remote, "_LEFT_ALONE", (3600.0,))
    with pytest.raises(SourceUnreachable, match="timeout: the command was ended"):
        clone._ask(url, "ls-remote", None, timeout=0.5)
    monkeypatch.setattr(clone, "run", lambda *ignored, **more: pytest.fail("it was asked again"))
    first = refused(clone, url)
    assert refused(clone, url) is first
    with pytest.raises(SourceUnreachable) as caught:
        clone.push(url, "refs/heads/mine", expected=None)
    assert caught.value is first


def test_before_anything_else_it_has_to_answer_a_small_question(
    way: tuple[str, Cable], clone: git.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, cable = way
    mine = clone.commit_files("refs/heads/mine", {"b": b"2"}, "two", parent=None, when=WHEN)
    cable.cut()
    monkeypatch.setattr(remote, "_AFTER_SILENCE", 0.5)
    monkeypatch.setattr(remote, "_LEFT_ALONE", (0.0,))
    with pytest.raises(SourceUnreachable):
        clone.push(url, "refs/heads/mine", expected=None, timeout=0.5)
    commands = []
    run = clone.run
    monkeypatch.setattr(clone, "run", lambda *args, **more: (commands.append(args[0]), run(*args, **more))[1])
    with pytest.raises(SourceUnreachable):
        clone.push(url, "refs/heads/mine", expected=None)
    assert commands == ["ls-remote"]
    cable.mend()
    monkeypatch.setattr(remote, "_AFTER_SILENCE", 30.0)
    clone.push(url, "refs/heads/mine", expected=None)
    clone.push(url, "refs/heads/mine", expected=mine)
    assert commands == ["ls-remote", "ls-remote", "push", "push"]


def test_a_server_that_refuses_was_not_silent(way: tuple[str, Cable], clone: git.Repository) -> None:
    url, _ = way
    nobody = url.replace(str(urlsplit(url).port), str(free_port()))
    assert refused(clone, nobody) is not refused(clone, nobody)
