"""Which commits may be acted upon, and which trailers open a gate: real keys, real repositories, no clusters."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import git
from gitfed.errors import RevisionNotFound, SourceError
from gitfed.model.base import Commit
from gitfed.reading.trust import allowances
from tests.reading.trusted import Place, accepted
from tests.reading.trusted import ada as ada
from tests.reading.trusted import people as people
from tests.support import signing
from tests.support.signing import Person


@pytest.fixture
def eve(people: Path) -> Person:
    return signing.with_ssh("eve", people)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for reader in made.readers:
        reader.repository.close()


def test_without_a_demand_every_commit_is_accepted(place: Place, ada: Person) -> None:
    place.settings(ada, "none")
    first = ada.commit(place.work, signed=False)
    reader = place.reader()
    assert accepted(reader) == first
    assert accepted(reader) == first
    assert reader.refused == ""


def test_an_unsigned_commit_waits_the_last_good_one_stays_and_a_signed_one_heals(place: Place, ada: Person) -> None:
    place.settings(ada)
    first = ada.commit(place.work)
    reader = place.reader()
    assert accepted(reader) == first
    second = ada.commit(place.work, signed=False)
    assert reader.newest() == first
    assert reader.refused == f"{second[:12]} is not signed"
    third = ada.commit(place.work)
    assert accepted(reader) == third
    assert reader.refused == ""


def test_a_commit_signed_by_a_stranger_waits(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada)
    first = ada.commit(place.work)
    reader = place.reader()
    accepted(reader)
    second = eve.commit(place.work)
    assert reader.newest() == first
    assert reader.refused == f"{second[:12]} is signed with the key {eve.fingerprint}, which is not trusted"


def test_a_commit_cannot_excuse_itself(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada)
    first = ada.commit(place.work)
    reader = place.reader()
    accepted(reader)
    place.settings(ada, "none")
    eve.commit(place.work, signed=False)
    assert reader.newest() == first
    place.settings(eve)
    eve.commit(place.work)
    assert reader.newest() == first
    assert place.reader().newest() == first, "a restart does not forget"


def test_keys_are_changed_by_a_commit_that_the_old_keys_signed(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada)
    ada.commit(place.work)
    reader = place.reader()
    accepted(reader)
    place.settings(eve)
    second = ada.commit(place.work)
    assert accepted(reader) == second
    ada.commit(place.work)
    assert reader.newest() == second
    third = eve.commit(place.work)
    assert accepted(reader) == third


@pytest.mark.parametrize("commits", ["head", "all"])
def test_keys_changed_while_the_daemon_was_down_count_if_old_keys_signed_each_change(
    place: Place, ada: Person, eve: Person, people: Path, commits: str
) -> None:
    bob = signing.with_ssh("bob", people)
    place.settings(ada, commits)
    ada.commit(place.work)
    first = accepted(place.reader())
    place.settings(bob, commits)
    ada.commit(place.work)
    place.settings(eve, commits)
    bob.commit(place.work)
    last = eve.commit(place.work)
    assert place.reader().newest() == last
    ada.commit(place.work)
    assert place.reader().newest() == first, "ada gave her key away"
    ada.git(place.work, "reset", "-q", "--hard", "HEAD~3")
    place.settings(eve, commits)
    eve.commit(place.work, "eve lets herself in")
    eve.commit(place.work)
    assert place.reader().newest() == first


@pytest.mark.parametrize(("commits", "waits"), [("head", False), ("all", True)])
def test_head_verifies_the_newest_commit_and_all_every_one_since_the_last_accepted(
    place: Place, ada: Person, commits: str, waits: bool
) -> None:
    place.settings(ada, commits)
    ada.commit(place.work, signed=False)
    ada.commit(place.work)
    reader = place.reader()
    first = accepted(reader)
    smuggled = ada.commit(place.work, signed=False)
    last = ada.commit(place.work)
    assert reader.newest() == (first if waits else last)
    assert reader.refused == (f"{smuggled[:12]} is not signed" if waits else "")


@pytest.mark.parametrize("commits", ["head", "all"])
@pytest.mark.parametrize("signed", [True, False])
def test_an_unsigned_merge_of_signed_commits_waits(place: Place, ada: Person, commits: str, signed: bool) -> None:
    place.settings(ada, commits)
    ada.commit(place.work)
    reader = place.reader()
    first = accepted(reader)
    ada.git(place.work, "switch", "-q", "-c", "topic")
    ada.commit(place.work, "on the branch")
    ada.git(place.work, "switch", "-q", "main")
    ada.commit(place.work, "on main")
    ada.git(place.work, "merge", "-q", "--no-ff", "-m", "merge", *([] if signed else ["--no-gpg-sign"]), "topic")
    merge = ada.git(place.work, "rev-parse", "HEAD")
    assert reader.newest() == (merge if signed else first)
    assert reader.refused == ("" if signed else f"{merge[:12]} is not signed")


def test_all_finds_an_unsigned_commit_that_a_signed_merge_brought_in(place: Place, ada: Person) -> None:
    place.settings(ada, "all")
    ada.commit(place.work)
    reader = place.reader()
    first = accepted(reader)
    ada.git(place.work, "switch", "-q", "-c", "topic")
    hidden = ada.commit(place.work, "on the branch", signed=False)
    ada.git(place.work, "switch", "-q", "main")
    ada.git(place.work, "merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert reader.newest() == first
    assert reader.refused == f"{hidden[:12]} is not signed"


def test_the_first_commit_of_all_must_be_signed_by_the_keys_it_names(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada)
    eve.commit(place.work)
    with pytest.raises(RevisionNotFound, match=r"has no commit that may be applied: .* which is not trusted"):
        place.reader().newest()


def test_the_operators_keys_go_before_those_of_the_repository(
    place: Place, ada: Person, eve: Person, tmp_path: Path
) -> None:
    folder = tmp_path / "trusted"
    folder.mkdir()
    (folder / "ada.pub").write_text(ada.public)
    place.settings(eve, "none")
    eve.commit(place.work)
    reader = place.reader(folder)
    with pytest.raises(RevisionNotFound, match="which is not trusted"):
        reader.newest()
    second = ada.commit(place.work)
    assert accepted(reader) == second
    eve.commit(place.work)
    assert reader.newest() == second
    (folder / "ada.pub").write_text("nothing\n")
    with pytest.raises(SourceError, match=r"holds no keys that can be used: ada\.pub: a line that is no public key"):
        place.reader(folder)


def test_keys_that_could_never_sign_are_told_before_they_lock_everybody_out(place: Place, ada: Person) -> None:
    place.settings(ada)
    (place.work / "keys" / "ada.pub").write_text("hello\n")
    commit = Commit(ada.commit(place.work))
    reader = place.reader()
    settings = reader.read(commit, None, {}).settings
    said = reader.trust.unusable_keys(commit, settings)
    assert said == (
        "spec.sources.verify names keys that cannot be used: keys/ada.pub: a line that is "
        "no public key (options of allowed_signers do not count)"
    )


def test_when_the_accepted_commit_is_gone_nobody_else_may_speak_for_it(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada)
    ada.commit(place.work)
    accepted(place.reader())
    shutil.rmtree(place.work / ".git")
    git.Repository.create(place.work, bare=False)
    place.settings(eve)
    eve.commit(place.work)
    with pytest.raises(
        RevisionNotFound, match="is not in the repository any more: there is no record of whose signatures count"
    ):
        place.reader().newest()
    (place.folder / "accepted.json").unlink()
    place.reader().newest()


def test_a_damaged_memory_is_an_error_and_not_a_fresh_start(place: Place, ada: Person) -> None:
    place.settings(ada)
    ada.commit(place.work)
    (place.folder / "accepted.json").write_text("{")
    with pytest.raises(SourceError, match="cannot be read"):
        place.reader()


def test_what_the_state_says_was_applied_is_the_base_of_a_daemon_without_memory(
    place: Place, ada: Person, eve: Person
) -> None:
    place.settings(ada)
    applied = Commit(ada.commit(place.work))
    place.settings(eve, "none")
    head = Commit(eve.commit(place.work, signed=False))
    reader = place.reader()
    assert reader.newest() == head, "nothing is known yet"
    reader.trust.begin_at(applied)
    assert reader.trust.why_not(head) == f"{head[:12]} is not signed"
    assert reader.newest() == applied


# -- approvals ---------------------------------------------------------------------------------------------------


def granted(place: Place, base: str, message: str, who: Person, *, signed: bool = True) -> tuple[dict[str, int], str]:
    commit = Commit(who.commit(place.work, message, signed=signed))
    found, why = place.reader().trust.approvals(commit, Commit(base))
    assert all(one.commit == commit for one in found)
    return {name: count for one in found for name, count in one.allowed}, why


@pytest.mark.parametrize("kind", ["ssh", "pgp"])
def test_a_trailer_counts_if_an_approver_of_the_applied_commit_signed_it(
    place: Place, people: Path, ada: Person, eve: Person, kind: str
) -> None:
    bob = signing.with_pgp("bob", people) if kind == "pgp" else signing.with_ssh("bob", people)
    (place.work / "keys").mkdir()
    (place.work / "keys" / "bob.asc").write_text(bob.public)
    place.settings(ada, "none", approver="keys/bob.asc")
    base = ada.commit(place.work)
    message = "Shrink\n\nMany go.\n\nReviewed-by: ada\nGitfed-Allow: deletions=60\ngitfed-allow: moved-replicas = 4"
    assert granted(place, base, message, bob) == ({"deletions": 60, "moved replicas": 4}, "")
    assert granted(place, base, message, bob, signed=False) == ({}, "it is not signed")
    why = f"it is signed with the key {eve.fingerprint}, which is not trusted"
    assert granted(place, base, message, eve) == ({}, why)


def test_approvers_are_those_of_the_applied_commit_and_not_of_the_one_that_asks(
    place: Place, ada: Person, eve: Person
) -> None:
    place.settings(ada, "none", approver="keys/ada.pub")
    base = ada.commit(place.work)
    place.settings(eve, "none", approver=eve.fingerprint)
    found, why = granted(place, base, "x\n\nGitfed-Allow: deletions=9", eve)
    assert found == {}
    assert why.endswith("which is not trusted")


def test_without_approvers_a_trailer_does_not_count_and_it_is_said(place: Place, ada: Person) -> None:
    place.settings(ada, "none")
    base = ada.commit(place.work)
    assert granted(place, base, "x\n\nGitfed-Allow: deletions=9", ada) == ({}, f"{base[:12]} names no guards.approvers")
    assert granted(place, base, "no trailer", ada) == ({}, "")


@pytest.mark.parametrize(
    ("body", "allowed", "wrong"),
    [
        ("", {}, False),
        ("Gitfed-Allow: deletions=3", {"deletions": 3}, False),
        ("text\n\nGitfed-Allow: Deletion-Percent=3\nSigned-off-by: x", {"deletion percent": 3}, False),
        ("Gitfed-Allow: deletions=3\n\nmore text, so it is no trailer", {}, False),
        ("Gitfed-Allow: deletions=3\nGitfed-Allow: deletions=5", {"deletions": 5}, False),
        ("Gitfed-Allow: everything=3", {}, True),
        ("Gitfed-Allow: state=3", {}, True),
        ("Gitfed-Allow: deletions", {}, True),
        ("Gitfed-Allow: deletions=-1", {}, True),
    ],
)
def test_trailers_are_the_last_paragraph_and_say_gate_and_number(
    body: str, allowed: dict[str, int], wrong: bool
) -> None:
    found, why = allowances(body)
    assert found == allowed
    assert bool(why) == wrong
