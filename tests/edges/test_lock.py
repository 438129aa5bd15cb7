"""Processes that share a data directory or a repository, as real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitfed.edges import lock
from gitfed.errors import UsageError

HOLD = """
import sys
from pathlib import Path
from gitfed.edges import lock
with getattr(lock, sys.argv[1])(Path(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other(what: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds `folder`, until the end or until it is killed."""
    command = [sys.executable, "-c", HOLD, what, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_a_data_directory_is_held_by_one_process_which_is_named(tmp_path: Path) -> None:
    with other("exclusive", tmp_path) as process:
        with pytest.raises(UsageError) as raised, lock.exclusive(tmp_path):
            pass
        assert str(raised.value) == (
            f"another gitfed (process {process.pid}) is using {tmp_path} (stop it, or give this one its own --data-dir)"
        )
    with lock.exclusive(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_sign_tells_of_every_process_that_follows_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "following"
    with lock.sign(folder) as others:
        assert others == []
    with other("sign", folder) as one, other("sign", folder) as two, lock.sign(folder) as others:
        assert others == sorted([str(one.pid), str(two.pid)])
    assert list(folder.iterdir()) == []


def test_the_sign_of_a_process_that_was_killed_is_taken_down(tmp_path: Path) -> None:
    with other("sign", tmp_path) as killed:
        killed.kill()
        killed.wait()
        assert [path.name for path in tmp_path.iterdir()] == [str(killed.pid)]
        with lock.sign(tmp_path) as others:
            assert others == []
            assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]


def test_where_no_sign_can_be_put_up_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "following").write_text("a file where a folder has to be")
    with lock.sign(tmp_path / "following") as others:
        assert others == []
