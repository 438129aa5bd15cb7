"""A pusher without a key moves the branch backwards, and what signatures protect stays protected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.model.base import Commit
from tests.reading.trusted import Place, accepted
from tests.support import signing
from tests.support.signing import Person


@pytest.fixture
def ada(people: Path) -> Person:
    return signing.with_ssh("ada", people)


@pytest.fixture
def eve(people: Path) -> Person:
    return signing.with_ssh("eve", people)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for reader in made.readers:
        reader.repository.close()


def back_to(place: Place, commit: str) -> None:
    """What `git push --force` does to the followed branch."""
    place.git("reset", "-q", "--hard", commit)


@pytest.mark.parametrize("commits", ["head", "all"])
def test_an_unsigned_ancestor_from_before_verify_never_becomes_the_base(
    place: Place, ada: Person, commits: str
) -> None:
    place.settings(ada, "none")
    before = ada.commit(place.work, "before anybody asked", signed=False)
    place.settings(ada, commits)
    ada.commit(place.work, "ask for signatures")
    reader = place.reader()
    base = accepted(reader)
    back_to(place, before)
    assert reader.newest() == base
    assert reader.refused == (
        f"{before[:12]} does not descend from {base[:12]}, which was accepted last "
        f"(an approver's signed commit may say Gitfed-Replaces: {base})"
    )
    evil = ada.commit(place.work, "then anything", signed=False)
    assert reader.newest() == base
    assert reader.refused.startswith(f"{evil[:12]} does not descend from {base[:12]}")
    assert place.reader().newest() == base, "a restart forgets nothing"


@pytest.mark.parametrize("commits", ["head", "all"])
def test_an_older_signed_commit_does_not_bring_back_a_removed_key(
    place: Place, ada: Person, eve: Person, commits: str
) -> None:
    place.settings(eve, commits)
    old = eve.commit(place.work, "eve may sign")
    reader = place.reader()
    accepted(reader)
    place.settings(ada, commits)
    eve.commit(place.work, "eve hands over to ada")
    base = accepted(reader)
    back_to(place, old)
    assert reader.newest() == base
    eve.commit(place.work, "eve is back")
    assert reader.newest() == base


def test_a_side_branch_from_before_a_key_was_removed_hands_nothing_over(place: Place, ada: Person, eve: Person) -> None:
    place.settings(ada, "head")
    ada.commit(place.work)
    ada.git(place.work, "switch", "-q", "-c", "abandoned")
    place.settings(eve, "head")
    ada.commit(place.work, "let eve sign (never merged)")
    ada.git(place.work, "switch", "-q", "main")
    ada.commit(place.work, "the base")
    reader = place.reader()
    base = accepted(reader)
    ada.git(place.work, "switch", "-q", "abandoned")
    eve.git(place.work, "merge", "-q", "-s", "ours", "-S", "-m", "the base is the second parent", "main")
    ada.git(place.work, "branch", "-q", "-f", "main", "abandoned")
    ada.git(place.work, "switch", "-q", "main")
    assert reader.newest() == base
    assert "which is not trusted" in reader.refused


def replaced(place: Place, who: Person, base: str, *, signed: bool = True) -> str:
    """A rewritten history whose last commit names what it replaces."""
    return who.commit(place.work, f"A new beginning\n\nGitfed-Replaces: {base}", signed=signed)


def test_a_rewritten_history_is_accepted_on_an_approvers_signed_word_and_only_once(
    place: Place, ada: Person, eve: Person
) -> None:
    place.settings(ada, "head", approver="keys/ada.pub")
    first = ada.commit(place.work, "first")
    reader = place.reader()
    accepted(reader)
    ada.commit(place.work, "second")
    base = accepted(reader)
    back_to(place, first)
    replaced(place, ada, base, signed=False)
    assert reader.newest() == base
    back_to(place, first)
    replaced(place, eve, base)
    assert reader.newest() == base
    assert reader.refused.endswith(
        f"its trailer Gitfed-Replaces does not count: it is signed with the key {eve.fingerprint}, which is not trusted"
    )
    back_to(place, first)
    order = replaced(place, ada, base)
    assert accepted(reader) == order
    last = ada.commit(place.work, "the base moves on")
    assert accepted(reader) == last
    back_to(place, order)
    assert reader.newest() == last, "the same order again is a push backwards like any other"


def test_without_approvers_nobody_replaces_the_base(place: Place, ada: Person) -> None:
    place.settings(ada, "all")
    first = ada.commit(place.work, "first")
    reader = place.reader()
    accepted(reader)
    ada.commit(place.work, "second")
    base = accepted(reader)
    back_to(place, first)
    replaced(place, ada, base)
    assert reader.newest() == base
    assert reader.refused.endswith("names no guards.approvers who could replace it")


def test_without_verify_a_history_may_be_rewritten(place: Place, ada: Person) -> None:
    place.settings(ada, "none")
    first = Commit(ada.commit(place.work, signed=False))
    reader = place.reader()
    accepted(reader)
    ada.commit(place.work, signed=False)
    accepted(reader)
    back_to(place, first)
    assert accepted(reader) == first
