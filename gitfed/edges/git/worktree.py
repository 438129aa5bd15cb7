"""A checkout with its uncommitted changes (`--worktree`): the one exception to reading Git's objects."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from gitfed.edges.git.objects import TreeEntry
from gitfed.errors import SourceError
from gitfed.model.base import Commit

_DEEPEST_FOLDER = 256


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
                    # Listed all the same: a reader of its content is told that it cannot be read.
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


def _names(folder: Path) -> list[str]:
    """Sorted; none of a folder that went away meanwhile. Raises SourceError: what cannot be seen is not absent."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SourceError(f"{folder} cannot be read: {error.strerror}") from error
