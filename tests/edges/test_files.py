"""The cache on disk survives what happens to disks; the watch tells every move of a ref."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gitfed.edges import files
from gitfed.errors import SourceError
from tests import patience

BLOB = "0123456789abcdef0123456789abcdef01234567"


def run(path: Path, *args: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(path), *identity, *args], check=True, capture_output=True)


def test_what_was_put_is_got_by_another_process(tmp_path: Path) -> None:
    files.DiskCache(tmp_path / "cache").put(BLOB, b'{"a":1}')
    assert files.DiskCache(tmp_path / "cache").get(BLOB) == b'{"a":1}'


def test_an_unknown_blob_is_absent(tmp_path: Path) -> None:
    assert files.DiskCache(tmp_path / "cache").get(BLOB) is None


def test_only_the_owner_can_read_the_cache(tmp_path: Path) -> None:
    cache = files.DiskCache(tmp_path / "cache")
    cache.put(BLOB, b"secret")
    found = [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    assert [path.stat().st_mode & 0o077 for path in found] == [0] * 3


@pytest.mark.parametrize("damage", [b"", b"x" * 10, b"0" * 64 + b'{"a":1}'], ids=["empty", "cut", "another content"])
def test_a_damaged_entry_is_absent(tmp_path: Path, damage: bytes) -> None:
    cache = files.DiskCache(tmp_path / "cache")
    cache.put(BLOB, b'{"a":1}')
    (entry,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    entry.write_bytes(damage)
    assert cache.get(BLOB) is None
    cache.put(BLOB, b'{"a":2}')
    assert cache.get(BLOB) == b'{"a":2}'


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "..", "a/b", "-rf", "worktree-../../x"])
def test_a_name_that_is_no_blob_id_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    cache = files.DiskCache(tmp_path / "deep" / "cache")
    cache.put(name, b"x")
    assert cache.get(name) is None
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_reported_once_and_work_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file stands where the directory should")
    cache = files.DiskCache(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        cache.put(BLOB, b"1")
        cache.put(BLOB.replace("0", "9"), b"2")
    assert cache.get(BLOB) is None
    assert [record.message for record in caplog.records] == ["parse cache cannot be written"]
    assert cache.trouble is not None
    assert str(cache.trouble) == (
        f"the parse cache {tmp_path / 'cache'} cannot be written: File exists (work goes on without it)"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_leaves_the_old_content_and_no_scratch_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "entry"
    files.write_atomically(target, b"old")
    real = os.fdopen
    # The file that is written to is a full device: write and close fail as on a full disk.
    monkeypatch.setattr(
        os, "fdopen", lambda descriptor, mode: (os.close(descriptor), real(os.open("/dev/full", 1), mode))[1]
    )
    with pytest.raises(OSError, match="No space left"):
        files.write_atomically(target, b"new")
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/var/x"}, "/var/x/gitfed"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/gitfed"),
        ({}, "~/.cache/gitfed"),
    ],
    ids=["named", "a relative path is ignored", "not named"],
)
def test_the_cache_directory_follows_xdg(environment: dict[str, str], expected: str) -> None:
    assert files.cache_directory(environment) == Path(expected).expanduser()


async def follow(path: Path) -> AsyncIterator[AsyncIterator[None]]:
    watch = files.watch_repository(path)
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
    stop = files._observe(files._ref_folders(tmp_path), seen.put)
    run(tmp_path, "rev-parse", "HEAD")
    (tmp_path / ".git" / "HEAD").read_text()
    (tmp_path / ".git" / "refs" / "marker").write_text("x")
    # Events come in order: had the reading been told, it would be told before the marker.
    assert (await asyncio.to_thread(seen.get, timeout=patience.SECONDS)).endswith("refs/marker")
    await asyncio.to_thread(stop)


async def test_a_folder_without_a_repository_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^no Git repository at "):
        await anext(files.watch_repository(tmp_path))


def test_a_move_after_the_loop_has_ended_disturbs_nobody(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")

    async def look_and_leave() -> AsyncIterator[None]:
        watch = files.watch_repository(tmp_path)
        await anext(watch)
        return watch

    loop = asyncio.new_event_loop()
    watch = loop.run_until_complete(look_and_leave())
    loop.close()
    seen: queue.Queue[str] = queue.Queue()
    stop = files._observe(files._ref_folders(tmp_path), seen.put)
    run(tmp_path, "branch", "later")
    # The abandoned watch has been told as well; an error in its thread would fail this test.
    seen.get(timeout=patience.SECONDS)
    stop()
    del watch


def test_only_a_regular_file_is_replaced(tmp_path: Path) -> None:
    """Root could replace /dev/null by a file; so could whoever names a link that leads there."""
    pipe, link, folder = tmp_path / "pipe", tmp_path / "link", tmp_path / "folder"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    folder.mkdir()
    for path, said in (
        (pipe, "it is not a regular file"),
        (link, "it is not a regular file"),
        (folder, "Is a directory"),
    ):
        with pytest.raises(OSError, match=said):
            files.write_atomically(path, b"x")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "link", "pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
