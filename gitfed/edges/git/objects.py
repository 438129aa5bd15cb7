"""Content by commit and blob id, from the object store and never from a checkout.

So nothing that a repository holds (symlinks, hooks, filters, submodules, attributes) is ever acted upon. What can be
enormous is bounded before it is in memory: a listing, a blob, the comparison of two trees.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gitfed.edges.git import git_errors
from gitfed.edges.git.cat_file import Ended, Missing
from gitfed.edges.git.program import Program
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.text.values import dataclass

_MOST_CHANGES = 2000
_MOST_LISTINGS = 4
_FOLDER = 0o40000
SUBMODULE = 0o160000
_LARGEST_BLOB = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit. `mode` is Git's: 0o100644, 0o100755, 0o120000 (symlink), 0o160000 (submodule)."""

    path: str
    blob_id: str
    size: int
    mode: int


class TreeChange(NamedTuple):
    """One path in two commits; None where it is no file."""

    before: TreeEntry | None
    """Its size was looked up only if the file is gone."""
    after: TreeEntry | None


class Objects(Program):
    """Trees and blobs. The persistent `cat-file` process is behind a lock."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(path, env=env)
        self._listings: OrderedDict[Commit, dict[str, TreeEntry]] = OrderedDict()
        """The latest ones, newest last: a caller that looks for older versions of many files asks for a few commits in
        turn."""
        self._merged: tuple[Commit, int, Mapping[str, TreeEntry]] | None = None
        self.brought: set[Commit] = set()
        """Commits of submodules that were allowed and fetched (`submodules.bring`)."""

    def entries(self, commit: Commit) -> Mapping[str, TreeEntry]:
        """Every file of a commit by path, those of its submodules too, as far as they were brought."""
        listing = self.listing(commit)
        if not self.brought:
            return listing
        if self._merged is None or self._merged[:2] != (commit, len(self.brought)):
            self._merged = (commit, len(self.brought), self._with_submodules(listing))
        return self._merged[2]

    def _with_submodules(self, listing: Mapping[str, TreeEntry]) -> Mapping[str, TreeEntry]:
        links = [entry for entry in listing.values() if entry.mode == SUBMODULE and entry.blob_id in self.brought]
        if not links:
            return listing
        merged = dict(listing)
        for link in links:
            del merged[link.path]
            for path, entry in self._with_submodules(self._list_all(Commit(link.blob_id))).items():
                merged[f"{link.path}/{path}"] = replace(entry, path=f"{link.path}/{path}")
        return merged

    def listing(self, commit: Commit) -> Mapping[str, TreeEntry]:
        """Every entry of a commit by path. Listing a commit after another costs what changed between them."""
        with self._lock:
            if commit in self._listings:
                self._listings.move_to_end(commit)
                return self._listings[commit]
            previous = next(reversed(self._listings.items()), None)
        listing = None
        if previous is not None:
            with contextlib.suppress(SourceError):
                listing = self._list_changed(previous, commit)
        if listing is None:
            listing = self._list_all(commit)
        with self._lock:
            self._listings[commit] = listing
            if len(self._listings) > _MOST_LISTINGS:
                self._listings.popitem(last=False)
        return listing

    def _list_all(self, commit: Commit) -> dict[str, TreeEntry]:
        listing: dict[str, TreeEntry] = {}
        for line in self.records("ls-tree", "-r", "-z", "-l", "--full-tree", commit):
            if line:
                meta, _, name = line.partition(b"\t")
                mode, _, blob, size = meta.split()
                path = name.decode("utf-8", "surrogateescape")
                listing[path] = TreeEntry(path, blob.decode(), int(size) if size.isdigit() else 0, int(mode, 8))
        return listing

    def _list_changed(
        self, previous: tuple[Commit, dict[str, TreeEntry]], commit: Commit
    ) -> dict[str, TreeEntry] | None:
        """The listing of `commit`, from the `previous` one; None when more changed than listing everything costs."""
        changed = self.differences(previous[0], commit)
        if changed is None:
            return None
        listing = dict(previous[1])
        for path, entry in changed.items():
            if entry is None:
                listing.pop(path, None)
            else:
                listing[path] = entry
        return listing

    def differences(self, before: Commit, after: Commit) -> dict[str, TreeEntry | None] | None:
        """Path → its entry now, None where it is gone, for what differs between two commits; None when that is much."""
        changes = self.changes(before, after)
        return None if changes is None else {path: change.after for path, change in changes.items()}

    def changes(self, before: Commit, after: Commit) -> dict[str, TreeChange] | None:
        """What differs between two commits by path; None when that is much.

        Folders are compared here and not by `git diff-tree`, which gathers all changes in memory before it prints the
        first: a folder that holds itself again and again would take the whole machine.
        """
        changes: dict[str, TreeChange] = {}
        looked = 0
        pairs = [("", self._tree_of(before), self._tree_of(after))]
        while pairs:
            prefix, old_tree, new_tree = pairs.pop()
            old, new = self._folder(old_tree), self._folder(new_tree)
            for name in old.keys() | new.keys():
                was, now = old.get(name), new.get(name)
                if was == now:
                    continue
                looked += 1
                if looked > _MOST_CHANGES:
                    return None
                path = prefix + name
                below = [side[1] if side is not None and side[0] == _FOLDER else "" for side in (was, now)]
                if any(below):
                    pairs.append((f"{path}/", below[0], below[1]))
                old_file = was if was is not None and was[0] != _FOLDER else None
                new_file = now if now is not None and now[0] != _FOLDER else None
                entry = TreeEntry(path, new_file[1], self._size(new_file[1]), new_file[0]) if new_file else None
                if old_file is not None:
                    size = self._size(old_file[1]) if entry is None else 0
                    changes[path] = TreeChange(TreeEntry(path, old_file[1], size, old_file[0]), entry)
                elif entry is not None:
                    changes[path] = TreeChange(None, entry)
        return changes

    def some(self, commit: Commit, paths: Iterable[str], folders: Iterable[str] = ()) -> dict[str, TreeEntry]:
        """The entries at `paths`, and all that lie below `folders` (`clusters/`); what is not there is left out.

        Only folders on the way are read: of a branch with ten thousand files a few cost little.
        """
        wanted, below = set(paths), tuple(folders)
        on_the_way = {path[: end + 1] for path in wanted for end, sign in enumerate(path) if sign == "/"}
        entries: dict[str, TreeEntry] = {}
        todo = [("", self._tree_of(commit))]
        while todo:
            prefix, tree = todo.pop()
            for name, (mode, blob) in self._folder(tree).items():
                path = prefix + name
                if mode == _FOLDER:
                    if f"{path}/" in on_the_way or f"{path}/".startswith(below):
                        todo.append((f"{path}/", blob))
                elif path in wanted or path.startswith(below):
                    entries[path] = TreeEntry(path, blob, self._size(blob), mode)
        return entries

    def _tree_of(self, commit: Commit) -> str:
        with self._lock:
            try:
                return self._objects.header(f"{commit}^{{tree}}").name
            except Missing:
                raise SourceError(f"{commit[:12]} is no commit that is here") from None

    def _folder(self, tree: str) -> dict[str, tuple[int, str]]:
        """Name → (mode, object id) of one folder; nothing for no folder. Raises SourceError."""
        content = self.read(tree) if tree else b""
        width = len(tree) // 2
        children = {}
        start = 0
        while start < len(content):
            space, end = content.index(b" ", start), content.index(b"\0", start)
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            children[name] = (int(content[start:space], 8), content[end + 1 : end + 1 + width].hex())
            start = end + 1 + width
        return children

    def _size(self, blob: str) -> int:
        with self._lock:
            try:
                return self._objects.header(blob).size
            except Missing:
                return 0  # a submodule's commit is not among our objects

    def read(self, blob_id: str) -> bytes:
        """Content of a blob. Raises SourceError when the object is missing (shallow or damaged repository), or so large
        that it is no text of ours: a gigabyte of zeros is a kilobyte in a pack."""
        with self._lock:
            try:
                size = self._objects.header(blob_id).size
                if size <= _LARGEST_BLOB:
                    return self._objects.content(blob_id)
            except (Missing, Ended) as error:
                if self.is_partial():
                    raise git_errors.partial_clone() from error
                raise SourceError(f"object {blob_id} cannot be read from {self.path}") from error
        raise SourceError(f"object {blob_id} has {size} bytes, at most {_LARGEST_BLOB} are read")

    def tree(self, commit: Commit) -> CommitTree:
        return CommitTree(self, commit)


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The files of one commit: what `source.repo.read` reads."""

    repository: Objects
    commit: Commit

    def entries(self) -> Iterable[TreeEntry]:
        return self.repository.entries(self.commit).values()

    def read(self, blob_id: str) -> bytes:
        return self.repository.read(blob_id)


class _Content(Protocol):
    def read(self, blob_id: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PartOfTree:
    """A commit, or a checkout, as if it had these files only."""

    whole: _Content
    commit: Commit
    files: tuple[Any, ...]
    """What `source.tree.FileEntry` asks for."""

    def entries(self) -> Iterable[Any]:
        return self.files

    def read(self, blob_id: str) -> bytes:
        return self.whole.read(blob_id)
