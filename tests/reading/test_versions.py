"""Many files' older versions are the same whether each was asked for by itself or all of history was read once."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from gitfed.edges.git import Repository
from gitfed.model.base import Commit
from gitfed.reading import versions
from gitfed.reading.versions import Versions

NAMES = [*(f"f{number}.yaml" for number in range(12)), "with space.yaml", "odd\x01name.yaml", "ü/é.yaml"]


@pytest.fixture
def history(tmp_path: Path) -> Repository:
    """Changes, deletions, files that come back, and branches that are merged."""
    chance = random.Random(7)

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    def change(number: int) -> None:
        for name in chance.sample(NAMES, 3):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            if path.exists() and chance.random() < 0.3:
                path.unlink()
            else:
                path.write_text(f"{number}")
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", str(number))

    git("init", "-q", "-b", "main")
    for number in range(20):
        change(number)
        if number % 7 == 6:
            git("checkout", "-q", "-b", f"side{number}")
            change(100 + number)
            git("checkout", "-q", "main")
            git("commit", "-q", "--allow-empty", "-m", "between")
            git("merge", "-q", "--no-ff", "-m", "merge", f"side{number}")
    return Repository.open(tmp_path)


def test_all_at_once_is_as_one_by_one(history: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    head = history.resolve("main")
    middle = history.first_parents(head, limit=10)[-1]
    asked = [(name, start) for start in (head, middle) for name in NAMES]
    alone = [history.last_commits_of(name, start, until_deleted=True) for name, start in asked]
    assert sum(map(len, alone)) > 20
    together = Versions(history)
    assert [together.of(name, start) for name, start in asked] == alone

    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("history is read once")

    monkeypatch.setattr(Repository, "last_commits_of", refuse)
    assert [together.of(name, start) for name, start in asked] == alone


def test_what_lies_behind_the_limit_is_asked_one_by_one(history: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_MOST_COMMITS", 5)
    head: Commit = history.resolve("main")
    together = Versions(history)
    for name in NAMES:
        assert together.of(name, head) == history.last_commits_of(name, head, until_deleted=True)
