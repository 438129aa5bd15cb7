"""Which entries of a commit are files that we read.

Entries come from Git objects, so nothing outside the repository can be reached; what a hostile tree can still do is
name things confusingly, link in circles, or be enormous. Every refusal is a Problem; that of a file which
the settings include is an error, because its objects are then missing.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import NamedTuple, Protocol

from gitfed.errors import SourceError
from gitfed.model.base import Commit, Origin, Problem, Severity
from gitfed.text.values import dataclass

SYMLINK = 0o120000
SUBMODULE = 0o160000
LARGEST_FILE = 8 * 1024 * 1024
MOST_FILES = 100_000
_LONGEST_PATH = 1024
_LONGEST_LINK = 4096
_MOST_HOPS = 40
_MOST_LINKED_FILES = 10_000


class FileEntry(Protocol):
    """One file of a commit. `mode` is Git's: 0o100644, 0o100755, 0o120000 (symlink), 0o160000 (submodule)."""

    @property
    def path(self) -> str: ...
    @property
    def blob_id(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mode(self) -> int: ...


class FileTree(Protocol):
    """The files of one commit, or of a worktree (`commit` "")."""

    @property
    def commit(self) -> Commit: ...
    def entries(self) -> Iterable[FileEntry]: ...
    def read(self, blob_id: str) -> bytes:
        """Raises SourceError."""


class File(NamedTuple):
    path: str
    """Where the repository shows it; through a link, the link's path."""
    blob_id: str
    size: int


@dataclass(slots=True)
class Listing:
    """`refused` are paths of included files that cannot be read, each with its problem in `problems`."""

    files: list[File] = field(default_factory=list)
    """Sorted by path."""
    problems: list[Problem] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Path → why."""
    closed: dict[str, str] = field(default_factory=dict)
    """Path of what is neither a file nor a folder, so that what is below it is unknown → what it is."""
    linked: list[str] = field(default_factory=list)
    """Paths of links to folders: no such path is a file."""


def select(tree: FileTree, entries: list[FileEntry], wanted: Callable[[str], bool], names: dict[str, str]) -> Listing:
    """The files for which `wanted(path)` holds, links followed inside the tree. `entries` are sorted by path.

    `names` remembers what each path folds to between reads, and so which paths are not odd; it may start empty.
    """
    listing = Listing()
    links: list[FileEntry] = []
    folders: list[FileEntry] = []
    for entry in entries:
        mode = entry.mode
        if mode == SYMLINK:
            links.append(entry)
        elif mode == SUBMODULE:
            folders.append(entry)
        elif wanted(entry.path):
            if entry.path in names and entry.size <= LARGEST_FILE:
                listing.files.append(File(entry.path, entry.blob_id, entry.size))
            else:
                _take(listing, entry.path, entry)
    for entry in folders:
        listing.closed[entry.path] = "a submodule"
        if wanted(entry.path) or wanted(entry.path + "/file.yaml"):
            _warn(listing, entry.path, "a submodule is not read", "commit the manifests themselves")
    if links:
        _follow(tree, listing, links, {entry.path: entry for entry in entries}, wanted)
        listing.files.sort()
    if len(listing.files) > MOST_FILES:
        why = f"more than {MOST_FILES} files"
        _refuse(listing, listing.files[MOST_FILES].path, why, "narrow spec.sources.include")
        listing.refused.update((file.path, why) for file in listing.files[MOST_FILES:])
        del listing.files[MOST_FILES:]
    _warn_of_twins(listing, names)
    return listing


def _take(listing: Listing, path: str, entry: FileEntry) -> None:
    plain = path.isascii() and path.isprintable() and len(path) <= _LONGEST_PATH
    if (not plain or path[0] in ".-" or "/." in path) and (why := _why_odd(path)):
        _refuse(listing, path, f"the file name {why}", "rename it")
        return
    if entry.size > LARGEST_FILE:
        _refuse(listing, path, f"the file has {entry.size} bytes, at most {LARGEST_FILE} are read", "split it")
        return
    listing.files.append(File(path, entry.blob_id, entry.size))


def _why_odd(path: str) -> str:
    if len(path) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} characters"
    if any("\ud800" <= character <= "\udfff" for character in path):
        return "is not UTF-8"
    for character in path:
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn"):
            return f"has the invisible character U+{ord(character):04X}"
    if path.startswith("-"):
        return "begins with -, which programs take for an option"
    if any(name in ("", ".", "..") for name in path.split("/")):
        return "has a part that is no name"
    if any(name.rstrip(" .").casefold() == ".git" for name in path.split("/")):
        return "lies inside a folder named .git"
    return ""


def _follow(
    tree: FileTree,
    listing: Listing,
    links: list[FileEntry],
    entries: Mapping[str, FileEntry],
    wanted: Callable[[str], bool],
) -> None:
    """Read through links to files and folders of the tree; what is included itself is not read twice."""
    targets: dict[str, str] = {}
    for link in links:
        text = _link_text(tree, link)
        if text is not None:
            targets[link.path] = text
    linked = 0
    for link in links:
        path = link.path
        real, why = resolve(path, targets.get) if path in targets else ("", "cannot be read")
        entry = entries.get(real) if not why else None
        if entry is not None and entry.mode == SUBMODULE:
            why = "points to a submodule"
        if why:
            listing.closed[path] = f"a link that {why}"
            if wanted(path):
                _refuse(listing, path, f"the link {why}", "commit the file itself")
            else:
                _warn(listing, path, f"the link {why}, it is not followed")
            continue
        if entry is not None:
            if wanted(path) and not wanted(real):
                _take(listing, path, entry)
            continue
        below = real + "/" if real else ""
        inside = [name for name in entries if name.startswith(below) and entries[name].mode not in (SYMLINK, SUBMODULE)]
        if inside:
            listing.linked.append(path)
        else:
            listing.closed[path] = "a link that points to nothing"
            if wanted(path):
                _refuse(listing, path, "the link points to nothing", "commit the file itself")
        if path.startswith(below):
            continue  # a link to a folder that holds it: nothing new can be seen through it
        for name in inside:
            shown = f"{path}/{name.removeprefix(below)}"
            if not wanted(name) and wanted(shown):
                linked += 1
                if linked > _MOST_LINKED_FILES:
                    _refuse(listing, path, f"links show more than {_MOST_LINKED_FILES} files", "include the folders")
                    return
                _take(listing, shown, entries[name])


def _link_text(tree: FileTree, link: FileEntry) -> str | None:
    if link.size > _LONGEST_LINK:
        return None
    try:
        return tree.read(link.blob_id).decode()
    except (SourceError, UnicodeDecodeError):
        return None


def resolve(path: str, target_of: Callable[[str], str | None]) -> tuple[str, str]:
    """(real path, ""), or ("", why not). Every folder on the way may be a link too; `target_of` tells where one leads,
    and None of what is no link."""
    hops = 0
    done: list[str] = []
    todo = path.split("/")[::-1]
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not done:
                return "", "leaves the repository"
            done.pop()
            continue
        here = posixpath.join(*done, name) if done else name
        target = target_of(here)
        if target is None:
            done.append(name)
            continue
        hops += 1
        if hops > _MOST_HOPS:
            return "", "goes in a circle or through too many others"
        if target.startswith("/") or "\0" in target:
            return "", "leaves the repository"
        todo.extend(target.split("/")[::-1])
    return "/".join(done), ""


def _warn_of_twins(listing: Listing, names: dict[str, str]) -> None:
    """Two names that a Mac or Windows checkout would take for one."""
    seen: dict[str, str] = {}
    for path, _, _ in listing.files:
        folded = names.get(path)
        if folded is None:
            folded = names[path] = unicodedata.normalize("NFC", path).casefold()
        other = seen.setdefault(folded, path)
        if other is not path:
            message = f"the file name differs from {other} in case or accents only"
            _warn(listing, path, message, "some file systems cannot hold both")
    if len(names) > 4 * len(listing.files) + 1000:
        names.clear()


def _refuse(listing: Listing, path: str, message: str, hint: str) -> None:
    shown = visible(path)
    listing.refused[path] = message
    listing.problems.append(Problem(Origin(shown), message, hint))


def _warn(listing: Listing, path: str, message: str, hint: str = "") -> None:
    listing.problems.append(Problem(Origin(visible(path)), message, hint, Severity.WARNING))


def visible(path: str) -> str:
    """A path as it may be printed: nothing in it moves the cursor, reverses text or fills the screen."""
    if len(path) > 300:
        path = path[:297] + "..."
    if path.isascii() and path.isprintable():
        return path
    return "".join(
        c if unicodedata.category(c)[0] not in "CZ" or c == " " else c.encode("unicode_escape").decode() for c in path
    )
