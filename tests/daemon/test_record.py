"""The state branch between runs: what was decided and could not be pushed, and what others wrote meanwhile."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.daemon.record import Record
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges import git
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decision, Scheduled, Share

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")


def clone(path: Path) -> git.Repository:
    return git.Repository.open(path) if path.exists() else git.Repository.create(path)


def record(path: Path, there: Path) -> Record:
    made = Record(StateBranch(clone(path), bindings), url=str(there), push=True)
    if not made.load().known:
        made.rebuild({}, {})
    return made


def decide(ours: Record, cluster: str) -> None:
    decided = {WEB: Decision(WEB, "apps/v1", Scheduled((Share(cluster, 2),)))}
    decisions = replace(ours.state.decisions, bindings=decided)
    ours.write(decisions, results={}, held=(), message=state_commits.acted(Act.DECIDED, cluster), now=WHEN)


def _order(other: Record, applied: str) -> None:
    """A person's, of no matter what."""
    decisions = replace(other.state.decisions, applied_commit=Commit(applied * 40))
    message = state_commits.ordered(state_commits.Order.SUSPEND, "Suspend shop/web")
    other.write(decisions, results={}, held=(), message=message, now=WHEN)


def clusters(ours: Record) -> list[str]:
    return [share.cluster for share in ours.state.decisions.bindings[WEB].scheduled.shares]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    path = tmp_path / "there.git"
    git.Repository.create(path)
    return path


def tip(there: Path) -> Commit | None:
    return git.Repository.open(there).branch_commit("gitfed/state")


def test_decisions_of_a_server_outage_survive_a_restart_and_are_pushed_then(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    ours.exchange()
    away = there.rename(tmp_path / "away.git")
    decide(ours, "m2")
    ours.exchange()
    away.rename(there)
    again = record(tmp_path / "a.git", there)
    assert clusters(again) == ["m2"]
    assert tip(there) != again.state.commit
    assert not again.exchange()
    assert tip(there) == again.state.commit
    assert not again.exchange()


def test_what_somebody_else_decided_meanwhile_counts_and_not_what_we_could_not_push(
    tmp_path: Path, there: Path
) -> None:
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    ours.exchange()
    other = record(tmp_path / "b.git", there)
    decide(ours, "m2")
    decide(other, "m3")
    other.exchange()
    with pytest.raises(errors.StateConflict, match="another client pushed"):
        ours.exchange()
    assert clusters(record(tmp_path / "a.git", there)) == ["m3"]


def test_another_daemon_that_decides_is_named_and_an_order_is_none(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    ours.exchange()
    other = record(tmp_path / "b.git", there)
    decide(other, "m3")
    other.exchange()
    decided = other.state.commit
    _order(other, "1")
    other.exchange()
    assert ours.exchange()
    assert decided is not None
    assert [str(one) for one in ours.load().problems] == [
        f"gitfed/state: warning: another gitfed decides here, too: commit {decided[:12]} "
        "(run one daemon for a repository, or give each of them --leader-elect)"
    ]
    assert ours.load().problems == (), "it is named until the branch is read anew"
    _order(other, "2")
    other.exchange()
    assert ours.exchange()
    assert ours.load().problems == ()


def test_a_push_whose_answer_was_lost_is_no_other_daemon(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    ours.exchange()
    before = ours.state.commit
    decide(ours, "m2")
    StateBranch(clone(tmp_path / "a.git"), bindings).push(str(there), expected=before, commit=ours.state.commit)
    assert ours.load().problems == ()
    assert clusters(ours) == ["m2"]


def test_an_answer_tells_whether_somebody_else_wrote(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    assert not ours.exchange()
    assert not ours.exchange()
    other = record(tmp_path / "b.git", there)
    decide(other, "m3")
    other.exchange()
    assert ours.exchange()


def test_a_commit_made_while_another_is_pushed_is_pushed_next(tmp_path: Path, there: Path) -> None:
    """What is pushed is the commit that was asked for, not where the branch stands by then."""
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    first = ours.state.commit
    branch = StateBranch(clone(tmp_path / "a.git"), bindings)
    decide(ours, "m2")
    branch.push(str(there), expected=None, commit=first)
    assert tip(there) == first


def test_a_server_that_refuses_gets_what_is_new_and_is_not_fetched_from(
    tmp_path: Path, there: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refuses = ["git", "-C", str(there), "config", "receive.hideRefs"]
    subprocess.run([*refuses, "refs/heads"], check=True)
    ours = record(tmp_path / "a.git", there)
    decide(ours, "m1")
    assert not ours.exchange()
    assert not ours.shared
    decide(ours, "m2")
    assert not ours.exchange()
    assert [one.message for one in caplog.records if one.name == "gitfed.record"] == [
        "the state branch could not be pushed"
    ]
    subprocess.run([*refuses[:-1], "--unset", refuses[-1]], check=True)
    decide(ours, "m3")
    assert not ours.exchange()
    assert ours.shared
    assert tip(there) == ours.state.commit
