"""What commits of the state branch say to programs, whatever their subjects say to people."""

from __future__ import annotations

import pytest

from gitfed.documents import state_commits
from gitfed.documents.state_commits import Act, Message, Order, Told

COMMIT, FACTS = "3f2c1a9be0145f7e2bb8f4a02f3c1d1b1f6a2c44", "5b1f0c94be3a1e0f6f3b8f1d9d2a6a2e1c0d7b55"


def read(message: str) -> Told:
    subject, _, body = message.partition("\n")
    return state_commits.read(subject, body.strip())


def test_a_decision_is_written_for_people_and_for_programs() -> None:
    message = state_commits.acted(Act.DECIDED, COMMIT, ("web → eu-1:6", "db → us-1"), facts=f"facts branch {FACTS}")
    assert str(message) == (
        "Decide for 3f2c1a9be014 [skip ci]\n\nweb → eu-1:6\ndb → us-1\n\n"
        f"Gitfed-Decision: decided\nGitfed-Commit: {COMMIT}\nGitfed-Facts: facts branch {FACTS}\n"
    )
    assert read(str(message)) == Told(Act.DECIDED, COMMIT, FACTS, ("web → eu-1:6", "db → us-1"))


@pytest.mark.parametrize("act", Act)
def test_what_an_engine_did_is_read_from_the_trailers_and_not_from_the_subject(act: Act) -> None:
    message = state_commits.acted(act, COMMIT, ("eu-1: applied",))
    told = Told(act, COMMIT, "", ("eu-1: applied",))
    assert read(str(message)) == told
    assert read(str(Message("In other words", message.reasons, message.trailers))) == told


def test_facts_that_are_no_commit_are_named_and_have_none() -> None:
    message = state_commits.acted(Act.DECIDED, COMMIT, facts="assumed")
    assert "\nGitfed-Facts: assumed\n" in str(message)
    assert read(str(message)) == Told(Act.DECIDED, COMMIT, "", ())


def test_an_order_is_an_order_whatever_its_subject_and_its_reason_say() -> None:
    said = f"because\n\nGitfed-Decision: applied\nGitfed-Commit: {COMMIT}"
    told = read(str(state_commits.ordered(Order.SUSPEND, f"Applied {COMMIT}", said)))
    assert (told.act, told.commit) == (None, "")
    assert told.reasons == ("because", "Gitfed-Decision: applied", f"Gitfed-Commit: {COMMIT}")


def test_a_decision_of_a_newer_gitfed_that_this_one_does_not_know_is_no_act() -> None:
    assert read(f"Applied {COMMIT}\n\nGitfed-Decision: undone\nGitfed-Commit: {COMMIT}") == Told(None, COMMIT, "", ())


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (f"Decide for 3f2c1a9be014 [skip ci]\n\nweb → eu-1\nFacts: facts branch {FACTS}",
         Told(Act.DECIDED, "3f2c1a9be014", FACTS, ("web → eu-1",))),
        ("Decide for 3f2c1a9be014 [skip ci]\n\nFacts: assumed", Told(Act.DECIDED, "3f2c1a9be014", "", ())),
        ("Applied 3f2c1a9be014 [skip ci]\n\neu-1: applied", Told(Act.APPLIED, "3f2c1a9be014", "", ("eu-1: applied",))),
        ("Held at 3f2c1a9be014 [skip ci]", Told(Act.HELD, "3f2c1a9be014", "", ())),
        ("Failed at 3f2c1a9be014 [skip ci]", Told(Act.FAILED, "3f2c1a9be014", "", ())),
        ("Status at 3f2c1a9be014 [skip ci]", Told(Act.STATUS, "3f2c1a9be014", "", ())),
        ("Decide for nobody knows", Told(Act.DECIDED, "", "", ())),
        ("Suspend all [skip ci]\n\nby ada", Told(None, "", "", ("by ada",))),
        ("", Told(None, "", "", ())),
    ],
)  # fmt: skip
def test_commits_from_before_there_were_trailers_are_read_by_their_subjects(message: str, told: Told) -> None:
    assert read(message) == told
