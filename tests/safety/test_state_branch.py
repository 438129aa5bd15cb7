"""Whoever may push to the state branch, and holds no key that counts there, changes nothing that a daemon does."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.documents import bindings, state_commits
from gitfed.documents import facts as source_facts
from gitfed.documents.state_commits import Act
from gitfed.edges import git
from gitfed.edges.git import signing_key
from gitfed.edges.state.facts_branch import FactsBranch
from gitfed.edges.state.state import StateBranch
from gitfed.model.decisions import Decision, Scheduled, Share
from tests.safety.signed_state import BINDING, WEB, WHEN, Fleet, clusters, decide
from tests.support import signing


def test_git_itself_verifies_what_the_daemon_signs(fleet: Fleet) -> None:
    fleet.say()
    commit = decide(fleet.engine("a"), "m1")
    allowed = fleet.folder / "allowed"
    allowed.write_text(f"gitfed {signing_key.of_file(fleet.folder / 'a' / 'state-key').public}\n")
    done = subprocess.run(
        ["git", "-C", str(fleet.there), "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", commit],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert 'Good "git" signature for gitfed with ED25519 key' in done.stderr
    key = fleet.folder / "a" / "state-key"
    assert key.stat().st_mode & 0o777 == 0o600
    public = subprocess.run(["ssh-keygen", "-y", "-f", str(key)], check=True, capture_output=True, text=True).stdout
    assert public.split()[:2] == signing_key.of_file(key).public.split()[:2]


def test_an_unsigned_push_of_bindings_is_left_out_and_overwritten(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.say()
    engine = fleet.engine("a")
    decide(engine, "m1")
    forged = fleet.edit(BINDING, "name: m1", "name: evil")
    assert engine.exchange(), "somebody pushed"
    engine.load()
    assert clusters(engine) == ["m1"]
    told = [record for record in caplog.records if "not believed" in record.message]
    assert [record.__dict__["reason"] for record in told] == [f"{forged[:12]} is not signed"]
    good = decide(engine, "m2")
    assert git.Repository.open(fleet.there).branch_commit("gitfed/state") == good
    assert clusters(fleet.engine("a")) == ["m2"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("state.yaml", "repositoryId", "approvals:\n- {digest: x, commit: y, allowed: {deletions: 9}, by: eve,"
         " at: '2026-01-01T00:00:00+00:00'}\nrepositoryId"),
        ("state.yaml", "repositoryId", "appliedCommit: 1111111111111111111111111111111111111111\nrepositoryId"),
        ("state.yaml", "repositoryId", "suspensions:\n- {of: all, by: eve, at: '2026-01-01T00:00:00+00:00'}\n"
         "repositoryId"),
        (BINDING, "clusters:", "gracefulEvictionTasks:\n  - {fromCluster: m1, purgeMode: Directly}\n  clusters:"),
    ],
    ids=["approvals", "appliedCommit", "suspensions", "an eviction"],
)  # fmt: skip
def test_what_a_stranger_writes_counts_for_nothing(fleet: Fleet, people: Path, path: str, old: str, new: str) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say()
    engine = fleet.engine("a")
    decide(engine, "m1")
    before = engine.load()
    forged = fleet.edit(path, old, new, eve)
    decisions = engine.load()
    assert replace(decisions, problems=()) == before
    (problem,) = decisions.problems
    why = rf"{forged[:12]} is signed with the key SHA256:\S+, which is not trusted"
    assert re.fullmatch(rf"gitfed/state: warning: what was pushed here is left out: {why} \(.*\)", str(problem)), (
        problem
    )
    fleet.edit(path, old, new.replace("eve", "nobody"))
    assert engine.load() == decisions, "nor does what comes after it"


def test_an_operators_signed_order_counts_and_an_unsigned_one_does_not(fleet: Fleet, people: Path) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say(operators=f"'{eve.public.strip()}'")
    engine = fleet.engine("a")
    decide(engine, "m1")
    order = "suspensions:\n- {of: cluster/m1, by: eve, at: '2026-01-01T00:00:00+00:00'}\nrepositoryId"
    fleet.edit("state.yaml", "repositoryId", order, eve)
    assert [one.of for one in engine.load().suspensions] == ["cluster/m1"]
    fleet.edit("state.yaml", "cluster/m1", "all")
    assert [one.of for one in engine.load().suspensions] == ["cluster/m1"]


def test_an_operator_opens_no_gate_and_rewrites_nothing_that_an_engine_did(fleet: Fleet, people: Path) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say(operators=f"'{eve.public.strip()}'", approvers="ada.pub")
    engine = fleet.engine("a")
    decide(engine, "m1")
    approval = (
        "approvals:\n- {digest: x, commit: y, allowed: {deletions: 9}, by: eve, at: '2026-01-01T00:00:00+00:00'}\n"
    )
    fleet.edit("state.yaml", "repositoryId", approval + "repositoryId", eve)
    assert engine.load().approvals == ()
    decide(engine, "m1-again")
    fleet.edit("state.yaml", "repositoryId", "appliedCommit: 1234\nrepositoryId", eve)
    assert engine.load().applied_commit is None
    decide(engine, "m1")
    fleet.edit("state.yaml", "repositoryId", approval + "repositoryId", fleet.ada)
    assert [one.by for one in engine.load().approvals] == ["eve"], "ada may approve"


def test_an_approver_gives_no_orders(fleet: Fleet, people: Path) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say(approvers=f"'{eve.public.strip()}'")
    engine = fleet.engine("a")
    decide(engine, "m1")
    fleet.edit(BINDING, "name: m1", "name: evil", eve)
    engine.load()
    assert clusters(engine) == ["m1"]


def test_an_order_on_top_of_what_does_not_count_does_not_count_either(fleet: Fleet) -> None:
    fleet.say()
    engine = fleet.engine("a")
    decide(engine, "m1")
    fleet.edit(BINDING, "name: m1", "name: evil")
    fleet.edit("README.md", "gitfed", "gitfed ", fleet.ada)
    engine.load()
    assert clusters(engine) == ["m1"]


def test_another_engine_counts_once_the_base_names_its_key(fleet: Fleet) -> None:
    fleet.say()
    decide(fleet.engine("a"), "m1")
    with pytest.raises(errors.StateNotBelieved, match=r"which is not trusted .*spec\.state\.writers"):
        fleet.engine("b")
    fleet.say(writers=f"{fleet.key('a')}, {fleet.key('b')}")
    other = fleet.engine("b")
    assert clusters(other) == ["m1"]
    decide(other, "m2")
    assert clusters(fleet.engine("a")) == ["m2"]


def test_a_state_that_nobody_signed_is_believed_after_a_persons_signed_word(fleet: Fleet, people: Path) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say()
    old = StateBranch(git.Repository.open(fleet.there), bindings)
    before = replace(old.read(), decisions=replace(old.read().decisions, repository_id="1", known=True))
    decided = {WEB: Decision(WEB, "apps/v1", Scheduled((Share("m1", 2),)))}
    after = replace(before, decisions=replace(before.decisions, bindings=decided))
    old.write(before, after, message=state_commits.acted(Act.DECIDED, "x"), now=WHEN)
    with pytest.raises(errors.StateNotBelieved, match=r"the state branch is not believed: .* is not signed"):
        fleet.engine("a")
    fleet.edit("README.md", "gitfed", "gitfed", eve, "I say so\n\nGitfed-Order: trust")
    with pytest.raises(errors.StateNotBelieved, match="which is not trusted"):
        fleet.engine("a")
    fleet.edit("README.md", "gitfed", "gitfed", fleet.ada, "I say so\n\nGitfed-Order: trust")
    assert clusters(fleet.engine("a")) == ["m1"]


def test_with_the_data_folder_lost_a_forged_applied_commit_is_no_base(fleet: Fleet) -> None:
    fleet.say()
    engine = fleet.engine("a")
    decide(engine, "m1")
    forged = "appliedCommit: 1111111111111111111111111111111111111111\nrepositoryId"
    fleet.edit("state.yaml", "repositoryId", forged)
    (fleet.folder / "a").rename(fleet.folder / "lost")
    with pytest.raises(errors.StateNotBelieved):
        fleet.engine("a")
    (fleet.folder / "a" / "state-key").unlink()
    (fleet.folder / "lost" / "state-key").rename(fleet.folder / "a" / "state-key")
    found = fleet.engine("a")  # its key was kept: a Secret, or a volume
    assert clusters(found) == ["m1"]
    assert found.state.decisions.applied_commit is None


def test_a_branch_that_is_pushed_back_in_time_changes_nothing(fleet: Fleet) -> None:
    fleet.say()
    engine = fleet.engine("a")
    first = decide(engine, "m1")
    last = decide(engine, "m2")
    there = git.Repository.open(fleet.there)
    there.advance("refs/heads/gitfed/state", first, expected=last)
    assert engine.exchange()
    engine.load()
    assert clusters(engine) == ["m2"]
    engine.exchange()
    assert there.branch_commit("gitfed/state") == last


def test_without_verify_everything_is_believed_and_the_log_says_so(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.say("none")
    engine = fleet.engine("a")
    decide(engine, "m1")
    forged = fleet.edit(BINDING, "name: m1", "name: other")
    engine.load()
    assert clusters(engine) == ["other"]
    told = [record for record in caplog.records if "without a signature that counts" in record.message]
    assert [record.__dict__["reason"] for record in told] == [f"{forged[:12]} is not signed"]


def test_a_state_believed_before_signatures_were_required_is_judged_again(fleet: Fleet) -> None:
    """So reads a daemon without memory: the state says which commit was applied, and that one asks for them."""
    fleet.say("none")
    engine = fleet.engine("a")
    decide(engine, "m1")
    fleet.edit(BINDING, "name: m1", "name: evil")
    engine.load()
    assert clusters(engine) == ["evil"]
    fleet.say("all")
    assert clusters(fleet.engine("a")) == ["m1"]


def test_facts_that_a_stranger_wrote_are_not_read(fleet: Fleet, people: Path) -> None:
    eve = signing.with_ssh("eve", people)
    fleet.say()
    engine = fleet.engine("a")
    commit = decide(engine, "m1")
    trust, repository = engine.trust, git.Repository.open(fleet.folder / "a" / "clone.git")
    assert trust is not None
    facts = FactsBranch(repository, source_facts, sign=signing_key.of_file(fleet.folder / "a" / "state-key").sign)
    ours = facts.write(facts.read(), {}, now=WHEN, again=True).commit
    assert ours is not None
    facts.push(str(fleet.there), expected=None)
    assert facts.pull(str(fleet.there), believed=lambda one: trust.believes_facts(repository, one)) == ours
    hands = fleet.folder / "hands"
    subprocess.run(["git", "clone", "-q", str(fleet.there), str(hands)], check=True, capture_output=True)
    eve.git(hands, "checkout", "-q", "-B", "facts", "origin/gitfed/facts")
    forged = eve.commit(hands, "Facts of everybody")
    eve.git(hands, "push", "-q", "origin", "facts:gitfed/facts")
    assert facts.pull(str(fleet.there), believed=lambda one: trust.believes_facts(repository, one)) == forged
    assert facts.head() == ours
    assert commit
