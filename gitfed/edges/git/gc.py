"""Keeping a clone small in files: every fetch and every commit of ours adds some, for as long as a daemon lives.

Git's own collection is off: it starts at any time, and drops what nothing refers to, while held files and commits of a
rewritten history may still be needed. So small packs and loose objects are only put together here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from gitfed.edges.git.program import Program
from gitfed.errors import SourceError

_EVERY = 50
"""Changes between two looks. The first change of a process looks too: one `gitfed apply` after the other is no less."""
_MOST_LOOSE = 2000
"""Each takes a block of the disk, whatever its size: ten times what it takes in a pack."""
_MOST_PACKS = 40


class Tidying(Program):
    """A repository that may be put in order from time to time."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(path, env=env)
        self.ours = False
        """Whether gitfed made this clone for itself; a user's repository is left as it is."""
        self._changes = 0

    def changed(self) -> None:
        """Something was added. A disk without room for this has room for nothing else either: it is tried again."""
        if self.ours and self._changes % _EVERY == 0:
            with contextlib.suppress(SourceError):
                self.tidy()
        self._changes += 1

    def tidy(self) -> None:
        """Few packs out of many, if there are many. Nothing is dropped, whether anything refers to it or not.

        Raises SourceError, for a full disk.
        """
        counts = dict(line.split(": ", 1) for line in self.text("count-objects", "-v").splitlines() if ": " in line)
        if int(counts["count"]) > _MOST_LOOSE or int(counts["packs"]) > _MOST_PACKS:
            self.run("repack", "-q", "-d", "-l", "--geometric=2", timeout=1800)
