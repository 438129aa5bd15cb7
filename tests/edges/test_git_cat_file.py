"""Objects out of one git process that lives between questions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitfed.edges.git.cat_file import CatFile, Ended, Missing


class Started:
    """Starts `git` in `folder`, and keeps what it started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, *args: str) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.processes.append(subprocess.Popen(["git", *args], cwd=self._folder, **pipes))
        return self.processes[-1]


@pytest.fixture
def started(tmp_path: Path) -> Started:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return Started(tmp_path)


def blob(folder: Path, content: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=folder, input=content, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def test_one_process_answers_many_questions(tmp_path: Path, started: Started) -> None:
    objects = CatFile(started)
    contents = [b"", b"one\n", b"a\0b\n\nc", b"x" * 300_000]
    for content in contents:
        name = blob(tmp_path, content)
        assert objects.header(name) == (name, "blob", len(content))
        assert objects.content(name) == content
    objects.close()
    assert [process.returncode for process in started.processes] == [-9]


@pytest.mark.parametrize("name", ["0" * 40, "no-ref", "HEAD^{tree}", "HEAD\ninfo HEAD", "a b c", ""])
def test_what_is_not_there_is_missing_and_the_next_question_is_answered(
    name: str, tmp_path: Path, started: Started
) -> None:
    objects = CatFile(started)
    with pytest.raises(Missing):
        objects.header(name)
    with pytest.raises(Missing):
        objects.content(name)
    assert objects.content(blob(tmp_path, b"there")) == b"there"
    objects.close()
    assert len(started.processes) <= 1


def test_after_the_process_was_killed_the_next_question_starts_another(tmp_path: Path, started: Started) -> None:
    objects, name = CatFile(started), blob(tmp_path, b"there")
    assert objects.content(name) == b"there"
    started.processes[0].kill()
    started.processes[0].wait()
    with pytest.raises(Ended):
        objects.content(name)
    assert objects.content(name) == b"there"
    objects.close()
    assert len(started.processes) == 2


def test_a_damaged_object_ends_the_process_and_not_ours(tmp_path: Path, started: Started) -> None:
    name = blob(tmp_path, b"x" * 5000)
    path = tmp_path / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:30])
    objects = CatFile(started)
    with pytest.raises((Ended, Missing)):
        objects.content(name)
    assert objects.content(blob(tmp_path, b"there")) == b"there"
    objects.close()


def test_the_process_ends_with_the_object_that_asks_it(tmp_path: Path, started: Started) -> None:
    objects = CatFile(started)
    objects.header(blob(tmp_path, b"there"))
    del objects
    assert [process.returncode for process in started.processes] == [-9]
