"""Other repositories: asking what they have, bringing it here, pushing what is ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitfed.edges.git import location
from gitfed.edges.git.program import Program
from gitfed.errors import RevisionNotFound, SourceError, StateConflict
from gitfed.model.base import Commit


class Remote(Program):
    """Fetch, ls-remote and push. What is under way can be interrupted from another thread (`interrupt`)."""

    def fetch(self, url: str, refspecs: Sequence[str], *, timeout: float = 120) -> None:
        """Bring refs of another repository here. Raises SourceUnreachable, RevisionNotFound."""
        target = location.check_url(url) if location.is_url(url) else str(Path(url).resolve())
        try:
            self.run(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force",
                "--end-of-options", target, *refspecs, timeout=timeout,
            )  # fmt: skip
        except SourceError as error:
            if "couldn't find remote ref" in error.message:
                raise RevisionNotFound(f"{location.shown(url)} has no such branch", hint=", ".join(refspecs)) from error
            raise

    def remote_refs(self, url: str, pattern: str = "refs/heads/*") -> dict[str, Commit]:
        """Refs of another repository without fetching them. Raises SourceUnreachable."""
        target = location.check_url(url) if location.is_url(url) else str(Path(url).resolve())
        raw = self.text("ls-remote", "--quiet", "--end-of-options", target, "HEAD", pattern)
        refs = {}
        for line in raw.splitlines():
            commit, _, ref = line.partition("\t")
            refs[ref] = Commit(commit)
        return refs

    def push(self, url: str, ref: str, *, expected: Commit | None, timeout: float = 60) -> None:
        """Push our `ref`; compare-and-swap against `expected` (None: it must not exist there).

        Raises StateConflict when somebody else pushed first, SourceUnreachable, SourceError when it is forbidden.
        """
        target = location.check_url(url) if location.is_url(url) else str(Path(url).resolve())
        lease = f"--force-with-lease={ref}:{expected or ''}"
        try:
            self.run("push", "--quiet", "--no-verify", lease, "--end-of-options", target, f"{ref}:{ref}",
                      timeout=timeout)  # fmt: skip
        except SourceError as error:
            text = error.message
            if "stale info" in text or "non-fast-forward" in text or "fetch first" in text or "cannot lock ref" in text:
                raise StateConflict(f"{ref} was pushed to {location.shown(url)} by somebody else") from error
            raise
