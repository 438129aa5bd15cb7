"""A branch that a clone may have twice: which one is meant, and where it is written. Real clones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitfed.edges.git import Repository, tracking
from gitfed.errors import SourceUnreachable, StateError
from tests.cli.world import git

BRANCH = "gitfed/state"


def write(repository: Path, text: str, days: int = 0) -> str:
    """One more commit on the branch."""
    opened = Repository.open(repository)
    when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)
    parent = opened.branch_commit(BRANCH)
    return opened.commit_files(BRANCH, {"state.yaml": text.encode()}, text, parent=parent, when=when)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    Repository.open(tmp_path / "origin.git").commit_files(
        "main", {"a": b"a"}, "first", parent=None, when=datetime(2026, 1, 1, tzinfo=UTC)
    )
    write(tmp_path / "origin.git", "one")
    return tmp_path / "origin.git"


@pytest.fixture
def clone(tmp_path: Path, origin: Path) -> Path:
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


def standing(clone: Path, *, begins_anew: bool = False) -> tracking.BranchStanding:
    return tracking.standing(Repository.open(clone), BRANCH, begins_anew=begins_anew)


def home(path: Path) -> str:
    return tracking.home(Repository.open(path), str(path), BRANCH)


def test_a_clone_means_what_it_fetched_and_knows_when(clone: Path, origin: Path) -> None:
    found = standing(clone)
    assert (found.commit, found.tracking) == (git(origin, "rev-parse", BRANCH), "origin/gitfed/state")
    assert found.fetched is not None
    cloned = found.fetched
    newer = write(origin, "two")
    assert standing(clone).commit != newer, "nothing is fetched to look"
    git(clone, "fetch", "-q")
    found = standing(clone)
    assert found.commit == newer
    assert found.fetched is not None
    assert cloned <= found.fetched <= datetime.now(UTC)


def test_an_older_branch_of_ones_own_does_not_shadow_what_was_fetched(clone: Path, origin: Path) -> None:
    git(clone, "fetch", "-q", "origin", f"{BRANCH}:{BRANCH}")
    newer = write(origin, "two")
    git(clone, "fetch", "-q")
    found = standing(clone)
    assert (found.commit, found.behind, found.apart) == (newer, True, False)


def test_a_newer_branch_of_ones_own_counts(clone: Path) -> None:
    git(clone, "branch", "-q", BRANCH, f"origin/{BRANCH}")
    newer = write(clone, "two")
    assert (standing(clone).commit, standing(clone).ahead) == (newer, True)


def test_of_two_that_have_parted_what_was_fetched_counts(clone: Path, origin: Path) -> None:
    git(clone, "branch", "-q", BRANCH, f"origin/{BRANCH}")
    write(clone, "mine", days=2)
    theirs = write(origin, "theirs", days=1)
    git(clone, "fetch", "-q")
    found = standing(clone)
    assert (found.commit, found.apart) == (theirs, True)


def test_of_a_branch_that_begins_anew_the_later_commit_counts(clone: Path, origin: Path) -> None:
    git(clone, "branch", "-q", BRANCH, f"origin/{BRANCH}")
    git(origin, "branch", "-q", "-D", BRANCH)
    newer = write(origin, "anew", days=8)
    git(clone, "fetch", "-q")
    found = standing(clone, begins_anew=True)
    assert (found.commit, found.behind, found.apart) == (newer, True, False)


def test_a_checkout_writes_to_its_origin_and_fetches_what_that_has(clone: Path, origin: Path) -> None:
    newer = write(origin, "two")
    assert home(clone) == str(origin)
    assert standing(clone).commit == newer


def test_what_has_no_origin_or_is_bare_is_written_where_it_lies(clone: Path, origin: Path, tmp_path: Path) -> None:
    assert home(origin) == str(origin)
    git(tmp_path, "clone", "-q", "--bare", str(origin), "copy.git")
    assert home(tmp_path / "copy.git") == str(tmp_path / "copy.git")
    git(clone, "remote", "remove", "origin")
    assert home(clone) == str(clone)


def test_a_mirror_writes_to_what_it_mirrors(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--mirror", str(origin), "mirror.git")
    assert home(tmp_path / "mirror.git") == str(origin)


def test_an_origin_without_the_branch_leaves_it_in_the_checkout(clone: Path, origin: Path) -> None:
    git(origin, "branch", "-q", "-D", BRANCH)
    git(clone, "fetch", "-q", "--prune")
    assert home(clone) == str(clone)


def test_a_branch_that_origin_lost_is_not_begun_anew(clone: Path, origin: Path) -> None:
    git(origin, "branch", "-q", "-D", BRANCH)
    with pytest.raises(StateError, match="origin has no branch gitfed/state any more, which was fetched from there"):
        home(clone)


def test_an_origin_that_cannot_be_asked_leaves_nothing_to_decide_from(clone: Path, origin: Path) -> None:
    origin.rename(origin.with_name("away.git"))
    with pytest.raises(SourceUnreachable, match="origin cannot be asked for its branch gitfed/state, and without it"):
        home(clone)


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (False, "the branch gitfed/state of this repository has commits that origin's lacks: which"),
        (True, "the branch gitfed/state of this repository and origin's have parted: which decisions count is for a"),
    ],
    ids=["pushed nowhere", "parted"],
)
def test_decisions_of_ones_own_are_not_written_over(clone: Path, origin: Path, theirs: bool, said: str) -> None:
    git(clone, "branch", "-q", BRANCH, f"origin/{BRANCH}")
    write(clone, "mine", days=1)
    if theirs:
        write(origin, "theirs", days=2)
    with pytest.raises(StateError, match=said):
        home(clone)
