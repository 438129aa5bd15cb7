"""The older versions of a commit's files: which ones there are, and under which commit.

A history that is asked of one file costs as much as one that is asked of all. So the first few files are looked up one
by one, and from then on all of history is read once.
"""

from __future__ import annotations

from gitfed.edges import git
from gitfed.model.base import Commit

_FEW = 8
_MOST_COMMITS = 50_000
_MOST_VERSIONS = 50
"""Of one file."""


class Versions:
    """Of one repository, as seen from one commit."""

    def __init__(self, repository: git.Repository) -> None:
        self._repository = repository
        self._asked = 0
        self._order: dict[Commit, int] = {}
        """How many commits were made after it, of those that were read."""
        self._by_path: dict[str, list[tuple[int, Commit, str]]] = {}

    def of(self, path: str, start: Commit) -> list[tuple[Commit, str]]:
        """(commit, blob id) of a file's versions along first parents, newest first, from `start` back to where it came
        or came back. Raises SourceError."""
        self._asked += 1
        if self._asked > _FEW and not self._order:
            self._read(start)
        first = self._order.get(start)
        if first is None:
            return self._repository.last_commits_of(path, start, limit=_MOST_VERSIONS, until_deleted=True)
        versions: list[tuple[Commit, str]] = []
        for number, commit, blob in self._by_path.get(path, ()):
            if number < first:
                continue
            if not blob or len(versions) == _MOST_VERSIONS:
                break
            versions.append((commit, blob))
        return versions

    def _read(self, start: Commit) -> None:
        commits = self._repository.all_changes(start, limit=_MOST_COMMITS)
        if len(commits) == _MOST_COMMITS:
            return  # what is older cannot be told from what is not there
        for number, (commit, changes) in enumerate(commits):
            self._order[commit] = number
            for path, blob in changes:
                self._by_path.setdefault(path, []).append((number, commit, blob))
