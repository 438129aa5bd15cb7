"""Other repositories: asking what they have, bringing it here, pushing what is ours."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitfed.edges.git import location, trouble
from gitfed.edges.git.access import Access
from gitfed.edges.git.tidy import Tidying
from gitfed.errors import RevisionNotFound, SourceError, StateConflict
from gitfed.model.base import Commit

_MOST_TRACED = 1024 * 1024
_FORGOTTEN = 3600.0
"""Seconds after which a half-received pack belongs to nobody."""


class Remote(Tidying):
    """Fetch, ls-remote and push. What is under way can be interrupted from another thread (`interrupt`)."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(path, env=env)
        self.access = Access()
        """Credentials; whoever opens a repository for a process that has some sets them."""

    def fetch(self, url: str, refspecs: Sequence[str], *, timeout: float = 1800) -> None:
        """Bring refs of another repository here. Raises SourceUnreachable, RevisionNotFound."""
        try:
            # A shallow source makes this clone shallow: what lies behind is then unknown, and never taken for absent.
            self._ask(
                url, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force",
                "--update-shallow", "--end-of-options", None, *refspecs, timeout=timeout,
            )  # fmt: skip
        except SourceError as error:
            self._sweep()
            if "couldn't find remote ref" in error.message:
                raise RevisionNotFound(f"{location.shown(url)} has no such branch", hint=", ".join(refspecs)) from error
            raise
        self.changed()

    def remote_refs(self, url: str, pattern: str = "refs/heads/*") -> dict[str, Commit]:
        """Refs of another repository without fetching them. Raises SourceUnreachable."""
        return self._listed(url, "HEAD", pattern)[0]

    def remote_tip(self, url: str, branch: str | None) -> tuple[str, Commit]:
        """(full ref, commit) of a branch there; None: of the branch that HEAD names. One question, whatever its size.

        Raises SourceUnreachable, RevisionNotFound.
        """
        ref = f"refs/heads/{branch}" if branch else "HEAD"
        refs, head = self._listed(url, ref)
        ref = ref if branch else head
        commit = refs.get(ref) or (None if branch else refs.get("HEAD"))
        if commit is None:
            named = f"branch {branch}" if branch else "branch that HEAD names"
            hint = "what was applied last stays in force" if branch else "name one with --branch"
            raise RevisionNotFound(f"{location.shown(url)} has no {named}", hint=hint)
        return ref, commit

    def _listed(self, url: str, *patterns: str) -> tuple[dict[str, Commit], str]:
        """Refs, and the one that HEAD stands for ("HEAD": none)."""
        raw = self._ask(url, "ls-remote", "--quiet", "--symref", "--end-of-options", None, *patterns)
        refs: dict[str, Commit] = {}
        head = "HEAD"
        for line in raw.decode("utf-8", "surrogateescape").splitlines():
            commit, _, ref = line.partition("\t")
            if commit.startswith("ref: "):
                head = commit.removeprefix("ref: ") if ref == "HEAD" else head
            else:
                refs[ref] = Commit(commit)
        return refs, head

    def push(self, url: str, ref: str, *, expected: Commit | None, timeout: float = 60) -> None:
        """Push our `ref`; compare-and-swap against `expected` (None: it must not exist there).

        Raises StateConflict when somebody else pushed first, SourceUnreachable, SourceError when it is forbidden.
        """
        lease = f"--force-with-lease={ref}:{expected or ''}"
        try:
            self._ask(url, "push", "--quiet", "--no-verify", lease, "--end-of-options", None, f"{ref}:{ref}",
                      timeout=timeout)  # fmt: skip
        except SourceError as error:
            text = error.message
            if "stale info" in text or "non-fast-forward" in text or "fetch first" in text or "cannot lock ref" in text:
                raise StateConflict(f"{ref} was pushed to {location.shown(url)} by somebody else") from error
            raise

    def _ask(self, url: str, *args: str | None, timeout: float = 120) -> bytes:
        """A command to another repository, whose address takes the place of None."""
        if not location.is_url(url):
            path = str(Path(url).resolve())
            return self.run(*(path if part is None else part for part in args), timeout=timeout)
        location.check_url(url)
        with self.access.to(url) as way, tempfile.NamedTemporaryFile(prefix="gitfed-headers-") as trace:
            environment = dict(way.environment)
            if way.url.startswith("http"):
                # Git does not tell what a server says in `Retry-After`. It writes received headers here, nothing else
                # that matters: bodies are left out and what is sent is masked by Git.
                environment |= {"GIT_TRACE_CURL": trace.name, "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"}

            def told(said: str) -> SourceError:
                headers = trace.read(_MOST_TRACED).decode("utf-8", "replace")
                command = [part for part in args if part is not None]
                sent = "GIT_CONFIG_COUNT" in way.environment
                return trouble.translate(command, said, shown=location.shown(url), trace=headers, known=sent)

            command = (way.url if part is None else part for part in args)
            return self.run(*command, timeout=timeout, environment=environment, told=told)

    def _sweep(self) -> None:
        """What a connection that broke left half received. Younger files may be another process's."""
        for folder in (self.path / "objects" / "pack", self.path / ".git" / "objects" / "pack"):
            for path in folder.glob("tmp_*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _FORGOTTEN:
                        path.unlink()
