"""Each promise of docs/security.md names a test, and that test exists."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def promises() -> list[str]:
    page = (ROOT / "docs" / "security.md").read_text()
    table = page.partition("## Promises")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


def test_every_promise_names_a_test_that_exists() -> None:
    rows = promises()
    assert len(rows) > 10
    for row in rows:
        found = _NAMED.findall(row)
        assert found, f"no test: {row}"
        for path, name in found:
            text = (ROOT / path).read_text() if (ROOT / path).exists() else ""
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{path}::{name}"


def test_every_test_of_who_is_believed_stands_behind_a_promise_or_is_a_case_of_one() -> None:
    named = {name for row in promises() for _, name in _NAMED.findall(row)}
    for path in ("test_history_backwards.py", "test_state_branch.py", "test_state_attacks.py", "test_base.py"):
        tests = re.findall(r"^def (test_\w+)\(", (ROOT / "tests" / "safety" / path).read_text(), re.MULTILINE)
        assert named & set(tests), path
