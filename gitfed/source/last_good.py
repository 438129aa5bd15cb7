"""Where a file with errors goes back to: its last version without (`onInvalidFile: hold`).

Whoever reads says where old versions are found: what the state branch recorded when the file was first held, else the
last commit that was applied. A version that has errors itself, or cannot be read any more, is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.repo import HeldFile
from gitfed.source.content import FileContent
from gitfed.source.memory import Memory
from gitfed.source.tree import LARGEST_FILE


@dataclass(frozen=True, slots=True)
class Versions:
    memory: Memory
    held: Mapping[str, HeldFile]
    """Recorded when the file was first held."""
    last_good: Callable[[str], tuple[Commit, str] | None] | None
    """Path → (commit, blob id) in the last commit that was applied."""
    applied: Callable[[str], str]
    """Path → blob id in the last commit that was applied, "" for none. Cheap, where `last_good` looks at history."""
    read: Callable[[HeldFile], bytes | None]

    def blob(self, path: str) -> str:
        """What stood for a file in the version to fall back to; "" when there is none, or nobody knows."""
        if path in self.held:
            return self.held[path].blob
        found = self.last_good(path) if self.last_good is not None else None
        return found[1] if found is not None else ""

    def held_objects(self, path: str, blob: str) -> bool:
        """Whether a file of this content may have had objects before, so that it is a mistake that it has none."""
        return path in self.held or self.applied(path) not in ("", blob)

    def find(self, path: str) -> tuple[HeldFile, FileContent] | None:
        """The version to hold the file at, and what it says; None if there is none that can be used."""
        version = self.held.get(path)
        if version is None and self.last_good is not None and (found := self.last_good(path)) is not None:
            version = HeldFile(path, found[0], found[1], "")
        if version is None:
            return None
        known = version

        def load() -> bytes:
            data = self.read(known)
            if data is None:
                raise SourceError(f"{path} at {known.commit} is gone")
            if len(data) > LARGEST_FILE:
                raise SourceError(f"{path} at {known.commit} has {len(data)} bytes")
            return data

        try:
            content = self.memory.held(path, version.blob, version.commit, load)
        except SourceError:
            return None
        return None if content.faulty else (version, content)
