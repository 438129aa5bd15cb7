"""Where commits come from: a repository on this machine, read in place, or a remote one through our own clone.

Reading is memoised by blob id (in memory and on disk), so a push that changes one file parses one file. A file that
cannot be used holds its objects at their last good version, looked for in the history of the followed branch.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gitfed.edges import git
from gitfed.errors import GitfedError, RevisionNotFound, SourceError, Unforeseen
from gitfed.model.base import Commit
from gitfed.model.declared.federation import Federation, Guards
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.reading import kustomized, renames, trust
from gitfed.reading.versions import Versions
from gitfed.source import kustomize
from gitfed.source import repo as source
from gitfed.source.last_good import Earlier
from gitfed.source.parse import ParseCache
from gitfed.source.read_cache import ReadCache

_OLDER_BUILDS = 10
"""Commits that are built at most to find out what a folder was before it could not be built any more."""
_MOST_NAMES = 10
"""Names of one file that are followed."""
_FETCHED = "refs/gitfed/source"


class Reader:
    """`location` is a path or a URL; `branch` None follows what HEAD names there. Blocking: call it from a thread."""

    def __init__(
        self,
        location: str,
        clone: git.Repository,
        cache: ParseCache,
        *,
        branch: str | None = None,
        accepted: Path | None = None,
        trusted_keys: Path | None = None,
        submodules: Sequence[str] = (),
    ) -> None:
        """`accepted` is the file that remembers the last commit that was acted upon (`trust.Trust`); `submodules` are
        prefixes of URLs that submodules may come from."""
        self.location = location
        self.remote = git.is_url(location)
        self._clone = clone
        self._memory = ReadCache(cache)
        self._branch = branch
        self._local = None if self.remote else git.Repository.open(Path(location))
        self._submodules = submodules
        self._builds = kustomized.Builds(self.repository)
        self._guards: tuple[Commit, Guards] | None = None
        self.refused = ""
        """Why the newest commit is not the one that `newest` gave; "" when it is."""
        self.ref = ""
        """Full name of the branch that is followed; "" until it was asked for, and while HEAD names none."""
        self.trust = trust.Trust(
            self.repository,
            lambda commit: self.read(commit, None, {}).settings,
            record=accepted,
            trusted_keys=trusted_keys,
        )

    @property
    def repository(self) -> git.Repository:
        return self._clone if self._local is None else self._local

    def watched(self) -> Path | None:
        """The repository to watch for a push or commit; None for a remote."""
        if self._local is None:
            return None
        return self._local.path

    def newest(self) -> Commit:
        """The commit to act upon: where the branch stands now or, if that is not signed as it must be, the last one
        that was accepted (then `refused` says why). Raises SourceUnreachable, RevisionNotFound, SourceError."""
        tip = self._tip()
        try:
            self.refused = self.trust.why_not(tip)
        except GitfedError:
            raise
        except Exception as error:  # noqa: BLE001
            # A defect of ours; the commit that was accepted last is as good as it was.
            self.refused = f"{tip[:12]} cannot be judged: {Unforeseen.of(error)}"
        if not self.refused:
            self._bring(tip)
            return tip
        base = self.trust.base
        if base is None or not self.repository.has(base):
            message = f"{git.shown(self.location)} has no commit that may be applied: {self.refused}"
            raise RevisionNotFound(message, hint="docs: how-to/signed-commits")
        self._bring(base)
        return base

    def _bring(self, commit: Commit) -> None:
        if self._submodules:
            git.bring(self.repository, commit, self.location, self._submodules)

    def _tip(self) -> Commit:
        if self._local is not None:
            branch = self._branch or self._local.head_branch()
            self.ref = f"refs/heads/{branch}" if branch is not None else ""
            if branch is None:
                return self._local.resolve("HEAD")
            commit = self._local.branch_commit(branch)
            if commit is None:
                raise self._no_branch(branch)
            return commit
        return self._newest_there()

    def _newest_there(self) -> Commit:
        """Asking where a branch stands is one small question; only a commit that is not here yet is fetched."""
        ref, commit = self._clone.remote_tip(self.location, self._branch)
        self.ref = ref if ref != "HEAD" else ""
        if self._clone.branch_commit(_FETCHED) != commit:
            self._clone.fetch(self.location, [f"+{ref}:{_FETCHED}"])
        return self._clone.resolve(_FETCHED)

    def _no_branch(self, branch: str) -> RevisionNotFound:
        assert self._local is not None
        where = git.shown(self.location)
        if not self._local.has_refs():
            return RevisionNotFound(f"{where} has no commit yet", hint="commit something first")
        try:
            commit = self._local.resolve(branch)
        except RevisionNotFound:
            return RevisionNotFound(
                f"{where} has no commit on branch {branch}", hint="what was applied last stays in force"
            )
        return RevisionNotFound(
            f"{branch} is not a branch of {where}",
            hint=f"what is carried out is a branch: git branch NAME {commit[:12]}, then name that",
        )

    def read(self, commit: Commit, applied: Commit | None, held: Mapping[str, HeldFile]) -> RepoSnapshot:
        """The snapshot of a commit.

        A file with errors is taken from `held` if it was held before, else from `applied`, the last commit that was
        rolled out, else from the newest older version in its history.
        """
        return source.read(
            self.repository.tree(commit),
            memory=self._memory,
            earlier=Earlier(
                held,
                last_good(self.repository, self._memory, commit, applied, builds=self._builds),
                at(applied, self._builds),
                below(applied, self._builds),
                self._builds.read_held,
            ),
            build=self._builds.build,
        )

    def guards_of(self, commit: Commit) -> Guards:
        """The limits that a commit declares. Raises SourceError when it cannot be read."""
        if self._guards is None or self._guards[0] != commit:
            settings = settings_at(self.repository, self._memory, commit, lambda: self.read(commit, None, {}))
            self._guards = (commit, settings.spec.guards)
        return self._guards[1]

    def interrupt(self) -> None:
        """The process stops: wait no longer for a server that does not answer."""
        self._clone.interrupt()

    def is_ancestor(self, ancestor: Commit, descendant: Commit) -> bool:
        return self.repository.is_ancestor(ancestor, descendant)

    def is_stranger(self, applied: Commit, commit: Commit) -> bool:
        """Whether two commits have nothing in common, as far as a complete history tells."""
        return not self.repository.is_shallow() and self.repository.merge_base(applied, commit) is None

    def keep(self, held: HeldFile) -> None:
        """Make sure that a held file's blob outlives a rewritten history."""
        name = hashlib.sha256(held.path.encode()).hexdigest()[:24]
        # A build is no blob: what it was built from is kept by its commit.
        self.repository.keep_blob(name, held.commit if kustomize.is_built(held.blob) else held.blob)


