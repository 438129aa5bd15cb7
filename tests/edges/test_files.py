"""The cache on disk survives what happens to disks, and only regular files are replaced."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from gitfed.edges import files

BLOB = "0123456789abcdef0123456789abcdef01234567"


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
