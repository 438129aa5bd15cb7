"""Which folders Kustomize builds, from which files: kustomizations, their bases, and what they take in.

A kustomization that no other one names is a *root*; what it builds are templates. Files that a kustomization names are
its material and no templates themselves, whether it can be built or not; other files beside it are templates. The
building is done elsewhere (`Build`), by the real program and from these files alone. So everything that a kustomization
names must be in the repository: what the program would look for in the network is refused here, before it runs.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field
from operator import attrgetter
from typing import Any, Protocol

from gitfed.model.base import Origin, Problem
from gitfed.source import kustomization
from gitfed.source.kustomization import Names as Names
from gitfed.source.tree import SUBMODULE, SYMLINK, FileEntry, visible
from gitfed.text.values import dataclass

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
ORIGIN = "config.kubernetes.io/origin"
"""Kustomize: the annotation that says which file an object came from, if asked for (`buildMetadata`)."""
TREE = "tree"
"""Where the repository's files lie for the program: part of the origins that it tells."""
_BUILT = "kustomize."
_VERSION = b"1"
_MOST_FILES = 10_000
_MOST_BYTES = 64 * 1024 * 1024
_NEAR = 0.75
"""How much two names must have in common for one to be a slip for the other; 1 is all."""
_MOST_GUESSES = 100
_MOST_BESIDE = 1000
"""Files of one folder among which a slip is looked for."""
_PATH = attrgetter("path")
_REMOTE = re.compile(r"://|\?|^git@|^(github|gitlab|bitbucket)\.(com|org)[/:]|^[\w-]+(\.[\w-]+)+/.*//")
"""What Kustomize would fetch: no slip in a path of this repository."""


class Build(Protocol):
    """What the program prints for a root; `read` gives a blob's content. Raises SourceError with the reason."""

    def __call__(self, root: Root, read: Callable[[str], bytes]) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Root:
    folder: str
    """"" is the top of the repository."""
    path: str
    """Its kustomization file."""
    files: tuple[FileEntry, ...]
    """All that the build may see: what lies in or below the folders of the root and its bases."""
    plugins: bool
    """Whether generators, transformers or validators are named: what their own files name was not looked up here."""
    digest: str
    """Stands for the files: equal digests give equal builds. In the place of a blob id."""


@dataclass(slots=True)
class KustomizationLayout:
    roots: dict[str, Root] = field(default_factory=dict)
    """By path of the kustomization file."""
    material: set[str] = field(default_factory=set)
    """Files that are no templates: kustomizations, and what they name."""
    problems: list[Problem] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Root that cannot be built → why."""


def is_built(blob_id: str) -> bool:
    """Whether this is a root's digest and no blob."""
    return blob_id.startswith(_BUILT)


def is_kustomization(path: str) -> bool:
    return path.rpartition("/")[2] in NAMES


def layout(
    entries: Sequence[FileEntry],
    wanted: Callable[[str], bool],
    read: Callable[[str], bytes],
    names_by_blob: dict[str, Names],
    before: Callable[[str], str] = lambda path: "",
) -> KustomizationLayout:
    """`entries` are sorted by path; `names_by_blob` remembers what each kustomization file names: it may be empty.

    `before`: what stood for a kustomization file in the last commit that was applied, a root's digest or a blob id, ""
    for nothing. It is asked only where another kustomization cannot be used.
    """
    result = KustomizationLayout()
    kustomizations: dict[str, FileEntry] = {}
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        if name in NAMES and entry.mode not in (SYMLINK, SUBMODULE):
            kustomizations.setdefault(folder, entry)
    if kustomizations:
        _Finder(entries, wanted, read, names_by_blob, before, kustomizations, result).find()
    return result