def settings_at(
    repository: git.Repository, memory: ReadCache, commit: Commit, whole: Callable[[], RepoSnapshot]
) -> Federation:
    """The settings of a commit: from where they usually stand, or from all of its files. Raises SourceError."""
    entries = repository.entries(commit)
    for path in source.USUAL_PATHS:
        entry = entries.get(path)
        if entry is not None:
            file_content = memory.content(path, entry.blob_id, functools.partial(repository.read, entry.blob_id))
            if file_content.settings and not file_content.faulty:
                return file_content.settings[0]
    return whole().settings


def at(commit: Commit | None, builds: kustomized.Builds) -> Callable[[str], str]:
    """Path → what stands for the file in a commit, "" for nothing, and of a commit that cannot be read."""

    def version(path: str) -> str:
        try:
            return builds.version(commit, path) if commit is not None else ""
        except SourceError:
            return ""

    return version


def below(commit: Commit | None, builds: kustomized.Builds) -> Callable[[str], Iterable[str]]:
    """Path → the paths of the files at or below it in a commit; none of a commit that cannot be read."""

    def paths(path: str) -> Iterable[str]:
        try:
            return builds.below(commit, path) if commit is not None else ()
        except SourceError:
            return ()

    return paths


def last_good(
    repository: git.Repository,
    memory: ReadCache,
    history: Commit | None,
    applied: Commit | None = None,
    *,
    builds: kustomized.Builds,
    committed: bool = True,
) -> Callable[[str], tuple[Commit, str] | None]:
    """For a path: (commit, blob id) of the version to fall back to, None when there is none.

    `history` is the commit that is read; for a worktree (`committed` False) the one it started from, whose own version
    may serve. What is looked for is a version without errors that is not the present one: that may be at fault only
    together with another file. A file that was deleted, and comes back broken, has none; one that was renamed has
    those of its old name. Raises SourceError when there may be one that is not here: the commit that was applied cannot
    be read, or history was cut off.
    """
    renamed, versions = renames.Renames(repository), Versions(repository)
    is_cut_off = functools.cache(repository.is_shallow)

    def version(path: str) -> tuple[Commit, str] | None:
        unreadable: SourceError | None = None
        if applied is not None and applied != history:
            try:
                blob = builds.version(applied, path)
            except SourceError as error:
                unreadable = error
            else:
                if blob:
                    return applied, blob
        from_history = next(older(path), None) if history is not None else None
        if from_history is None and unreadable is not None:
            raise unreadable
        if from_history is None and applied is None and is_cut_off():
            raise SourceError("older commits are not in this clone", hint="git fetch --unshallow brings them")
        return from_history

    def older(path: str) -> Iterator[tuple[Commit, str]]:
        assert history is not None
        if kustomize.is_kustomization(path):
            yield from older_builds(path)
            return
        real = builds.real_path(history, path)
        present = repository.entries(history).get(real) if committed else None
        start = (history, real) if real else None
        for _ in range(_MOST_NAMES):
            if start is None:
                return
            commit, name = start[0], start[1]
            for commit, blob in versions.of(name, start[0]):
                if present is not None and blob == present.blob_id:
                    continue
                if not memory.held(path, blob, commit, functools.partial(repository.read, blob)).faulty:
                    yield commit, blob
            start = renamed.before(commit, name)

    def older_builds(path: str) -> Iterator[tuple[Commit, str]]:
        """A build changes with any of its files, so its own file's history does not tell."""
        assert history is not None
        tried = {builds.version(history, path) if committed else ""}
        for commit in repository.first_parents(history, limit=_OLDER_BUILDS):
            digest = builds.version(commit, path)
            if not digest:
                return  # a folder that was deleted does not come back with a mistake
            if digest in tried or not kustomize.is_built(digest):
                continue
            tried.add(digest)
            load = functools.partial(builds.read_held, HeldFile(path, commit, digest, ""))
            with contextlib.suppress(SourceError):
                if not memory.held(path, digest, commit, load).faulty:
                    yield commit, digest

    return version
