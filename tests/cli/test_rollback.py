"""`gitfed rollback`: a revert is prepared beside the branch, and nothing that anybody follows moves."""

from __future__ import annotations

from pathlib import Path

from tests.cli.world import FILES, commit, deployment, git, gitfed


def test_the_last_commit_is_reverted_on_a_branch_of_its_own(fleet: Path) -> None:
    before = git(fleet, "rev-parse", "HEAD^{tree}")
    head = commit(
        fleet, {"apps/web.yaml": deployment(9), "apps/new.yaml": deployment().replace("name: web,", "name: api,")}
    )
    result = gitfed("rollback")
    name = f"revert-{head[:7]}"
    assert result.code == 0, result.err
    assert "  shop/Deploy/web   6 → 4   –      3 → 2   6       replicas 9 → 6\n" in result.out
    assert "2 delete in 2 of 3 clusters." in result.out
    assert f"note: branch {name} is at " in result.err
    assert git(fleet, "rev-parse", f"{name}^{{tree}}") == before
    assert git(fleet, "log", "-1", "--format=%s|%b", name) == f'Revert "change"|This reverts commit {head}.'
    assert git(fleet, "rev-parse", "HEAD") == head
    assert git(fleet, "status", "--porcelain") == ""
    again = gitfed("rollback")
    assert (again.code, again.err.splitlines()[-2]) == (2, f"error: there is a branch {name} already")


def test_a_dry_run_makes_no_branch(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(9)})
    refs = git(fleet, "for-each-ref")
    assert gitfed("rollback", "--dry-run=client").code == 0
    assert git(fleet, "for-each-ref") == refs


def test_a_revert_that_changes_nothing_makes_no_branch_unless_it_is_named(fleet: Path) -> None:
    commit(fleet, {"README.md": "a fleet\n"})
    refs = git(fleet, "for-each-ref")
    result = gitfed("rollback")
    assert (result.code, git(fleet, "for-each-ref")) == (0, refs)
    assert "note: the revert changes nothing in the fleet: no branch is made (--branch NAME makes one" in result.err
    assert gitfed("rollback", "--branch", "back").code == 0
    assert "README.md" not in git(fleet, "ls-tree", "--name-only", "back").splitlines()


def test_what_changed_again_in_other_lines_is_merged(fleet: Path) -> None:
    undo = commit(fleet, {"apps/web.yaml": deployment(9)})
    commit(fleet, {"apps/web.yaml": deployment(9, image="web:2")})
    assert gitfed("rollback", undo, "--branch", "back").code == 0
    text = git(fleet, "show", "back:apps/web.yaml")
    assert "replicas: 6" in text
    assert "web:2" in text


def test_what_overlaps_is_not_guessed(fleet: Path) -> None:
    undo = commit(fleet, {"apps/web.yaml": deployment(9)})
    commit(fleet, {"apps/web.yaml": deployment(10)})
    result = gitfed("rollback", undo)
    assert result.code == 4
    assert f"error: {undo[:7]} cannot be reverted by itself: apps/web.yaml changed again since\n" in result.err
    assert f"hint: git revert {undo[:12]}, and solve the conflicts\n" in result.err
    assert "revert-" not in git(fleet, "branch", "-a")


def test_gates_are_asked_before_anything_is_merged(fleet: Path) -> None:
    commit(fleet, {"gitfed.yaml": FILES["gitfed.yaml"] + "spec: {guards: {maxDeletions: 1}}\n"})
    commit(fleet, {"apps/new.yaml": deployment().replace("name: web,", "name: api,")})
    result = gitfed("rollback")
    assert result.code == 5
    assert "HELD 2 changes" in result.out


def test_what_cannot_be_reverted_says_why(fleet: Path) -> None:
    root = gitfed("rollback")
    assert (root.code, "has no parent" in root.err) == (4, True)
    undo = commit(fleet, {"apps/web.yaml": deployment(9)})
    commit(fleet, {"apps/web.yaml": FILES["apps/web.yaml"]})
    undone = gitfed("rollback", undo)
    assert (undone.code, "is undone already" in undone.err) == (2, True)
    git(fleet, "checkout", "-q", "--orphan", "other")
    commit(fleet, {"x.txt": "x"})
    foreign = gitfed("rollback", undo)
    assert (foreign.code, "is not in the history of" in foreign.err) == (2, True)
