"""Other repositories: asking what they have, bringing it here, pushing what is ours.

A server may be gone without a word, behind a network that drops packets: then a command ends only by its time limit. A
process that waited once for that does not wait again and again (`Silence`): until the server answers a small question
in a short time, every other command to it fails at once, with the same error. A server that says when to come back is
asked nothing before that, by whatever command: neither to fetch nor to push.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from gitfed.edges.git import git_errors, location, private_dir, program
from gitfed.edges.git.access import Access
from gitfed.edges.git.gc import Tidying
from gitfed.errors import RevisionNotFound, SourceError, SourceUnreachable, StateConflict
from gitfed.model.base import Commit
from gitfed.text.values import dataclass

_FETCH, _PUSH = "fetch", "push"
_MOST_TRACED = 1024 * 1024
_FORGOTTEN = 3600.0
"""Seconds after which a half-received pack belongs to no fetch that runs."""
_QUESTION = 30.0
"""Seconds for a question about refs."""
_AFTER_SILENCE = 10.0
"""Seconds for the first question to a server that was silent before."""
_LEFT_ALONE = (5.0, 15.0, 30.0, 60.0)
"""Seconds that such a server is not asked, by the number of times in a row."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A server that gave no answer in time."""

    times: int
    until: float
    """time.monotonic()"""
    error: SourceUnreachable


class Remote(Tidying):
    """Fetch, ls-remote and push. What is under way can be interrupted from another thread (`interrupt`)."""

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(path, env=env)
        self.access = Access()
        """Credentials; set where a repository is opened for a process that has some."""
        self.remote_command: Callable[[str], AbstractContextManager[None]] = lambda command: contextlib.nullcontext()
        """Entered around every command to another repository: the metrics count them."""
        self._silent: dict[str, Silence] = {}
        """By URL."""
        self._asked_for_peace: dict[location.Origin, tuple[float, SourceUnreachable]] = {}
        """Until when (time.monotonic()) a server asked to be left alone, and what to say meanwhile."""

    def fetch(self, url: str, refspecs: Sequence[str], *, timeout: float = 1800) -> None:
        """Bring refs of another repository here. Raises SourceUnreachable, RevisionNotFound."""
        try:
            # A shallow source makes this clone shallow: what lies behind is then unknown, and never taken for absent.
            self._ask(
                url,
                _FETCH,
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                "--force",
                "--update-shallow",
                "--end-of-options",
                None,
                *refspecs,
                timeout=timeout,
            )
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

    def push(
        self, url: str, ref: str, *, expected: Commit | None, commit: Commit | None = None, timeout: float = 60
    ) -> None:
        """Push our `ref`; compare-and-swap against `expected` (None: it must not exist there). `commit`: that one,
        wherever our `ref` stands by now.

        Raises StateConflict when another client pushed first, SourceUnreachable, SourceError when it is forbidden.
        """
        lease = f"--force-with-lease={ref}:{expected or ''}"
        try:
            self._ask(
                url,
                _PUSH,
                "--quiet",
                "--no-verify",
                lease,
                "--end-of-options",
                None,
                f"{commit or ref}:{ref}",
                timeout=timeout,
            )
        except SourceError as error:
            text = error.message
            if "stale info" in text or "non-fast-forward" in text or "fetch first" in text or "cannot lock ref" in text:
                raise StateConflict(f"another client pushed {ref} to {location.shown(url)}") from error
            raise

    def _ask(self, url: str, command: str, *args: str | None, timeout: float = _QUESTION) -> bytes:
        """A command to another repository, whose address takes the place of None.

        Unless this clone is ours, it runs where nothing of its configuration is obeyed, and then hands over the refs
        that it brought.
        """
        if _is_here(url):
            service = ("receive-pack", "upload-pack")[command != _PUSH]
            args = (f"--{service}={program.other_side(service)}", *args)
        with self.remote_command(command):
            if self.ours:
                return self._answered(url, {}, command, *args, timeout=timeout)
            with private_dir.of(self) as private:
                answer = self._answered(url, private.environment, command, *args, timeout=timeout)
                private.hand_over(f"{command} gitfed")
                return answer

    def _answered(self, url: str, where: Mapping[str, str], *args: str | None, timeout: float) -> bytes:
        if not location.is_url(url):
            path = str(Path(url).resolve())
            return self.run(*(path if part is None else part for part in args), timeout=timeout, environment=where)
        location.check_url(url)
        until, refusal = self._asked_for_peace.get(location.origin(url), (0.0, None))
        if refusal is not None and time.monotonic() < until:
            raise refusal
        silence = self._silent.get(url)
        if silence is not None:
            if time.monotonic() < silence.until:
                raise silence.error
            if args[0] != "ls-remote":
                self._send(url, where, "ls-remote", "--quiet", "--end-of-options", None, "HEAD", timeout=_AFTER_SILENCE)
            else:
                timeout = min(timeout, _AFTER_SILENCE)
        return self._send(url, where, *args, timeout=timeout)

    def _send(self, url: str, where: Mapping[str, str], *args: str | None, timeout: float) -> bytes:
        try:
            answer = self._exchange(url, where, *args, timeout=timeout)
        except SourceUnreachable as error:
            if error.retry_after is not None:
                self._asked_for_peace[location.origin(url)] = (time.monotonic() + error.retry_after, error)
            if "timeout: the command" in error.message:
                silence = self._silent.get(url)
                times = silence.times + 1 if silence is not None else 0
                until = time.monotonic() + _LEFT_ALONE[min(times, len(_LEFT_ALONE) - 1)]
                # The first words stay: how long which command took is no news.
                self._silent[url] = Silence(times, until, silence.error if silence is not None else error)
                raise self._silent[url].error from error
            raise
        self._silent.pop(url, None)
        return answer

    def _exchange(self, url: str, where: Mapping[str, str], *args: str | None, timeout: float) -> bytes:
        with self.access.to(url) as way, tempfile.NamedTemporaryFile(prefix="gitfed-headers-") as trace:
            environment = {**way.environment, **where}
            if way.url.startswith("http"):
                # Git does not tell what a server says in `Retry-After`. It writes received headers here, nothing else
                # that matters: bodies are left out and what is sent is masked by Git.
                environment |= {"GIT_TRACE_CURL": trace.name, "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"}

            def told(output: str) -> SourceError:
                headers = trace.read(_MOST_TRACED).decode("utf-8", "replace")
                command = [part for part in args if part is not None]
                return git_errors.translate(
                    command, output, shown=location.shown(url), trace=headers, authorized=way.authorized
                )

            command = (way.url if part is None else part for part in args)
            return self.run(*command, timeout=timeout, environment=environment, told=told)

    def _sweep(self) -> None:
        """What a connection that broke left half received. Younger files may be another process's."""
        for folder in (self.path / "objects" / "pack", self.path / ".git" / "objects" / "pack"):
            for path in folder.glob("tmp_*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _FORGOTTEN:
                        path.unlink()


def _is_here(url: str) -> bool:
    """Whether this machine itself serves that repository."""
    return not location.is_url(url) or location.origin(url).scheme == "file"
