"""Commits in a person's checkout: as that person, of the named files alone.

Unlike `write`, this goes through the index, and leaves alone whatever else is staged there.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitfed.edges.git.program import Program
from gitfed.model.base import Commit


class Committing(Program):
    def commit_paths(self, paths: Sequence[str], message: str) -> Commit:
        """Commit these files as they are on disk, missing ones as removed. Hooks do not run.

        Raises SourceError, for one when Git does not know who the author is.
        """
        self.run("add", "--all", "--", *paths)
        self.run("commit", "--quiet", "--only", "-m", message, "--", *paths)
        return Commit(self.text("rev-parse", "HEAD"))