@dataclass(slots=True)
class _Finder:
    entries: Sequence[FileEntry]
    wanted: Callable[[str], bool]
    read: Callable[[str], bytes]
    names_by_blob: dict[str, Names]
    before: Callable[[str], str]
    kustomizations: Mapping[str, FileEntry]
    """By folder."""
    result: KustomizationLayout
    files: dict[str, FileEntry] = field(default_factory=dict)
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Folder → folders that its kustomization names."""
    faults: dict[str, str] = field(default_factory=dict)
    """Folder → why its kustomization cannot be built."""
    broken: dict[tuple[Origin, str], list[str]] = field(default_factory=dict)
    """Where a kustomization is wrong, and how → those that build on it."""
    unresolved: dict[str, list[str]] = field(default_factory=dict)
    """Folder → paths that its kustomization names, or seems to name, and that are not there."""

    def find(self) -> None:
        self.files = {entry.path: entry for entry in self.entries if entry.mode not in (SYMLINK, SUBMODULE)}
        for folder in self.kustomizations:
            self.look(folder)
        ours = [folder for folder, entry in self.kustomizations.items() if self.wanted(entry.path)]
        named = {base for folder in ours for base in self.bases[folder]}
        perhaps = self.perhaps_named(ours, named)
        named |= perhaps
        reached: set[str] = set()
        for folder in ours:
            if folder not in named and self.names(folder).kind == "Kustomization":
                reached |= self.root(folder)
        for folder in ours:
            if folder not in reached and folder in named:
                path = self.kustomizations[folder].path
                if folder in perhaps:
                    self.refuse(path, "another kustomization may have meant it as a base, and cannot be used")
                else:
                    self.refuse(path, "kustomizations name each other in a circle")
        self.tell_broken()
        for folder in ours:
            self.result.material.add(self.kustomizations[folder].path)

    def names(self, folder: str) -> Names:
        entry = self.kustomizations[folder]
        if entry.blob_id not in self.names_by_blob:
            self.names_by_blob[entry.blob_id] = kustomization.read(entry, self.read)
        return self.names_by_blob[entry.blob_id]

    def look(self, folder: str) -> None:
        """Where the names of a kustomization lead."""
        names = self.names(folder)
        fault = names.fault
        bases = []
        ours = self.wanted(self.kustomizations[folder].path)
        for name in (*names.folders, *names.paths):
            target = _join(folder, name)
            if target in self.kustomizations and name in names.folders:
                bases.append(target)
            elif target in self.files:
                if ours:
                    self.result.material.add(target)
            else:
                fault = fault or f"{visible(name)} is not a file of the repository, or a folder with a kustomization"
                if not _REMOTE.search(name):
                    self.unresolved.setdefault(folder, []).append(target)
        for word in names.guesses:
            if _REMOTE.search(word):
                continue
            target, is_path = _join(folder, word), "." in word or "/" in word
            if target in self.files:
                if ours and is_path:
                    self.result.material.add(target)
            elif target != folder and (is_path or target in self.kustomizations):
                self.unresolved.setdefault(folder, []).append(target)
        self.bases[folder] = tuple(bases)
        if fault:
            self.faults[folder] = fault

    def perhaps_named(self, ours: Sequence[str], named: Set[str]) -> set[str]:
        """Folders that a kustomization which cannot be used may have meant as bases; files of that kind are material.

        A slip of the pen must not turn a base into a root, nor a resource into a template. What was built as a root
        before goes on being one.
        """
        wrong = [folder for folder in ours if folder in self.unresolved or folder in self.faults]
        if not wrong:
            return set()
        targets = {target for folder in wrong for target in self.unresolved.get(folder, ())[:_MOST_GUESSES]} - {"../"}
        for folder in wrong:
            self.perhaps_files(folder, [target for target in self.unresolved.get(folder, ()) if target in targets])
        bases = set()
        for folder, entry in self.kustomizations.items():
            if folder not in named and folder not in self.faults and self.wanted(entry.path):
                stood = self.before(entry.path)
                if not is_built(stood) and (stood or any(_is_near(target, folder) for target in targets)):
                    bases.add(folder)
        return bases

    def perhaps_files(self, folder: str, targets: Iterable[str]) -> None:
        for target in targets:
            if target in self.kustomizations:
                continue
            if below := [entry.path for entry in self.below(target) if target and entry.path in self.files]:
                self.result.material.update(below)  # a folder whose own kustomization is missing
                continue
            for where in {folder, posixpath.dirname(target)}:
                beside = [path for path in map(_PATH, self.below(where)) if posixpath.dirname(path) == where]
                if len(beside) <= _MOST_BESIDE:
                    self.result.material.update(
                        path for path in beside if path in self.files and _is_near(target, path)
                    )

    def root(self, folder: str) -> set[str]:
        """The folders that a root is built from."""
        entry = self.kustomizations[folder]
        reached: set[str] = set()
        todo = [folder]
        while todo:
            here = todo.pop()
            if here not in reached:
                reached.add(here)
                todo += self.bases[here]
        for here in sorted(reached):
            if here in self.faults:
                place = Origin(visible(self.kustomizations[here].path), *self.names(here).place)
                self.result.refused[entry.path] = self.faults[here]
                users = self.broken.setdefault((place, self.faults[here]), [])
                users += [] if here == folder else [visible(entry.path)]
                return reached
        inside = {file.path: file for here in reached for file in self.below(here) if file.path in self.files}
        files = tuple(inside[path] for path in sorted(inside))
        size = sum(file.size for file in files)
        if len(files) > _MOST_FILES or size > _MOST_BYTES:
            self.refuse(
                entry.path,
                f"a build of {len(files)} files with {size} bytes: at most {_MOST_FILES} files and {_MOST_BYTES} bytes",
            )
            return reached
        plugins = any(self.names(here).plugins for here in reached)
        total = hashlib.sha256(b"%b\0%b\0" % (_VERSION, folder.encode("utf-8", "surrogateescape")))
        for file in files:
            total.update(b"%b\0%b\0" % (file.path.encode("utf-8", "surrogateescape"), file.blob_id.encode()))
        self.result.roots[entry.path] = Root(folder, entry.path, files, plugins, f"{_BUILT}{total.hexdigest()}")
        return reached

    def below(self, folder: str) -> Sequence[FileEntry]:
        if not folder:
            return self.entries
        first = bisect.bisect_left(self.entries, folder + "/", key=lambda entry: entry.path)
        last = bisect.bisect_left(self.entries, folder + "0", key=lambda entry: entry.path)  # "0" follows "/"
        return self.entries[first:last]

    def refuse(self, path: str, message: str) -> None:
        self.result.refused[path] = message
        self.result.problems.append(Problem(Origin(visible(path)), message))

    def tell_broken(self) -> None:
        """Once for each kustomization, however many build on it."""
        for (place, fault), users in self.broken.items():
            commit = "nothing is fetched from elsewhere: commit it" if "is not a file" in fault else ""
            why = ""
            if users:
                more = f" and {len(users) - 1} more" if len(users) > 1 else ""
                why = f"{users[0]}{more} {'build' if more else 'builds'} on it"
            hint = "; ".join(part for part in (commit, why) if part)
            self.result.problems.append(Problem(place, fault, hint))


def origins(values: Iterable[Any], path: str) -> list[tuple[Any, str]]:
    """Built objects as the user wrote them, each with the file it came from (`path` if the program does not tell)."""
    return [_origin(value, path) for value in values]


def _origin(value: Any, path: str) -> tuple[Any, str]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or ORIGIN not in annotations:
        return value, path
    told = path
    for line in str(annotations[ORIGIN]).splitlines():
        name, _, text = line.partition(": ")
        if name in ("path", "configuredIn"):
            told = text.strip("'\"").removeprefix(TREE + "/")
    others = {name: text for name, text in annotations.items() if name != ORIGIN}
    rest = {name: part for name, part in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**rest, "annotations": others} if others else rest}, told


def _is_near(target: str, path: str) -> bool:
    """Whether `target`, which is not there, may have meant `path`: the same, or misspelled, in the same folder."""
    if target == path:
        return True
    (above, name), (folder, other) = posixpath.split(target), posixpath.split(path)
    if above != folder:
        return bool(name) and name == other  # the wrong number of ../
    return difflib.SequenceMatcher(None, name, other).ratio() >= _NEAR


def _join(folder: str, name: str) -> str:
    """A name as a path of the repository; "." parts are gone, "../" first means that it leaves the repository."""
    joined = posixpath.normpath(posixpath.join("/", folder, name)) if not name.startswith("/") else "//"
    climbed = posixpath.normpath(posixpath.join(folder, name))
    return "../" if climbed.startswith("..") or joined == "//" else ("" if climbed == "." else climbed)
