"""The revert of a commit, prepared: a commit beside the branch, and what merging it would do.

Nothing that anybody follows moves. The revert goes the way of every change: reviewed, merged, applied.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gitfed.edges.git import revert
from gitfed.errors import SourceError, UsageError
from gitfed.model.base import Commit
from gitfed.offline import inputs, preview
from gitfed.text.values import dataclass

_SCRATCH = "refs/gitfed/rollback"


@dataclass(frozen=True, slots=True)
class Prepared:
    commit: Commit
    subject: str
    preview: preview.Preview


def prepare(opened: inputs.Opened, undo: Commit, onto: Commit, given: preview.GivenInputs) -> Prepared:
    """Raises SourceError when `undo` cannot be reverted by itself, UsageError when there is nothing to revert."""
    repository = opened.repository
    if not repository.is_ancestor(undo, onto):
        raise UsageError(f"{undo[:7]} is not in the history of {onto[:7]}: there is nothing to revert")
    files = revert.files(repository, undo, onto)
    if not files:
        raise UsageError(f"{undo[:7]} is undone already: {onto[:7]} has nothing of it")
    reverted = repository.info(undo)
    subject = f'Revert "{reverted.subject}"'
    repository.update_ref(_SCRATCH, onto)
    try:
        commit = repository.commit_files(
            _SCRATCH,
            files,
            f"{subject}\n\nThis reverts commit {undo}.\n",
            parent=onto,
            author=_author(opened),
            when=given.now or datetime.now(UTC),
        )
    finally:
        repository.update_ref(_SCRATCH, None)
    return Prepared(commit, subject, preview.between(opened, onto, commit, given))


def name_branch(opened: inputs.Opened, branch: str, commit: Commit) -> None:
    """Raises UsageError when the branch exists or cannot be called so."""
    if opened.repository.branch_commit(branch) is not None:
        raise UsageError(f"there is a branch {branch} already", hint="name another with --branch, or delete it")
    try:
        opened.repository.run("check-ref-format", "--branch", branch)
    except SourceError as error:
        raise UsageError(f"{branch!r} is not a name for a branch") from error
    opened.repository.run("update-ref", f"refs/heads/{branch}", commit, "0" * 40)


def _author(opened: inputs.Opened) -> str:
    """Whoever commits here."""
    try:
        ident = opened.repository.run("var", "GIT_AUTHOR_IDENT").decode("utf-8", "replace")
    except SourceError:
        return "gitfed <gitfed@localhost>"
    return ident.rsplit(" ", 2)[0]
