"""`answers/` of the state branch: written once, read when asked for, dropped when out of use; a real repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state.state import BranchState, StateBranch
from gitfed.model.base import Body

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE: Body = {
    "webhook": "hooks/w.example.com",
    "operation": "ReviseReplica",
    "object": "Widget.example.com/shop/web",
    "replicas": 2,
    "response": {"patch": [{"op": "replace", "path": "/spec/replicas", "value": 2}]},
}
TWO: Body = {**ONE, "operation": "InterpretReplica", "response": {"replicas": 2}}


@pytest.fixture
def branch(tmp_path: Path) -> StateBranch:
    return StateBranch(git.Repository.create(tmp_path / "clone.git"), bindings)


def write(branch: StateBranch, state: BranchState, answers: Mapping[str, Body]) -> BranchState:
    decisions = replace(state.decisions, repository_id="r", answers=answers)
    return branch.write(state, replace(state, decisions=decisions), message=Message("s"), now=NOW)


def files(branch: StateBranch) -> list[str]:
    commit = branch.head()
    assert commit is not None
    return sorted(path for path in branch.repository.entries(commit) if path.startswith("answers/"))


def test_answers_are_read_as_they_were_written(branch: StateBranch) -> None:
    write(branch, branch.read(), {"d1": ONE, "d2": TWO})
    assert files(branch) == ["answers/d1.yaml", "answers/d2.yaml"]
    answers = branch.read().decisions.answers
    assert dict(answers) == {"d1": ONE, "d2": TWO}
    assert "d3" not in answers
    assert answers.get("d3") is None


def test_the_same_answers_make_no_commit(branch: StateBranch) -> None:
    state = write(branch, branch.read(), {"d1": ONE})
    assert write(branch, state, {"d1": dict(ONE)}) is state
    assert write(branch, branch.read(), {"d1": ONE}).commit == state.commit


def test_what_is_not_in_use_any_more_goes(branch: StateBranch) -> None:
    write(branch, branch.read(), {"d1": ONE, "d2": TWO})
    state = write(branch, branch.read(), {"d2": TWO})
    assert files(branch) == ["answers/d2.yaml"]
    write(branch, state, {})
    assert files(branch) == []


def test_a_broken_answer_is_none_and_the_rest_is_read(branch: StateBranch) -> None:
    state = write(branch, branch.read(), {"d1": ONE, "d2": TWO})
    broken: dict[str, bytes | None] = {"answers/d1.yaml": b"{", "answers/d3.yaml": b"[1]"}
    branch.repository.commit_files(branch.ref, broken, "by hand", parent=state.commit, when=NOW)
    read = branch.read()
    assert read.decisions.known
    assert dict(read.decisions.answers) == {"d1": {}, "d2": TWO, "d3": {}}
    write(branch, read, {"d1": ONE, "d2": TWO})
    assert dict(branch.read().decisions.answers) == {"d1": ONE, "d2": TWO}
