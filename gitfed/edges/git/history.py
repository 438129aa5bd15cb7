"""Which commit a name means, and how commits come after one another."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from gitfed.edges.git.program import Program
from gitfed.errors import RevisionNotFound, SourceError, SourceUnreachable
from gitfed.model.base import Commit
from gitfed.text.values import dataclass

_FORMAT = "%H%x01%P%x01%cd%x01%an <%ae>%x01%s%x01%b"
"""What `_info` reads: first what Git writes, then what people wrote, in which the separator may stand."""
_USUAL = ("main", "master")
"""Default branches of clones that do not tell."""
_RAW = "--date=raw"  # Git itself gives up on a date before 1970
_DATE = re.compile(r"([0-9]{1,25}) ([-+])([0-9]{2})([0-9]{2})\Z")
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CommitInfo:
    commit: Commit
    parents: tuple[Commit, ...]
    author: str
    when: datetime
    subject: str
    body: str


class History(Program):
    """Branches, commits, ancestors."""

    def resolve(self, revision: str) -> Commit:
        """The commit that a branch, tag, HEAD, abbreviated or full name means.

        Raises RevisionNotFound, also for an unborn branch.
        """
        if not revision or revision.startswith("-"):
            raise RevisionNotFound(f"{revision!r} is not a revision")
        try:
            return Commit(self.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
        except SourceUnreachable:
            raise
        except SourceError as error:
            if revision in ("HEAD", "main", "master") and not self.has_refs():
                raise RevisionNotFound("the repository has no commit yet", hint="commit something first") from error
            raise RevisionNotFound(
                f"no commit called {revision!r} in {self.path}", hint=self._where_to_look(revision)
            ) from error

    def _where_to_look(self, revision: str) -> str:
        """What a name that is not known here was probably meant to be, or how what it names can be brought here."""
        name = re.split(r"[~^@:]", revision, maxsplit=1)[0]
        ref_names = [*self.branch_names(), *self.tag_names()]
        if name in ref_names or name == "HEAD":
            if self.is_shallow():
                return "this clone is shallow: git fetch --unshallow brings older commits"
            return f"{name} is there, and has no such ancestor"
        if near := difflib.get_close_matches(name, ref_names, n=1, cutoff=0.6):
            return f"did you mean {near[0]}{revision[len(name) :]}?"
        if self.is_shallow():
            return "this clone is shallow: git fetch --unshallow brings older commits"
        if self.remote_url("origin") is not None:
            return "git fetch --tags origin brings what is only there"
        return "a branch, a tag, or a commit by at least four of its digits"

    def has_refs(self) -> bool:
        """False for a repository into which nothing was committed or fetched."""
        return bool(self.text("for-each-ref", "--count=1"))

    def branch_names(self) -> list[str]:
        """Branches of this repository, and those of its remotes as `origin/…`."""
        text = self.text("for-each-ref", "--format=%(refname:short)", "refs/heads/", "refs/remotes/")
        return [name for name in text.splitlines() if "/HEAD" not in name]

    def tag_names(self) -> list[str]:
        return self.text("for-each-ref", "--format=%(refname:short)", "refs/tags/").splitlines()

    def branch_commit(self, branch: str) -> Commit | None:
        """Where a branch (`refs/heads/…` or a full ref) stands; None when it does not exist."""
        ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
        text = self.text("for-each-ref", "--format=%(objectname) %(refname)", "--", ref)
        for line in text.splitlines():
            name, _, ref_name = line.partition(" ")
            if ref_name == ref:
                return Commit(name)
        return None

    def head_branch(self) -> str | None:
        """The branch that HEAD names, born or not; None when HEAD is detached."""
        try:
            return self.text("symbolic-ref", "--quiet", "--short", "HEAD")
        except SourceError:
            return None

    def default_branch(self) -> str | None:
        """The full ref of the branch that others start from, as the remote has it: its HEAD, which not every clone has
        recorded, else its main or master, else the upstream of HEAD's branch. Without a remote: the local main or
        master, else HEAD's branch."""
        own = self.head_branch()
        for remote in self._remotes(own):
            try:
                return self.text("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
            except SourceError:
                pass
            for name in _USUAL:
                if self.branch_commit(f"refs/remotes/{remote}/{name}"):
                    return f"refs/remotes/{remote}/{name}"
        if own is not None and (upstream := self._upstream(own)):
            return upstream
        for name in _USUAL:
            if self.branch_commit(name):
                return f"refs/heads/{name}"
        return None if own is None else f"refs/heads/{own}"

    def _remotes(self, branch: str | None) -> list[str]:
        """Where the default branch is looked for: what the branch follows, then origin, else the only remote."""
        names = self.text("remote").split()
        try:
            follows = self.text("config", "--get", f"branch.{branch}.remote") if branch is not None else ""
        except SourceError:
            follows = ""
        likely = [name for name in dict.fromkeys((follows, "origin")) if name in names]
        return likely or (names if len(names) == 1 else [])

    def _upstream(self, branch: str) -> str:
        """The full ref that a branch follows; "" for none, and where that was never fetched."""
        ref = self.text("for-each-ref", "--format=%(upstream)", "--", f"refs/heads/{branch}").partition("\n")[0]
        return ref if ref and self.branch_commit(ref) else ""

    def remote_url(self, name: str) -> str | None:
        """What a remote of this name is called in the repository's settings; None when there is none."""
        try:
            return self.text("config", "--get", f"remote.{name}.url") or None
        except SourceError:
            return None

    def merge_base(self, first: Commit, second: Commit) -> Commit | None:
        try:
            return Commit(self.text("merge-base", first, second)) or None
        except SourceError:
            return None

    def is_shallow(self) -> bool:
        """Whether history was cut off when this was cloned: then what is not found may exist all the same."""
        return self.text("rev-parse", "--is-shallow-repository") == "true"

    def is_ancestor(self, ancestor: Commit, descendant: Commit) -> bool:
        """False also when `ancestor` is not known any more (force-push, shallow history)."""
        if ancestor == descendant:
            return True
        try:
            self.run("merge-base", "--is-ancestor", ancestor, descendant)
        except SourceError:
            return False
        return True

    def info(self, commit: Commit) -> CommitInfo:
        return _info(self.run("log", "-1", _RAW, f"--format={_FORMAT}", commit, "--").decode("utf-8", "replace"))

    def commits_since(self, base: Commit, head: Commit, *, limit: int) -> list[Commit]:
        """Every commit that `head` has and `base` has not, newest first, merged ones included; at most `limit`.

        A base that is not known any more (shallow history) excludes nothing.
        """
        excluded = [f"^{base}"] if self.has(base) else []
        return [Commit(name) for name in self.text("rev-list", f"--max-count={limit}", head, *excluded, "--").split()]

    def commits_of(self, paths: Sequence[str], base: Commit, head: Commit, *, limit: int) -> list[Commit]:
        """The first parents from `base` to `head` that changed one of `paths`, oldest first; the `limit` oldest."""
        literal = [f":(literal,top){path}" for path in paths]
        names = self.text("rev-list", "--first-parent", "--reverse", head, f"^{base}", "--", *literal).split()
        return [Commit(name) for name in names[:limit]]

    def first_parents(self, head: Commit, *, limit: int) -> list[Commit]:
        """`head` and what the branch was before, newest first."""
        return [Commit(name) for name in self.text("rev-list", "--first-parent", f"--max-count={limit}", head).split()]

    def has(self, commit: Commit) -> bool:
        """Whether a commit is among our objects."""
        try:
            self.run("cat-file", "-e", f"{commit}^{{commit}}")
        except SourceError:
            return False
        return True

    def log(
        self, start: Commit, *, limit: int, paths: Sequence[str] = (), since: Commit | None = None
    ) -> list[CommitInfo]:
        """Commits from `start` back, newest first, at most `limit`; with `paths` only those that changed one of these
        files, with `since` only those that this one does not have."""
        excluded = [f"^{since}"] if since is not None else []
        only = ["--", *(f":(literal,top){path}" for path in paths)]
        raw = self.run(
            "log", f"--max-count={limit}", "--first-parent", "-z", _RAW, f"--format={_FORMAT}", start, *excluded, *only
        )
        return [_info(record) for record in raw.decode("utf-8", "replace").split("\0") if record.strip()]

    def deleted(self, start: Commit, folder: str) -> list[str]:
        """Files below `folder` that some commit from `start` back deleted, newest first."""
        raw = self.run(
            "log",
            "--first-parent",
            "--diff-filter=D",
            "--no-renames",
            "--name-only",
            "-z",
            "--format=",
            start,
            "--",
            f":(literal,top){folder}",
        )
        return list(dict.fromkeys(name for name in raw.decode("utf-8", "replace").split("\0") if name))

    def last_commits_of(
        self, path: str, start: Commit, *, limit: int = 50, until_deleted: bool = False
    ) -> list[tuple[Commit, str]]:
        """(commit, blob id) of a file's versions along first parents, newest first, beginning at `start`; deletions
        are left out.

        `until_deleted`: not those before the file was deleted, if it was.
        """
        raw = self._raw_changes(start, limit, "--", f":(literal,top){path}")
        versions: list[tuple[Commit, str]] = []
        for chunk in raw.split(b"\x01")[1:]:
            match = re.match(rb"([0-9a-f]{40,64}).*?:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) ([ADMT])", chunk, re.DOTALL)
            if match and match[3] == b"D":
                if until_deleted:
                    break
            elif match:
                versions.append((Commit(match[1].decode()), match[2].decode()))
        return versions

    def _raw_changes(self, start: Commit, limit: int, *paths: str) -> bytes:
        """What each commit along first parents changed: \\x01 and its name, then git's raw lines, all ended by NUL."""
        return self.run(
            "log",
            f"--max-count={limit}",
            "--format=%x01%H",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--first-parent",
            "--diff-merges=first-parent",
            start,
            *paths,
        )

    def all_changes(self, start: Commit, *, limit: int) -> list[tuple[Commit, list[tuple[str, str]]]]:
        """Commits along first parents from `start` back, each with (path, blob id) of what it changed, "" for what it
        deleted: for a caller that asks of many files what `last_commits_of` says of one."""
        raw = self._raw_changes(start, limit)
        commits: list[tuple[Commit, list[tuple[str, str]]]] = []
        parts = iter(raw.split(b"\0"))
        for part in parts:
            if part.startswith(b"\x01"):
                commits.append((Commit(part[1:].decode()), []))
            elif part:
                # `:MODE MODE BLOB BLOB KIND`, and the path in a part of its own, whatever stands in it.
                blob, kind = part.split()[3:5]
                path = next(parts).decode("utf-8", "surrogateescape")
                commits[-1][1].append((path, "" if kind == b"D" else blob.decode()))
        return commits


def _info(record: str) -> CommitInfo:
    """What Git tells of one commit (`_FORMAT`). Nothing that a person wrote into it makes this fail."""
    name, parents, when, author, subject, body = record.split("\x01", 5)
    ancestors = tuple(Commit(parent) for parent in parents.split())
    return CommitInfo(Commit(name.strip()), ancestors, author, _moment(when), subject, body.strip())


def _moment(raw: str) -> datetime:
    """A committer's date: Git keeps any seconds and any time zone, and what no calendar holds is moved into it."""
    match = _DATE.match(raw)
    if match is None:
        return _FIRST  # a commit without a date
    seconds = min(max(int(match[1]), int(_FIRST.timestamp())), int(_LAST.timestamp()))
    sign, hours, minutes = match[2], int(match[3]), int(match[4])
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1)
    zone = timezone(offset) if abs(offset) < timedelta(hours=24) else UTC
    return datetime.fromtimestamp(seconds, zone)
