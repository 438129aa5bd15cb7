"""One repository on this machine with all that can be asked of it."""

from __future__ import annotations

from pathlib import Path

from gitfed.edges.git import location
from gitfed.edges.git.checkout import Committing
from gitfed.edges.git.history import History
from gitfed.edges.git.objects import Objects
from gitfed.edges.git.remote import Remote
from gitfed.edges.git.write import RepositoryWriter
from gitfed.errors import CloneUnwritable, SourceError


class Repository(Objects, History, Remote, RepositoryWriter, Committing):
    """A Git repository on this machine, bare or not."""

    @classmethod
    def open(cls, path: Path) -> Repository:
        """Raises SourceError when there is no repository at `path`."""
        if not ((path / ".git").exists() or location.is_git_dir(path)):
            raise SourceError(f"no Git repository at {path}")
        repository = cls(path)
        repository.run("rev-parse", "--git-dir")
        return repository

    @classmethod
    def create(cls, path: Path, *, bare: bool = True, branch: str = "main") -> Repository:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CloneUnwritable(f"{path} cannot be made: {error.strerror}") from error
        repository = cls(path)
        repository.run("init", "--quiet", f"--initial-branch={branch}", *(["--bare"] if bare else []))
        return repository
