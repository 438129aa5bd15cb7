"""The only code that runs Git.

Content is read from the object store by commit and blob id, never from a checkout, so nothing that a repository
holds (symlinks, hooks, filters, submodules, attributes) is ever acted upon. Branches that gitfed writes are made
with `git fast-import`: one process for one commit, whatever its number of files, and a ref that moves only forward.

Everything here blocks; the daemon calls it from a thread. One `Repository` may be used from several threads: the
persistent `cat-file` process is behind a lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import git as gitpython
from git.exc import GitCommandError, GitCommandNotFound

from gitfed.errors import RevisionNotFound, SourceError, SourceUnreachable, StateConflict, UsageError
from gitfed.model.base import Commit

_NULL = "0" * 40
_ASKING = ("fetch", "ls-remote")
_SAFE_CONFIG = (
    # A repository must not be able to start a program on this machine, whatever its configuration says.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "gc.auto=0",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.git.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "submodule.recurse=false",
    "log.showSignature=false",
    "core.alternateRefsCommand=",
    "http.followRedirects=false",
    "transfer.fsckObjects=true",
)
_LEAKY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
          "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_QUARANTINE_PATH")  # fmt: skip
_MOST_ENTRIES = 1_000_000
_MOST_CHANGES = 2000
_MOST_LISTED = 256 * 1024 * 1024
_FOLDER = 0o40000
_LARGEST_BLOB = 64 * 1024 * 1024
_DEEPEST_FOLDER = 256
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("file", "git", "http", "https", "ssh")
_SCP = re.compile(r"^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]")
_UNREACHABLE = re.compile(
    r"could not resolve host|could not read from remote|unable to access|connection (refused|reset|timed out)|"
    r"does not appear to be a git repository|repository .* not found|early eof|unexpected disconnect|"
    r"remote end hung up|unable to connect|host key verification failed|timeout: the command",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit. `mode` is Git's: 0o100644, 0o100755, 0o120000 (symlink), 0o160000 (submodule)."""

    path: str
    blob_id: str
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class CommitInfo:
    commit: Commit
    parents: tuple[Commit, ...]
    author: str
    when: datetime
    subject: str
    body: str


def forget_hook_environment() -> None:
    """Called once at start: a gitfed started from a Git hook inherits variables that would point every Git command
    at the hook's repository and index."""
    for name in _LEAKY:
        os.environ.pop(name, None)


def is_url(source: str) -> bool:
    """Whether `source` names a repository by URL rather than by a path on this machine."""
    return bool(_URL.match(source) or _SCP.match(source))


def check_url(url: str) -> str:
    """The URL, if Git may be asked to reach it.

    Raises UsageError for schemes that start programs (`ext::`) or could be read as an option.
    """
    if url.startswith("-"):
        raise UsageError(f"{url!r} is not a repository URL", hint="it begins with a dash")
    if _SCP.match(url) and not _URL.match(url):
        if url.partition("@")[2].startswith("-"):
            raise UsageError(f"{url!r} is not a repository URL", hint="its host begins with a dash")
        return url
    scheme = url.partition("://")[0].lower() if _URL.match(url) else url.partition("::")[0].lower()
    if scheme not in _SCHEMES:
        raise UsageError(f"{url!r} cannot be used as a repository", hint="use https, ssh, git or file URLs")
    place = url.split("://", 1)[1].split("/", 1)[0]
    if place.startswith("-") or place.rpartition("@")[2].startswith("-"):
        raise UsageError(f"{url!r} is not a repository URL", hint="its host begins with a dash")
    return url


def shown(url: str) -> str:
    """A URL as a message may hold it: without what stands before the host, which may be a password or a token."""
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}" if separator else url


def find_root(start: Path) -> Path:
    """The repository that `start` is in, walking up; a bare repository is its own root.

    Raises SourceError when there is none.
    """
    here = start.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists() or _is_git_dir(candidate):
            return candidate
    raise SourceError(
        f"no Git repository at {start} or above it", hint="name one with --repo, or make one: gitfed init"
    )


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


