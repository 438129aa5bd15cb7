"""Commits in a person's checkout: as that person, of the named files alone.

Unlike `write`, this goes through the index, and leaves alone whatever else is staged there. Filters and programs that
sign are those of the person's own configuration; the repository's names none (`private_dir`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from gitfed.edges.git import private_dir, program
from gitfed.errors import SourceError
from gitfed.model.base import Commit

_VALUES = frozenset(
    f"{section}.{name}"
    for section, names in {
        "user": ("name", "email", "signingkey", "useconfigonly"),
        "author": ("name", "email"),
        "committer": ("name", "email"),
        "commit": ("gpgsign",),
        "gpg": ("format",),
        "core": ("autocrlf", "eol", "safecrlf", "filemode", "ignorecase", "precomposeunicode", "symlinks"),
    }.items()
    for name in names
)
"""Settings of the repository that are obeyed: who commits, and how files are stored. None starts a program."""
_UNDER_WAY = {"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick"}


class Committing(program.Program):
    def commit_paths(self, paths: Sequence[str], message: str) -> Commit:
        """Commit these files as they are on disk, missing ones as removed. Hooks do not run.

        Raises SourceError, for one when Git does not know who the author is.
        """
        head, made = self._commit(paths, message, aside=False)
        subject = message.partition("\n")[0]
        self.run("update-ref", "-m", f"commit: {subject}", "HEAD", made, head or "0" * len(made))
        return made

    def commit_aside(self, paths: Sequence[str], message: str) -> Commit:
        """The same, while neither HEAD nor the index hears of it: for a branch that is pushed, and is not here."""
        return self._commit(paths, message, aside=True)[1]

    def _commit(self, paths: Sequence[str], message: str, *, aside: bool) -> tuple[str, Commit]:
        """HEAD as it was, and the commit on top of it."""
        arguments = [part for name in ("index", *_UNDER_WAY) for part in ("--git-path", name)]
        index, *marks = (self.path.absolute() / line for line in self.text("rev-parse", *arguments).splitlines())
        for mark, what in zip(marks, _UNDER_WAY.values(), strict=True):
            if mark.exists():
                raise SourceError(f"{self.path}: {what} is under way", hint="end it, then git add and git commit")
        head = self._head()
        with private_dir.of(self) as private:
            if head:
                (private.path / "HEAD").write_text(f"{head}\n")
            for shared in index.parent.glob("sharedindex.*"):
                (private.path / shared.name).symlink_to(shared)
            if aside:
                own = private.path / "index-aside"
                if index.exists():
                    shutil.copyfile(index, own)
                index = own
            environment = {
                **private.environment,
                **program.as_environment(self._values()),
                "GIT_INDEX_FILE": str(index),
                "GIT_WORK_TREE": str(self.path.absolute()),
                "GIT_LITERAL_PATHSPECS": "1",
            }
            self.run("add", "--all", "--", *paths, environment=environment)
            self.run("commit", "--quiet", "--only", "-m", message, "--", *paths, environment=environment)
            made = self.run("rev-parse", "HEAD", environment=environment).decode().strip()
        return head, Commit(made)

    def is_committed(self, path: str) -> bool:
        """Whether the commit that HEAD stands at has a file of this path."""
        try:
            self.text("rev-parse", "--verify", "--quiet", f"HEAD:{path}")
        except SourceError:
            return False
        return True

    def _head(self) -> str:
        """The commit that HEAD stands at; "" for an unborn branch."""
        try:
            return self.text("rev-parse", "--verify", "--quiet", "HEAD")
        except SourceError:
            return ""

    def _values(self) -> dict[str, str]:
        """What is obeyed in this repository: values from wherever they come, and programs that the person named."""
        raw = self.run("config", "--list", "--show-scope", "-z").decode("utf-8", "surrogateescape").split("\0")
        values = {"core.splitIndex": "false"}
        for scope, setting in zip(raw[::2], raw[1::2], strict=False):
            name, separator, value = setting.partition("\n")
            if name in _VALUES or (name.startswith("gpg.") and scope not in ("local", "worktree")):
                values[name] = value if separator else "true"
        return values
