"""`bad/<name>.yaml` beside a usual Federation gives exactly the problems in `bad/<name>.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitfed.source import repo
from tests.source.trees import tree

CASES = sorted(Path(__file__).with_name("bad").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_mistake_of_a_file_is_told_with_its_place(case: Path) -> None:
    snapshot = repo.read(tree({case.name: case.read_bytes()}))
    told = "".join(f"{problem}\n" for problem in snapshot.problems)
    assert told == case.with_suffix(".txt").read_text(encoding="utf-8")


def test_there_are_cases() -> None:
    assert len(CASES) > 10
