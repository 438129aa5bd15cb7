"""Reasons: every code has its sentence, is given somewhere, and is on the reference page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitfed.model.base import ClusterName
from gitfed.model.reason import SENTENCES, Reason, ReasonCode

ROOT = Path(__file__).parents[2]
CODES = [code for code in ReasonCode if code is not ReasonCode.NONE]


@pytest.mark.parametrize("code", CODES, ids=str)
def test_every_code_has_a_sentence_that_says_what_it_was_given(code: ReasonCode) -> None:
    given = {"subject": "Argo CD", "detail": "three of two", "clusters": "eu-1, eu-2"}
    said = str(Reason(code, "Argo CD", (ClusterName("eu-1"), ClusterName("eu-2")), "three of two"))
    named = set(re.findall(r"\{(\w+)\}", SENTENCES[code]))
    assert said
    assert named <= given.keys()
    assert {name for name, text in given.items() if text in said} == named


def test_every_code_is_given_by_some_decision() -> None:
    code_files = [path for path in (ROOT / "gitfed").rglob("*.py") if path.name != "reason.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in code_files)
    assert [code.name for code in CODES if not re.search(rf"\bReasonCode\.{code.name}\b", text)] == []


def test_no_reason_is_false_and_says_nothing() -> None:
    assert not Reason()
    assert str(Reason()) == ""


def test_additions_follow_the_sentence() -> None:
    reason = Reason(ReasonCode.REMOVED, if_present=True, once_empty=True)
    assert str(reason) == (
        "removed from the repository, once it is empty (if it exists; its policy suspends it at present)"
    )


def test_nothing_reads_the_sentence_of_a_change_back() -> None:
    reads = re.compile(r"\.reason\)?\.(startswith|endswith|removeprefix|partition)\(")
    assert [
        str(path.relative_to(ROOT))
        for path in (ROOT / "gitfed").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if reads.search(line) and "change" in line
    ] == []


def test_the_page_of_reasons_is_up_to_date() -> None:
    script = ROOT / "tools" / "reasons_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run: python tools/reasons_reference.py"
