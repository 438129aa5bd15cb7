"""Commits that gitfed makes: on branches of its own, without a worktree or an index.

`git fast-import` makes one commit with one process, whatever its number of files, and a ref moves only forward.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime

from gitfed.edges.git.gc import Tidying
from gitfed.errors import CloneUnwritable, SourceError, StateConflict
from gitfed.model.base import Commit

_NULL = "0" * 40
_SHA256 = 64
"""Digits of a commit's name in a repository of that kind."""


class RepositoryWriter(Tidying):
    """Commits, refs of ours, and blobs that are to outlive their branch."""

    def commit_files(
        self,
        ref: str,
        files: Mapping[str, bytes | None],
        message: str,
        *,
        parent: Commit | None,
        author: str = "gitfed <gitfed@localhost>",
        when: datetime,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> Commit:
        """Add one commit to `ref`: `files` by path, None deletes. Nothing else of the parent changes. `sign` gives the
        signature of what a commit says.

        The ref must stand at `parent` (None: not exist); else StateConflict and nothing is written.
        """
        ref = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        scratch = f"refs/gitfed/scratch/{os.getpid()}-{threading.get_ident()}"
        stamp = f"{author} {int(when.timestamp())} +0000"
        feed = [f"commit {scratch}\nmark :1\ncommitter {stamp}\n".encode(), _data(message.encode())]
        if parent is not None:
            feed.append(f"from {parent}\n".encode())
        for path in sorted(files):
            content = files[path]
            if content is None:
                feed.append(b"D " + _quote(path) + b"\n")
            else:
                feed.append(b"M 100644 inline " + _quote(path) + b"\n" + _data(content))
        feed.append(b"get-mark :1\ndone\n")
        command = ("fast-import", "--quiet", "--done", "--force", "--date-format=raw", "--cat-blob-fd=1")
        try:
            answer = self.run(*command, stdin=b"".join(feed))
        except SourceError:
            self._clear_up()
            raise
        commit = Commit(answer.decode().strip())
        if sign is not None:
            commit = self._signed(commit, sign)
        swap = f"update {ref} {commit} {parent or _NULL}\ndelete {scratch}\n"
        try:
            self.run("update-ref", "--stdin", stdin=swap.encode())
        except CloneUnwritable:
            raise
        except SourceError as error:
            raise StateConflict(f"{ref} moved while a commit was made for it") from error
        self.changed()
        return commit

    def _signed(self, commit: Commit, sign: Callable[[bytes], bytes]) -> Commit:
        """The same commit again, with a signature. `git fast-import` takes one from version 2.50 on."""
        with self._lock:
            raw = self._objects.content(commit)
        header = b"gpgsig-sha256" if len(commit) == _SHA256 else b"gpgsig"
        lines = sign(raw).rstrip(b"\n").split(b"\n")
        head, _, message = raw.partition(b"\n\n")
        content = head + b"\n" + header + b" " + b"\n ".join(lines) + b"\n\n" + message
        return Commit(self.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=content).decode().strip())

    def _clear_up(self) -> None:
        """What a failed import leaves behind. Another try on a full disk must not fill it further."""
        for pattern in ("fast_import_crash_*", "objects/pack/tmp_pack_*", "objects/pack/tmp_idx_*"):
            for left in self.path.glob(pattern):
                with contextlib.suppress(OSError):
                    left.unlink()

    def update_ref(self, ref: str, commit: Commit | None) -> None:
        """Point a ref of ours (under refs/gitfed/) somewhere, or delete it."""
        if commit is None:
            self.run("update-ref", "-d", ref)
        else:
            self.run("update-ref", ref, commit)

    def advance(self, ref: str, commit: Commit, *, expected: Commit | None) -> None:
        """Point a branch elsewhere that stands at `expected` (None: does not exist). Raises StateConflict."""
        try:
            self.run("update-ref", ref, commit, expected or _NULL)
        except CloneUnwritable:
            raise
        except SourceError as error:
            raise StateConflict(f"{ref} moved meanwhile") from error

    def keep_blob(self, name: str, blob: str) -> None:
        """Hold on to a blob that no branch may need any more: `refs/gitfed/held/…` (design: held files)."""
        self.run("update-ref", f"refs/gitfed/held/{name}", blob)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quote(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
