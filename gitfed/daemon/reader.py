"""Where commits come from: a repository on this machine, read in place, or a remote one through our own clone.

Reading is memoised by blob id (in memory and on disk), so a push that changes one file parses one file. A file that
cannot be used holds its objects at their last good version, looked for in the history of the followed branch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gitfed.edges import git
from gitfed.errors import RevisionNotFound, SourceError
from gitfed.model.base import Commit
from gitfed.model.repo import RepoSnapshot
from gitfed.source import repo as source

_FETCHED = "refs/gitfed/source"


class Reader:
    """`location` is a path or a URL; `branch` None follows what HEAD names there. Blocking: call it from a thread."""

    def __init__(self, location: str, clone: git.Repository, cache: source.ParseCache, *, branch: str | None = None) -> None:
        self.location = location
        self.remote = git.is_url(location)
        self._clone = clone
        self._cache = cache
        self._branch = branch
        self._local = None if self.remote else git.Repository.open(Path(location))
        self._last: RepoSnapshot | None = None

    @property
    def repository(self) -> git.Repository:
        return self._clone if self._local is None else self._local

    def watched(self) -> Path | None:
        """The folder to watch for a push or commit; None for a remote."""
        if self._local is None:
            return None
        inside = self._local.path / ".git"
        return inside if inside.is_dir() else self._local.path

    def newest(self) -> Commit:
        """The commit the branch stands at now. Raises SourceUnreachable, RevisionNotFound, SourceError."""
        if self._local is not None:
            branch = self._branch or self._local.head_branch()
            if branch is None:
                return self._local.resolve("HEAD")
            commit = self._local.branch_commit(branch)
            if commit is None:
                raise RevisionNotFound(f"{self.location} has no commit on branch {branch}", hint="the last good commit stays in force")
            return commit
        branch = self._branch or self._remote_branch()
        self._clone.fetch(self.location, [f"+refs/heads/{branch}:{_FETCHED}"])
        commit = self._clone.branch_commit(_FETCHED)
        if commit is None:
            raise RevisionNotFound(f"{self.location} has no branch {branch}")
        return commit

    def _remote_branch(self) -> str:
        """The branch that the remote's HEAD names, as far as its refs tell."""
        refs = self._clone.remote_refs(self.location)
        head = refs.pop("HEAD", None)
        named = [ref.removeprefix("refs/heads/") for ref, commit in refs.items() if commit == head]
        for name in ("main", "master", *named):
            if name in named:
                return name
        raise SourceError(f"{self.location} has no branch that HEAD names", hint="name one with --branch")

    def read(self, commit: Commit, applied: Commit | None) -> RepoSnapshot:
        """The snapshot of a commit. `applied` is where the last good versions of broken files are looked for first."""
        self._last = source.read(
            self.repository.tree(commit),
            cache=self._cache,
            previous=self._last,
            last_good=last_good(self.repository, commit),
        )
        return self._last

    def is_ancestor(self, ancestor: Commit, descendant: Commit) -> bool:
        return self.repository.is_ancestor(ancestor, descendant)


def last_good(repository: git.Repository, commit: Commit) -> Callable[[str], list[tuple[Commit, str]]]:
    """Older versions of a file as (commit, blob id), newest first: `source` takes the first that parses."""

    def versions(path: str) -> list[tuple[Commit, str]]:
        try:
            return repository.last_commits_of(path, commit)
        except SourceError:
            return []

    return versions
