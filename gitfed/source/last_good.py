"""Where a file with errors goes back to: its last version without (`onInvalidFile: hold`).

The caller says where old versions are found: what the state branch recorded when the file was first held, else the
last commit that was applied. A version that has errors itself is none. One that cannot be read is unknown, which is
not the same: the file may have declared anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.repo import HeldFile
from gitfed.source.content import FileContent
from gitfed.source.read_cache import ReadCache
from gitfed.source.tree import LARGEST_FILE
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is known of earlier versions of the files that are read; by itself: nothing."""

    held: Mapping[str, HeldFile] = field(default_factory=dict)
    """By path, the version that was recorded when the file was first held."""
    last_good: Callable[[str], tuple[Commit, str] | None] | None = None
    """Path → (commit, blob id) in the last commit that was applied. Raises SourceError when the history cannot tell."""
    applied: Callable[[str], str] = lambda path: ""
    """Path → blob id in the last commit that was applied, "" where it is not there or no commit was applied. Cheap,
    where `last_good` looks at history."""
    applied_below: Callable[[str], Iterable[str]] = lambda path: ()
    """Path → the paths of the files that stood there, or below, in the last commit that was applied."""
    read: Callable[[HeldFile], bytes | None] | None = None
    """The bytes of such a version, None when it cannot be read; without it: from the tree's repository."""


@dataclass(frozen=True, slots=True)
class Versions:
    memory: ReadCache
    earlier: Earlier
    read: Callable[[HeldFile], bytes | None]
    by_path: dict[str, HeldFile | None] = field(default_factory=dict)
    """What `find` looked up: history is asked once for each file."""
    unknown: set[str] = field(default_factory=set)
    """Paths of files that may have had a good version, which cannot be read."""

    def blob(self, path: str) -> str:
        """What stood for a file in the version to fall back to; "" when there is none, or it cannot be read."""
        try:
            version = self._version(path)
        except SourceError:
            return ""
        return version.blob if version is not None else ""

    def differs(self, path: str, blob: str) -> bool:
        """Whether a file was there before with another content."""
        return path in self.earlier.held or self.earlier.applied(path) not in ("", blob)

    def had_objects(self, path: str) -> bool:
        """Whether there were objects in a file, so that it is a mistake that it has none; also when that is unknown."""
        version = self.find(path)
        if version is None:
            return path in self.unknown
        return bool(version[1].manifests or version[1].declared)

    def below(self, path: str) -> set[str]:
        """The paths of the files that stood at a path or below it, and those that are held there since."""
        inside = f"{path}/"
        held = (held_path for held_path in self.earlier.held if held_path == path or held_path.startswith(inside))
        return {*self.earlier.applied_below(path), *held}

    def find(self, path: str) -> tuple[HeldFile, FileContent] | None:
        """The version to hold the file at, and what it says; None if there is none that can be used."""
        try:
            version = self._version(path)
            if version is None:
                return None
            content = self.memory.held(path, version.blob, version.commit, lambda: self._load(version))
        except SourceError:
            self.unknown.add(path)
            return None
        return None if content.faulty else (version, content)

    def _version(self, path: str) -> HeldFile | None:
        if path not in self.by_path:
            earlier = self.earlier
            version = earlier.held.get(path)
            if version is None and earlier.last_good is not None and (last_good := earlier.last_good(path)) is not None:
                version = HeldFile(path, last_good[0], last_good[1], "")
            self.by_path[path] = version
        return self.by_path[path]

    def _load(self, version: HeldFile) -> bytes:
        data = self.read(version)
        if data is None:
            raise SourceError(f"{version.path} at {version.commit} is gone")
        if len(data) > LARGEST_FILE:
            raise SourceError(f"{version.path} at {version.commit} has {len(data)} bytes")
        return data
