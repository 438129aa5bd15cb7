"""What autoscalers decided, on the state branch: written, read, and what a spoiled file does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state.state import BranchState, StateBranch
from gitfed.model.decisions import Decisions
from gitfed.model.scaling import AutoscalerRecord
from tests.autoscaling.cron import MINUTE, NOON, after, declared, rule

PATH = "autoscalers/cronfederatedhpa/shop/hours.yaml"


def write(branch: StateBranch, state: BranchState, *records: AutoscalerRecord) -> BranchState:
    decisions = replace(state.decisions, repository_id="r", autoscalers={one.key: one for one in records})
    return branch.write(state, replace(state, decisions=decisions), message=Message("Decide"), now=NOON)


def test_records_are_read_as_they_were_written_and_go_when_they_are_gone(tmp_path: Path) -> None:
    branch = StateBranch(git.Repository.create(tmp_path / "a.git"), bindings)
    record = after(declared(rule(schedule="* * * * *")), None, NOON, NOON + MINUTE)
    state = write(branch, BranchState(None, Decisions(known=False)), record)
    assert StateBranch(branch.repository, bindings).read().decisions.autoscalers == {record.key: record}
    assert write(branch, state, record).commit == state.commit, "nothing new, no commit"
    write(branch, state)
    assert not StateBranch(branch.repository, bindings).read().decisions.autoscalers
    assert state.commit is not None
    assert branch.repository.entries(state.commit).keys() >= {PATH}


def test_a_spoiled_record_is_a_problem_of_its_autoscaler_alone(tmp_path: Path) -> None:
    branch = StateBranch(git.Repository.create(tmp_path / "a.git"), bindings)
    state = write(branch, BranchState(None, Decisions(known=False)), after(declared(rule()), None, NOON))
    branch.repository.commit_files(
        branch.ref, {PATH: b"kind: CronFederatedHPA\nmetadata: {name: hours}\n"}, "by hand", parent=state.commit,
        when=NOON,
    )  # fmt: skip
    read = branch.read().decisions
    assert (dict(read.autoscalers), read.known) == ({}, True)
    [problem] = read.problems
    assert str(problem) == (
        f"gitfed/state:{PATH}: spec is missing (the rest of the state is used; its target gets what its template says "
        "until a rule runs)"
    )
