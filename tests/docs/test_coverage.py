"""The pages that name the test of each row: the tests exist, and every row has one or says why not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gitfed.model.declared import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
DOORS = (ROOT / "docs" / "reference" / "doors.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE + DOORS + SECURITY)))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_a_test_that_is_named_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert not name or name in found


def test_every_system_is_proven_by_a_test_or_says_why_not() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| System")]
    unproven = [row for row in rows if "tests/" not in row and "not yet" not in row and "never" not in row]
    assert unproven == [
        "| Speed of controllers and scheduler | `python -m bench` | measured in `bench`, not asserted in a test |"
    ]


def test_every_row_of_the_doors_is_proven_by_a_test_or_says_why_not() -> None:
    rows = [line.strip("| ").split(" | ") for line in DOORS.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "Karmada"]
    assert {len(row) for row in rows} == {3}
    assert [row[2] for row in rows if not re.search(r"`tests/[\w/]+\.py::\w+`", row[2])] == [
        "no test: there is nothing to see", "no test: it is Python's own default",
    ]  # fmt: skip


def test_every_promise_and_every_attack_names_its_test() -> None:
    tables: dict[str, list[str]] = {}
    title = ""
    for line in SECURITY.splitlines():
        title = line if line.startswith("## ") else title
        if line.startswith("| "):
            tables.setdefault(title, []).append(line)
    for title in ("## Promises", "## What is thrown at the hub"):
        rows = tables[title][1:]
        assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py::\w+` \|$", row)] == []
        assert len(rows) >= 30


def test_what_is_not_there_yet_is_what_the_program_says_so_of() -> None:
    said = {row.split("|")[1].strip(" `") for row in PAGE.splitlines() if "| not yet" in row}
    assert said == {kind for (_, kind), words in registry.NOT_ACTED_ON.items() if "yet" in words}
