"""Under which name a file stood before: one that was renamed with a mistake in it is still that file.

Git stores no renames. A file that came with a commit is one that went with the same commit if more than half of the
words of both are the same. Looked for only when a file with errors has no older version under its own name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from gitfed.edges import git
from gitfed.model.base import Commit
from gitfed.source import tree

_SPACE = re.compile(rb"""[\s,:{}\[\]"']+""")
_MOST_GONE = 1000
"""Files of one commit that are looked into."""


class Renames:
    """Of one repository. Files that came with one commit are compared with the same others: these are read once."""

    def __init__(self, repository: git.Repository) -> None:
        self._repository = repository
        self._came: dict[Commit, tuple[Commit, Mapping[str, git.TreeChange]] | None] = {}
        """Commit → the one before, and what differs."""
        self._gone: tuple[Commit, Mapping[str, Counter[bytes]]] | None = None
        """The latest commit that was asked for, and the words of the files that went with it."""

    def before(self, commit: Commit, path: str) -> tuple[Commit, str] | None:
        """(the commit before, the name there) of a file that came with a commit. Raises SourceError."""
        if commit not in self._came:
            self._came[commit] = self._changes(commit)
        came_with = self._came[commit]
        if came_with is None or path not in came_with[1]:
            return None
        parent, changed = came_with
        was, came = changed[path]
        if was is not None or came is None or came.size > tree.LARGEST_FILE:
            return None
        words, best = _words(self._repository.read(came.blob_id)), (0.5, "")
        for name, others in self._words_of_gone(commit, changed).items():
            likeness = _likeness(words, others)
            if likeness > best[0]:
                best = (likeness, name)
        return (parent, best[1]) if best[1] else None

    def _changes(self, commit: Commit) -> tuple[Commit, Mapping[str, git.TreeChange]] | None:
        _, *parents = self._repository.first_parents(commit, limit=2)
        changed = self._repository.changes(parents[0], commit) if parents else None
        return (parents[0], changed) if changed is not None else None

    def _words_of_gone(self, commit: Commit, changed: Mapping[str, git.TreeChange]) -> Mapping[str, Counter[bytes]]:
        if self._gone is None or self._gone[0] != commit:
            gone = [
                change.before
                for _, change in sorted(changed.items())
                if change.after is None and change.before is not None
            ]
            words_by_path = {
                entry.path: _words(self._repository.read(entry.blob_id))
                for entry in gone[:_MOST_GONE]
                if entry.mode not in (tree.SYMLINK, tree.SUBMODULE) and entry.size <= tree.LARGEST_FILE
            }
            self._gone = (commit, words_by_path)
        return self._gone[1]


def _words(data: bytes) -> Counter[bytes]:
    return Counter(filter(None, _SPACE.split(data)))


def _likeness(words: Counter[bytes], other: Counter[bytes]) -> float:
    """Which part of the longer one is in the shorter."""
    return (words & other).total() / max(words.total(), other.total(), 1)
