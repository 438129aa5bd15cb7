"""A Git folder of our own over the objects of a user's repository.

A repository's configuration can start programs and lead elsewhere: `url.*.insteadOf`, `remote.*.vcs`, `filter.*.clean`,
`gpg.program`, `core.gitProxy`, `http.proxy` and more, whose names cannot be listed because a part of each is free. Git
has no switch to leave that file unread. So what could obey it is run in a folder that has none of it: objects, and an
index if asked for, are the repository's; refs are copies; the configuration is ours, with the few settings of the
repository that are values and start nothing. The user's own configuration (`~/.gitconfig`) counts as everywhere.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitfed.edges import files
from gitfed.edges.git.program import Program
from gitfed.errors import SourceError, StateConflict
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class PrivateDir:
    """`environment` makes a command of `repository` run here."""

    repository: Program
    path: Path
    refs: Mapping[str, str]
    """Ref → object, as they were copied."""
    shallow: Path
    """Where the repository itself says at which commits its history was cut off."""
    environment: Mapping[str, str]

    def hand_over(self, reason: str) -> None:
        """The repository gets the refs that were moved here, unless it moved them meanwhile. Raises StateConflict."""
        ours = self.path / "shallow"
        if ours.exists() and ours.read_bytes() != _content(self.shallow):
            files.write_atomically(self.shallow, ours.read_bytes())
        moved = [
            f"update {ref} {name} {self.refs.get(ref, '0' * len(name))}\n"
            for ref, name in _refs(self.repository, self.environment).items()
            if self.refs.get(ref) != name
        ]
        if not moved:
            return
        try:
            self.repository.run("update-ref", "-m", reason, "--stdin", stdin="".join(moved).encode())
        except SourceError as error:
            if "cannot lock ref" in error.message:
                raise StateConflict(f"{self.repository.path}: a ref moved meanwhile") from error
            raise


@contextlib.contextmanager
def of(repository: Program) -> Iterator[PrivateDir]:
    """Raises SourceError. What was not handed over is gone afterwards, but for objects."""
    answers = repository.text(
        "rev-parse", "--show-object-format", "--git-path", "objects", "--git-path", "shallow"
    ).splitlines()
    form, objects, shallow = answers[0], *(repository.path.absolute() / path for path in answers[1:])
    refs = _refs(repository, {})
    with tempfile.TemporaryDirectory(prefix="gitfed-git-") as folder:
        path = Path(folder)
        (path / "refs").mkdir()
        (path / "HEAD").write_text("ref: refs/heads/none\n")
        (path / "config").write_text(_configuration(form, partial=repository.is_partial()))
        (path / "packed-refs").write_text(
            "".join(f"{name} {ref}\n" for ref, name in refs.items()), encoding="utf-8", errors="surrogateescape"
        )
        if cut := _content(shallow):
            (path / "shallow").write_bytes(cut)
        environment = {"GIT_DIR": str(path), "GIT_OBJECT_DIRECTORY": str(objects)}
        yield PrivateDir(repository, path, refs, shallow, environment)


def _refs(repository: Program, environment: Mapping[str, str]) -> dict[str, str]:
    raw = repository.run("for-each-ref", "--format=%(objectname) %(refname)", environment=environment)
    lines = raw.decode("utf-8", "surrogateescape").splitlines()
    return {ref: name for name, _, ref in (line.partition(" ") for line in lines)}


def _configuration(form: str, *, partial: bool) -> str:
    text = "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n"
    if form != "sha1":
        text += f"\tobjectFormat = {form}\n"
    if partial:  # what is missing is then no damage; it is not fetched either
        text += '\tpartialClone = none\n[remote "none"]\n\tpromisor = true\n'
    return text


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
