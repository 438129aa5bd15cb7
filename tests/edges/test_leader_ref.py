"""The leader's lock as a ref: of two writers one wins, and what somebody broke by hand is a free lock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.edges.git import Repository
from gitfed.edges.leader_ref import REF, RefLock
from gitfed.model.leader import Lead

NOW = datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=UTC)
MINE = Lead("me", 60, NOW, NOW)


def lock(folder: Path, name: str) -> RefLock:
    remote = folder / "state.git"
    if not remote.exists():
        Repository.create(remote)
    return RefLock(Repository.create(folder / name), str(remote))


async def test_what_one_writes_another_reads(tmp_path: Path) -> None:
    one, other = lock(tmp_path, "one"), lock(tmp_path, "other")
    assert await one.read() is None
    assert await one.write(MINE)
    assert await other.read() == MINE
    renewed = replace(MINE, renewed=NOW.replace(minute=1))
    assert await one.write(renewed)
    assert await other.read() == renewed


async def test_of_two_who_saw_the_same_one_wins(tmp_path: Path) -> None:
    one, other = lock(tmp_path, "one"), lock(tmp_path, "other")
    for round_ in range(2):
        await one.read()
        await other.read()
        assert await one.write(replace(MINE, holder=f"one-{round_}"))
        assert not await other.write(replace(MINE, holder=f"other-{round_}"))
        found = await other.read()
        assert found is not None
        assert found.holder == f"one-{round_}"


async def test_it_keeps_no_history(tmp_path: Path) -> None:
    one = lock(tmp_path, "one")
    await one.read()
    for minute in range(5):
        assert await one.write(replace(MINE, renewed=NOW.replace(minute=minute)))
    remote = Repository.open(tmp_path / "state.git")
    assert remote.run("rev-list", "--count", REF) == b"1\n"


@pytest.mark.parametrize("text", ["", "[]", "holder: x", "holder: x\nseconds: y\n", "{{{", "a: 1\na: 2\n"])
async def test_what_cannot_be_read_is_held_by_nobody(tmp_path: Path, text: str) -> None:
    one = lock(tmp_path, "one")
    remote = Repository.open(tmp_path / "state.git")
    remote.commit_files(REF, {"leader.yaml": text.encode()}, "by hand", parent=None, when=NOW)
    found = await one.read()
    assert found is not None
    assert found.holder == ""
    assert await one.write(MINE)


async def test_a_repository_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    away = RefLock(Repository.create(tmp_path / "one"), str(tmp_path / "nowhere"))
    with pytest.raises(errors.SourceError):
        await away.read()