class Repository:
    """A Git repository on this machine, bare or not."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._git = gitpython.Git(str(path))
        self._reader = gitpython.Git(str(path))
        self._lock = threading.Lock()
        self._asking: set[subprocess.Popen[bytes]] = set()
        self._interrupted = False
        self._listing: tuple[Commit, dict[str, TreeEntry]] | None = None
        for runner in (self._git, self._reader):
            runner.update_environment(
                GIT_TERMINAL_PROMPT="0",
                GIT_OPTIONAL_LOCKS="0",
                GIT_ADVICE="0",
                # An object that is missing in a partial clone would be fetched by a command of its configuration.
                GIT_NO_LAZY_FETCH="1",
                **(env or {}),
            )
        self._reader.set_persistent_git_options(c=list(_SAFE_CONFIG))

    @classmethod
    def open(cls, path: Path) -> Repository:
        """Raises SourceError when there is no repository at `path`."""
        if not ((path / ".git").exists() or _is_git_dir(path)):
            raise SourceError(f"no Git repository at {path}")
        repository = cls(path)
        repository._run("rev-parse", "--git-dir")
        return repository

    @classmethod
    def create(cls, path: Path, *, bare: bool = True, branch: str = "main") -> Repository:
        path.mkdir(parents=True, exist_ok=True)
        repository = cls(path)
        repository._run("init", "--quiet", f"--initial-branch={branch}", *(["--bare"] if bare else []))
        return repository

    def close(self) -> None:
        with self._lock:
            self._reader.clear_cache()

    # -- running ------------------------------------------------------------------------------------------------

    def _run(self, *args: str, stdin: bytes | None = None, timeout: float | None = 120) -> bytes:
        command = _command(args)
        with tempfile.TemporaryFile() as feed:
            if stdin is not None:
                try:
                    feed.write(stdin)
                    feed.seek(0)
                except OSError as error:
                    raise SourceError(f"git {args[0]}: its input cannot be written: {error.strerror}") from error
            try:
                # In a session of its own, so that the helper that talks to a server can be ended with it.
                started: Any = self._git.execute(command, istream=feed, as_process=True, start_new_session=True)
            except GitCommandNotFound as error:
                raise SourceError("the git program was not found", hint="install Git 2.39 or newer") from error
            process: subprocess.Popen[bytes] = started.proc
            if args[0] in _ASKING:
                self._asking.add(process)
                if self._interrupted:
                    _kill(process)
            try:
                output, said = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                output, said = process.communicate()
                said += b"\ntimeout: the command was ended after %d seconds" % (timeout or 0)
            finally:
                self._asking.discard(process)
        if process.returncode and self._interrupted and args[0] in _ASKING:
            raise SourceUnreachable(f"git {args[0]}: interrupted, because the process stops")
        if process.returncode:
            raise _translate(args, said.decode("utf-8", "replace"))
        return output

    def interrupt(self) -> None:
        """End every question to another repository that is under way in some thread, and every later one.

        For a process that is asked to stop: a server that never answers would hold it for minutes.
        """
        self._interrupted = True
        for process in list(self._asking):
            _kill(process)

    def _records(self, *args: str) -> list[bytes]:
        """What a listing with `-z` prints, refused once it is larger than any fleet's repository.

        Ten objects are enough for ten thousand million paths: a folder that holds one other folder ten times, level
        by level. So the output is counted while it comes, and not when all of it is there.
        """
        try:
            process = self._git.execute(_command(args), as_process=True)
        except GitCommandNotFound as error:
            raise SourceError("the git program was not found", hint="install Git 2.39 or newer") from error
        chunks: list[bytes] = []
        size = count = 0
        output: Any = process.stdout
        errors: Any = process.stderr
        with output, errors:
            while chunk := output.read(1 << 20):
                size += len(chunk)
                count += chunk.count(b"\0")
                if size > _MOST_LISTED or count > _MOST_ENTRIES:
                    process.kill()
                    with contextlib.suppress(GitCommandError):
                        process.wait()
                    raise SourceError(
                        f"{args[-1][:12]} lists more than {_MOST_ENTRIES} files or {_MOST_LISTED} bytes of names",
                        hint="keep what is deployed in a repository of its own",
                    )
                chunks.append(chunk)
            try:
                process.wait()
            except GitCommandError as error:
                raise _translate(args, str(error.stderr)) from error
        return b"".join(chunks).split(b"\0")

    def _text(self, *args: str) -> str:
        return self._run(*args).decode("utf-8", "surrogateescape").strip()

    # -- reading ------------------------------------------------------------------------------------------------

    def resolve(self, revision: str) -> Commit:
        """The commit that a branch, tag, HEAD, abbreviated or full name means.

        Raises RevisionNotFound, also for an unborn branch.
        """
        if not revision or revision.startswith("-"):
            raise RevisionNotFound(f"{revision!r} is not a revision")
        try:
            return Commit(self._text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
        except SourceUnreachable:
            raise
        except SourceError as error:
            if revision in ("HEAD", "main", "master") and not self._refs():
                raise RevisionNotFound("the repository has no commit yet", hint="commit something first") from error
            raise RevisionNotFound(f"no commit called {revision!r} in {self.path}") from error

    def _refs(self) -> str:
        return self._text("for-each-ref", "--count=1")

    def branch_commit(self, branch: str) -> Commit | None:
        """Where a branch (`refs/heads/…` or a full ref) stands; None when it does not exist."""
        ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
        text = self._text("for-each-ref", "--format=%(objectname) %(refname)", "--", ref)
        for line in text.splitlines():
            name, _, found = line.partition(" ")
            if found == ref:
                return Commit(name)
        return None

    def head_branch(self) -> str | None:
        """The branch that HEAD names, born or not; None when HEAD is detached."""
        try:
            return self._text("symbolic-ref", "--quiet", "--short", "HEAD")
        except SourceError:
            return None

    def default_branch(self) -> str | None:
        """The branch that others start from: origin's HEAD, else main or master, else HEAD's."""
        try:
            return self._text("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD").removeprefix("refs/remotes/")
        except SourceError:
            pass
        for name in ("main", "master"):
            if self.branch_commit(name):
                return name
        return self.head_branch()

    def merge_base(self, one: Commit, other: Commit) -> Commit | None:
        try:
            return Commit(self._text("merge-base", one, other)) or None
        except SourceError:
            return None

    def is_ancestor(self, ancestor: Commit, descendant: Commit) -> bool:
        """False also when `ancestor` is not known any more (force-push, shallow history)."""
        if ancestor == descendant:
            return True
        try:
            self._run("merge-base", "--is-ancestor", ancestor, descendant)
        except SourceError:
            return False
        return True

    def entries(self, commit: Commit) -> Mapping[str, TreeEntry]:
        """Every file of a commit by path. Listing a commit after another costs what changed between them."""
        with self._lock:
            known = self._listing
        if known is not None and known[0] == commit:
            return known[1]
        listing = None
        if known is not None:
            with contextlib.suppress(SourceError):
                listing = self._list_changed(known, commit)
        if listing is None:
            listing = self._list_all(commit)
        with self._lock:
            self._listing = (commit, listing)
        return listing

    def _list_all(self, commit: Commit) -> dict[str, TreeEntry]:
        listing: dict[str, TreeEntry] = {}
        for line in self._records("ls-tree", "-r", "-z", "-l", "--full-tree", commit):
            if line:
                meta, _, name = line.partition(b"\t")
                mode, _, blob, size = meta.split()
                path = name.decode("utf-8", "surrogateescape")
                listing[path] = TreeEntry(path, blob.decode(), int(size) if size.isdigit() else 0, int(mode, 8))
        return listing

    def _list_changed(self, known: tuple[Commit, dict[str, TreeEntry]], commit: Commit) -> dict[str, TreeEntry] | None:
        """The listing after the known one; None when more changed than a listing from scratch costs.

        Folders are compared here and not by `git diff-tree`, which gathers all changes in memory before it prints the
        first: a folder that holds itself again and again would take the whole machine.
        """
        listing = dict(known[1])
        looked = 0
        pairs = [("", self._tree_of(known[0]), self._tree_of(commit))]
        while pairs:
            prefix, before, after = pairs.pop()
            old, new = self._folder(before), self._folder(after)
            for name in old.keys() | new.keys():
                was, now = old.get(name), new.get(name)
                if was == now:
                    continue
                looked += 1
                if looked > _MOST_CHANGES:
                    return None
                path = prefix + name
                below = [one[1] if one is not None and one[0] == _FOLDER else "" for one in (was, now)]
                if any(below):
                    pairs.append((f"{path}/", below[0], below[1]))
                if was is not None and was[0] != _FOLDER:
                    listing.pop(path, None)
                if now is not None and now[0] != _FOLDER:
                    listing[path] = TreeEntry(path, now[1], self._size(now[1]), now[0])
        return listing

    def _tree_of(self, commit: Commit) -> str:
        with self._lock:
            try:
                return str(self._reader.get_object_header(f"{commit}^{{tree}}")[0])
            except ValueError:
                return ""

    def _folder(self, tree: str) -> dict[str, tuple[int, str]]:
        """Name → (mode, object id) of one folder; nothing for no folder. Raises SourceError."""
        content = self.read(tree) if tree else b""
        width = len(tree) // 2
        found = {}
        start = 0
        while start < len(content):
            space, end = content.index(b" ", start), content.index(b"\0", start)
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            found[name] = (int(content[start:space], 8), content[end + 1 : end + 1 + width].hex())
            start = end + 1 + width
        return found

    def _size(self, blob: str) -> int:
        with self._lock:
            try:
                return int(self._reader.get_object_header(blob)[2])
            except ValueError:
                return 0  # a submodule's commit is not among our objects

    def read(self, blob_id: str) -> bytes:
        """Content of a blob. Raises SourceError when the object is missing (shallow or damaged repository), or so large
        that it is no text of ours: a gigabyte of zeros is a kilobyte in a pack."""
        with self._lock:
            try:
                size = int(self._reader.get_object_header(blob_id)[2])
                if size <= _LARGEST_BLOB:
                    return bytes(self._reader.get_object_data(blob_id)[3])
            except (ValueError, OSError, BrokenPipeError, GitCommandError) as error:
                self._reader.clear_cache()
                raise SourceError(f"object {blob_id} cannot be read from {self.path}") from error
        raise SourceError(f"object {blob_id} has {size} bytes, at most {_LARGEST_BLOB} are read")

    def tree(self, commit: Commit) -> CommitTree:
        return CommitTree(self, commit)

    def info(self, commit: Commit) -> CommitInfo:
        raw = self._run("log", "-1", "--format=%H%x00%P%x00%an <%ae>%x00%cI%x00%s%x00%b", commit, "--")
        name, parents, author, when, subject, body = raw.decode("utf-8", "replace").split("\0", 5)
        return CommitInfo(
            Commit(name),
            tuple(Commit(parent) for parent in parents.split()),
            author,
            datetime.fromisoformat(when),
            subject,
            body.strip(),
        )

    def last_commits_of(self, path: str, start: Commit, *, limit: int = 50) -> list[tuple[Commit, str]]:
        """(commit, blob id) of the versions of a file, newest first, beginning at `start`; deletions are left out."""
        raw = self._run(
            "log", f"--max-count={limit}", "--format=%x01%H", "--raw", "-z", "--no-renames", "--no-abbrev",
            "--diff-merges=first-parent", start, "--", f":(literal,top){path}",
        )  # fmt: skip
        found: list[tuple[Commit, str]] = []
        for chunk in raw.split(b"\x01")[1:]:
            match = re.match(rb"([0-9a-f]{40,64}).*?:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) ([AMT])", chunk, re.DOTALL)
            if match:
                found.append((Commit(match[1].decode()), match[2].decode()))
        return found

    # -- remotes ------------------------------------------------------------------------------------------------

    def fetch(self, url: str, refspecs: Sequence[str], *, timeout: float = 120) -> None:
        """Bring refs of another repository here. Raises SourceUnreachable, RevisionNotFound."""
        target = check_url(url) if is_url(url) else str(Path(url).resolve())
        try:
            self._run(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force",
                "--end-of-options", target, *refspecs, timeout=timeout,
            )  # fmt: skip
        except SourceError as error:
            if "couldn't find remote ref" in error.message:
                raise RevisionNotFound(f"{shown(url)} has no such branch", hint=", ".join(refspecs)) from error
            raise

    def remote_refs(self, url: str, pattern: str = "refs/heads/*") -> dict[str, Commit]:
        """Refs of another repository without fetching them. Raises SourceUnreachable."""
        target = check_url(url) if is_url(url) else str(Path(url).resolve())
        raw = self._text("ls-remote", "--quiet", "--end-of-options", target, "HEAD", pattern)
        refs = {}
        for line in raw.splitlines():
            commit, _, ref = line.partition("\t")
            refs[ref] = Commit(commit)
        return refs

    def push(self, url: str, ref: str, *, expected: Commit | None, timeout: float = 60) -> None:
        """Push our `ref`; compare-and-swap against `expected` (None: it must not exist there).

        Raises StateConflict when somebody else pushed first, SourceUnreachable, SourceError when it is forbidden.
        """
        target = check_url(url) if is_url(url) else str(Path(url).resolve())
        lease = f"--force-with-lease={ref}:{expected or ''}"
        try:
            self._run("push", "--quiet", "--no-verify", lease, "--end-of-options", target, f"{ref}:{ref}",
                      timeout=timeout)  # fmt: skip
        except SourceError as error:
            text = error.message
            if "stale info" in text or "non-fast-forward" in text or "fetch first" in text or "cannot lock ref" in text:
                raise StateConflict(f"{ref} was pushed to {shown(url)} by somebody else") from error
            raise

    # -- writing ------------------------------------------------------------------------------------------------

    def commit_files(
        self,
        ref: str,
        files: Mapping[str, bytes | None],
        message: str,
        *,
        parent: Commit | None,
        author: str = "gitfed <gitfed@localhost>",
        when: datetime,
        replace_all: bool = False,
    ) -> Commit:
        """Add one commit to `ref`: `files` by path, None deletes. Nothing else of the parent changes.

        The ref must stand at `parent` (None: not exist); else StateConflict and nothing is written.
        """
        ref = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        scratch = f"refs/gitfed/scratch/{os.getpid()}-{threading.get_ident()}"
        stamp = f"{author} {int(when.timestamp())} +0000"
        feed = [f"commit {scratch}\nmark :1\ncommitter {stamp}\n".encode(), _data(message.encode())]
        if parent is not None:
            feed.append(f"from {parent}\n".encode())
        if replace_all:
            feed.append(b"deleteall\n")
        for path in sorted(files):
            content = files[path]
            if content is None:
                feed.append(b"D " + _quote(path) + b"\n")
            else:
                feed.append(b"M 100644 inline " + _quote(path) + b"\n" + _data(content))
        feed.append(b"get-mark :1\ndone\n")
        answer = self._run(
            "fast-import", "--quiet", "--done", "--force", "--date-format=raw", "--cat-blob-fd=1", stdin=b"".join(feed)
        )
        commit = Commit(answer.decode().strip())
        swap = f"update {ref} {commit} {parent or _NULL}\ndelete {scratch}\n"
        try:
            self._run("update-ref", "--stdin", stdin=swap.encode())
        except SourceError as error:
            raise StateConflict(f"{ref} moved while a commit was made for it") from error
        return commit

    def update_ref(self, ref: str, commit: Commit | None) -> None:
        """Point a ref of ours (under refs/gitfed/) somewhere, or delete it."""
        if commit is None:
            self._run("update-ref", "-d", ref)
        else:
            self._run("update-ref", ref, commit)

    def keep_blob(self, name: str, blob: str) -> None:
        """Hold on to a blob that no branch may need any more: `refs/gitfed/held/…` (design: held files)."""
        self._run("update-ref", f"refs/gitfed/held/{name}", blob)


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The files of one commit: what `source.repo.read` reads."""

    repository: Repository
    commit: Commit

    def entries(self) -> Iterable[TreeEntry]:
        return self.repository.entries(self.commit).values()

    def read(self, blob_id: str) -> bytes:
        return self.repository.read(blob_id)


