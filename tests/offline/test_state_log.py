"""The history of a state branch that gitfed wrote before its commits had trailers.

`recorded/state-branch.bundle` is a whole repository of that time, with its state and facts branches; what `gitfed log`
and `gitfed blame` said of it then lies beside it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.world import gitfed

RECORDED = Path(__file__).with_name("recorded")


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("earlier") / "fleet.git"
    subprocess.run(
        ["git", "clone", "-q", "--mirror", str(RECORDED / "state-branch.bundle"), str(path)], check=True,
        capture_output=True,
    )  # fmt: skip
    subprocess.run(["git", "-C", str(path), "remote", "remove", "origin"], check=True)
    return path


def test_a_branch_without_trailers_tells_the_same_history_as_ever(earlier: Path) -> None:
    assert gitfed("log", "--repo", earlier).out == (RECORDED / "log.txt").read_text()
    assert gitfed("blame", "deploy/shop/web", "--repo", earlier).out == (RECORDED / "blame.txt").read_text()


def test_each_entry_of_such_a_branch_keeps_its_members_and_gets_its_act(earlier: Path) -> None:
    entries = json.loads(gitfed("log", "--repo", earlier, "-o", "json").out)["entries"]
    before = json.loads((RECORDED / "log.json").read_text())["entries"]
    assert [{name: one[name] for name in old} for one, old in zip(entries, before, strict=True)] == before
    acts = {one["what"].split()[0]: one["act"] for one in entries}
    assert acts == {"Decide": "decided", "Applied": "applied", "Held": "held", "Failed": "failed", "Suspend": None,
                    "Resume": None}  # fmt: skip
    assert [one["named"] for one in entries if one["act"]] == [one["source"][:12] for one in entries if one["act"]]


def test_a_decision_of_such_a_branch_is_replayed(earlier: Path) -> None:
    assert gitfed("replay", "--repo", earlier).out.startswith("The same bytes: ")
