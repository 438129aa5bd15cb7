"""The watch on a local repository: what wakes it, and what happens when a thread of it ends."""

from __future__ import annotations

import asyncio
import queue
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gitfed.edges import repository_watch
from gitfed.errors import SourceError
from tests.support import patience


def run(path: Path, *args: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(path), *identity, *args], check=True, capture_output=True)


def observed(path: Path, moved: Callable[[str], object]) -> repository_watch._Watch:
    return repository_watch._observe(repository_watch._ref_folders(path), moved)


async def follow(path: Path) -> AsyncIterator[AsyncIterator[None]]:
    watch = repository_watch.watch_repository(path)
    await anext(watch)  # the watch is in place
    yield watch


@pytest.mark.parametrize(
    "move",
    [
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["branch", "team/one/new"],
        ["update-ref", "refs/heads/gitfed/state", "HEAD"],
        ["pack-refs", "--all"],
        ["symbolic-ref", "HEAD", "refs/heads/other"],
    ],
    ids=["a commit", "a branch in a new folder", "an update of a ref", "packed refs", "another HEAD"],
)
async def test_the_watch_wakes_for(tmp_path: Path, move: list[str]) -> None:
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    async for watch in follow(tmp_path):
        run(tmp_path, *move)
        await asyncio.wait_for(anext(watch), patience.SECONDS)
        await watch.aclose()  # type: ignore[attr-defined]


async def test_the_watch_wakes_for_a_commit_made_in_a_linked_worktree(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    run(main, "init", "-q")
    run(main, "commit", "-q", "--allow-empty", "-m", "first")
    run(main, "worktree", "add", "-q", str(linked))
    async for watch in follow(linked):
        run(linked, "commit", "-q", "--allow-empty", "-m", "x")
        await asyncio.wait_for(anext(watch), patience.SECONDS)
        await watch.aclose()  # type: ignore[attr-defined]


async def test_reading_does_not_wake_the_watch(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    seen: queue.Queue[str] = queue.Queue()
    watch_beside = observed(tmp_path, seen.put)
    run(tmp_path, "rev-parse", "HEAD")
    (tmp_path / ".git" / "HEAD").read_text()
    (tmp_path / ".git" / "refs" / "marker").write_text("x")
    # Events come in order: had the reading been told, it would be told before the marker.
    assert (await asyncio.to_thread(seen.get, timeout=patience.SECONDS)).endswith("refs/marker")
    await asyncio.to_thread(watch_beside.stop)


async def test_a_folder_without_a_repository_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^no Git repository at "):
        await anext(repository_watch.watch_repository(tmp_path))


def test_a_move_after_the_loop_has_ended_disturbs_nobody(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")

    async def look_and_leave() -> AsyncIterator[None]:
        watch = repository_watch.watch_repository(tmp_path)
        await anext(watch)
        return watch

    loop = asyncio.new_event_loop()
    watch = loop.run_until_complete(look_and_leave())
    loop.close()
    seen: queue.Queue[str] = queue.Queue()
    watch_beside = observed(tmp_path, seen.put)
    run(tmp_path, "branch", "later")
    # The abandoned watch has been told as well; an error in its thread would fail this test.
    seen.get(timeout=patience.SECONDS)
    watch_beside.stop()
    del watch


async def test_a_watch_that_ended_begins_anew_and_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(repository_watch, "_LOOK", 0.05)
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    before = set(repository_watch._threads())
    async for watch in follow(tmp_path):
        for thread in set(repository_watch._threads()) - before:
            if type(thread).__module__.endswith("inotify_c"):
                thread.stop()  # as if it had stumbled
                await asyncio.to_thread(thread.join, patience.SECONDS)
        await asyncio.wait_for(anext(watch), patience.SECONDS)
        assert [record.message for record in caplog.records] == ["the watch on the repository ended, and begins anew"]
        run(tmp_path, "commit", "-q", "--allow-empty", "-m", "second")
        await asyncio.wait_for(anext(watch), patience.SECONDS)
        await watch.aclose()  # type: ignore[attr-defined]


async def test_a_repository_that_is_gone_is_watched_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_watch, "_LOOK", 0.05)
    run(tmp_path, "init", "-q")
    watch = repository_watch.watch_repository(tmp_path)
    await anext(watch)
    shutil.rmtree(tmp_path / ".git")

    async def to_the_end() -> None:
        async for _ in watch:
            pass

    with pytest.raises(SourceError, match=r"^no Git repository at "):
        await asyncio.wait_for(to_the_end(), patience.SECONDS)