class WorkTree:
    """The files of a checkout with their uncommitted changes (`--worktree`): the one exception to reading objects.

    No symlink is followed, `.git` is left out, files above `max_bytes` are listed with their size but not read.
    Blob ids are Git's, so that the parse cache serves both.
    """

    commit = Commit("")

    def __init__(self, root: Path, *, max_bytes: int = 8 * 1024 * 1024) -> None:
        self.root = root
        self.max_bytes = max_bytes
        self._content: dict[str, Path] = {}
        self._links: dict[str, bytes] = {}

    def entries(self) -> Iterable[TreeEntry]:
        folders = [(self.root, 0)]
        while folders:
            folder, depth = folders.pop()
            for name in _names(folder):
                path = folder / name
                relative = path.relative_to(self.root).as_posix()
                try:
                    status = path.lstat()
                    if stat.S_ISDIR(status.st_mode):
                        if name != ".git":
                            folders.append((self._bounded(path, depth + 1), depth + 1))
                    elif stat.S_ISLNK(status.st_mode):
                        yield self._entry(relative, os.readlink(os.fsencode(path)), 0o120000, None)
                    elif status.st_size > self.max_bytes:
                        yield TreeEntry(relative, f"worktree-{relative}", status.st_size, 0o100644)
                    elif stat.S_ISREG(status.st_mode):
                        yield self._entry(relative, path.read_bytes(), 0o100644, path)
                except OSError:
                    # Listed all the same: whoever needs its content is told that it cannot be read.
                    yield TreeEntry(relative, f"worktree-{relative}", 0, 0o100644)

    def _bounded(self, path: Path, depth: int) -> Path:
        if depth > _DEEPEST_FOLDER:
            raise SourceError(
                f"{self.root} holds folders more than {_DEEPEST_FOLDER} levels deep",
                hint="read a commit instead of --worktree",
            )
        return path

    def _entry(self, relative: str, data: bytes, mode: int, path: Path | None) -> TreeEntry:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if path is None:
            self._links[blob] = data
        else:
            self._content[blob] = path
        return TreeEntry(relative, blob, len(data), mode)

    def read(self, blob_id: str) -> bytes:
        if blob_id in self._links:
            return self._links[blob_id]
        path = self._content.get(blob_id)
        if path is None:
            raise SourceError(f"{blob_id} is not a file of {self.root}")
        try:
            return path.read_bytes()
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _names(folder: Path) -> list[str]:
    """Sorted; none of a folder that went away meanwhile. Raises SourceError: what cannot be seen is not absent."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SourceError(f"{folder} cannot be read: {error.strerror}") from error


def _command(args: Sequence[str]) -> list[str]:
    config = [part for setting in _SAFE_CONFIG for part in ("-c", setting)]
    return [gitpython.Git.GIT_PYTHON_GIT_EXECUTABLE or "git", *config, *args]


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quote(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _translate(args: Sequence[str], said: str) -> SourceError:
    text = said.strip().removeprefix("stderr:").strip().strip("'")
    first = next((line for line in text.splitlines() if line.strip()), f"git {args[0]} failed")
    message = first.removeprefix("fatal: ").removeprefix("error: ")
    if "dubious ownership" in text:
        return SourceError(message, hint="git config --global --add safe.directory PATH, if you trust its owner")
    kind = SourceUnreachable if _UNREACHABLE.search(text) else SourceError
    if args[0] == "push" and kind is SourceError:
        message = "; ".join(line.strip() for line in text.splitlines()[:4])
    # A server says part of this text: it must not move the cursor of whoever reads it.
    message = "".join(letter if letter.isprintable() else "?" for letter in message)
    return kind(f"git {args[0]}: {message[:1000]}")
