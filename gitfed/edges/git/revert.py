"""The opposite of a commit, as files: made from objects alone, without a worktree or an index.

A file that no commit touched since goes back to what it was. In one that was changed again both changes are merged, as
`git revert` does it; where they overlap nothing is guessed.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gitfed.errors import SourceError
from gitfed.model.base import Commit

if TYPE_CHECKING:
    from gitfed.edges.git.objects import TreeEntry
    from gitfed.edges.git.repository import Repository

_PLAIN = 0o100644


def files(repository: Repository, commit: Commit, onto: Commit) -> dict[str, bytes | None]:
    """Path → content that `onto` needs so that `commit` (against its first parent) is undone; None deletes.

    Raises SourceError for a root commit, for conflicts (all of them named), and for files that are no plain files.
    """
    parents = repository.info(commit).parents
    if not parents:
        raise SourceError(f"{commit[:7]} has no parent: there is nothing before it")
    before, after, present = (dict(repository.entries(revision)) for revision in (parents[0], commit, onto))
    changed = sorted(path for path in before.keys() | after.keys() if _id(before, path) != _id(after, path))
    contents: dict[str, bytes | None] = {}
    conflicts = []
    for path in changed:
        if _id(present, path) == _id(before, path):
            continue  # undone already
        sides = [listing.get(path) for listing in (before, after, present)]
        if any(entry is not None and entry.mode != _PLAIN for entry in sides):
            raise SourceError(
                f"{path} is no plain file: revert {commit[:7]} with Git", hint=f"git revert {commit[:12]}"
            )
        if _id(present, path) == _id(after, path):
            contents[path] = repository.read(before[path].blob_id) if path in before else None
            continue
        merged = _merged(repository, *sides)
        if merged is None:
            conflicts.append(path)
        else:
            contents[path] = merged
    if conflicts:
        raise SourceError(
            f"{commit[:7]} cannot be reverted by itself: {', '.join(conflicts[:5])} changed again since",
            hint=f"git revert {commit[:12]}, and solve the conflicts",
        )
    return contents


def _id(listing: dict[str, TreeEntry], path: str) -> str:
    return listing[path].blob_id if path in listing else ""


def _merged(
    repository: Repository, before: TreeEntry | None, after: TreeEntry | None, present: TreeEntry | None
) -> bytes | None:
    """`present` with the step from `after` to `before`; None when both changed the same lines."""
    if before is None or after is None or present is None:
        return None
    with tempfile.TemporaryDirectory(prefix="gitfed-") as folder:
        paths = []
        for name, entry in (("present", present), ("after", after), ("before", before)):
            path = Path(folder, name)
            path.write_bytes(repository.read(entry.blob_id))
            paths.append(str(path))
        with contextlib.suppress(SourceError):
            return repository.run("merge-file", "-p", "-q", *paths)
    return None
