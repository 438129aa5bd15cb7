"""Which commit is in force, and why the newest is not.

The loop asks once a cycle. A commit is read when the branch moved, judged as a whole (is it signed as it must be, does
it say whose fleet this is, has it errors that the settings refuse), and only then in force; until the next one passes,
this one is: drift is still repaired, and nothing is deleted. A repository that cannot be read changes nothing either.
Nor does a commit that makes our own code fail, while it is read or while a plan is made of it: the last one that a plan
could be made of stays in force, after a restart too, and the newest is tried again with every look.
Reading a commit's files is `reading.reader`'s work, signatures are `reading.trust`'s.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from gitfed import errors
from gitfed.daemon import planner
from gitfed.edges.backoff import Backoff
from gitfed.model.base import Commit, Severity
from gitfed.model.declared import federation
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.planning import notes
from gitfed.reading.reader import Reader

log = logging.getLogger("gitfed.cycle")

_AGAIN = Backoff((5.0, 15.0, 60.0, 300.0))
"""Seconds until a commit is tried again that made us fail, by failures in a row: a plan of a large fleet costs time."""
_PATIENCE = 5.0
"""Seconds that a cycle waits for the repository while a commit is in force. What comes later wakes the loop."""


class Commits:
    """The commit in force, kept up with the followed branch."""

    def __init__(
        self, reader: Reader, listener: Callable[[str, Any], None], wake: Callable[[], None] = lambda: None
    ) -> None:
        self.repo: RepoSnapshot | None = None
        """The commit in force; None until one could be read and accepted."""
        self.error = ""
        """Why the repository cannot be read; "" when it can."""
        self.rejected = ""
        """Why the newest commit is not acted upon; "" when it is."""
        self.rejected_commit: Commit | None = None
        self._planned: RepoSnapshot | None = None
        """The last commit that a plan could be made of."""
        self._told: tuple[Commit, str] | None = None
        """What was said last of an unforeseen failure with a commit."""
        self._failures = 0
        self._not_before = 0.0
        """time.monotonic(); until then it is not tried again."""
        self._reader = reader
        self._listener = listener
        self._wake = wake
        self._refused = ""
        self._look = True
        self._asking: asyncio.Task[Commit] | None = None
        """The question whose answer was not taken yet; a cycle does not wait for ever."""
        self._changes = self._asked_after = 0
        """How often it was said that the branch moved: in all, and before `_asking` was asked."""

    def changed(self) -> None:
        """A webhook says that the branch moved, or it is time to look: the next cycle does."""
        self._look = True
        self._changes += 1

    @property
    def due(self) -> bool:
        """Whether the repository is to be looked at in the next cycle."""
        return self._look

    @property
    def standing(self) -> tuple[int, str, str]:
        """What a cycle has of the repository; the same after a look that found nothing new."""
        return id(self.repo), self.error, self.rejected

    @property
    def waits(self) -> bool:
        """Whether the repository owes an answer: it is slow, or the way to it is cut."""
        return self._asking is not None and not self._asking.done()

    def ask(self) -> None:
        """Ask the repository where the branch stands; `look` waits for the answer. So other questions to the same
        server may be under way at the same time."""
        if self._asking is None:
            self._asked_after = self._changes
            self._asking = asyncio.create_task(asyncio.to_thread(self._reader.newest))

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def look(
        self, applied: Commit | None, held: Collection[HeldFile], *, before_reading: Callable[[], None]
    ) -> None:
        """Look at the branch and read what is new there; `repo` is then the commit in force.

        `applied` and `held`: what the state remembers, for files that do not parse. `before_reading` hears that there
        is a new commit. Raises SourceError.
        """
        self._look = False
        self.ask()
        commit = await self._newest()
        if commit is None:
            return
        if self._asked_after != self._changes:
            self._look = True  # a push that was told of after the question may not be in the answer
            self._wake()
        if self._told is not None and self._told[0] == commit and time.monotonic() < self._not_before:
            return
        if self.repo is None or commit != self.repo.commit:
            before_reading()
            last_good = {held_file.path: held_file for held_file in (self.repo.held if self.repo is not None else held)}
            try:
                repo = await planner.aside(self._reader.read, commit, applied, last_good)
                keys = await asyncio.to_thread(self._reader.trust.unusable_keys, commit, repo.settings)
                usable = self._usable(repo, keys)
            except errors.GitfedError:
                raise
            except Exception as error:  # noqa: BLE001
                self._reject(commit, errors.Unforeseen.of(error))
                await self._fall_back(commit)
            else:
                self.repo = repo if usable else self.repo
        self._tell_refused(self._reader.refused)
        if self.error:
            log.info("the repository can be read again", extra={"commit": commit})
        self.error = ""

    async def _newest(self) -> Commit | None:
        """The commit to act upon; None: that is not known yet, and the one in force stays. Raises SourceError.

        Drift and failing clusters must not wait for a server that takes its time.
        """
        assert self._asking is not None
        asking, self._asking = self._asking, None
        if self.repo is not None:
            await asyncio.wait({asking}, timeout=_PATIENCE)
            if not asking.done():
                self._asking = asking
                asking.add_done_callback(self._answered)
                return None
        return await asking

    def _answered(self, asking: asyncio.Task[Commit]) -> None:
        if not asking.cancelled():
            self._look = True
            self._wake()

    def unreadable(self, error: errors.GitfedError) -> None:
        """The last good commit stays in force: drift is still repaired, nothing is deleted."""
        self._look = False
        if str(error) != self.error:
            log.error("the repository cannot be read", extra={"error": str(error)})
        self.error = str(error)
        self._listener("source-error", error)

    async def still_accepted(self, repo: RepoSnapshot, applied: Commit | None, signatures: str) -> bool:
        """A daemon that remembers no accepted commit read the newest before it read the state, which names one."""
        trust = self._reader.trust
        if trust.base is not None:
            return True
        trust.begin_at(applied, signatures)
        try:
            why = await asyncio.to_thread(trust.why_not, repo.commit)
        except errors.SourceError as error:
            why = str(error)
        if why:
            self._tell_refused(why)
            self.repo = None
        return not why

    def planned(self, repo: RepoSnapshot) -> None:
        """A plan could be made of this commit."""
        self._planned = repo

    async def cannot_be_planned(self, repo: RepoSnapshot, error: errors.Unforeseen) -> bool:
        """The last commit that a plan could be made of is in force again; False: there is none but this one."""
        if self._planned is not None and self._planned.commit == repo.commit:
            return False  # then it is not the commit that the plan failed for
        self._reject(repo.commit, error)
        if self._planned is not None:
            self.repo = self._planned
            return True
        return await self._fall_back(repo.commit)

    async def _fall_back(self, but: Commit) -> bool:
        """After a restart the last good commit is the one that was accepted last. Whether there is one in force now."""
        base = self._reader.trust.base
        if self._planned is not None or base is None or base == but:
            return self.repo is not None and self.repo.commit != but
        if self.repo is None or self.repo.commit == but:
            try:
                self.repo = await planner.aside(self._reader.read, base, None, {})
            except Exception as error:  # noqa: BLE001
                log.error("the last good commit cannot be read", extra={"commit": base[:12], **_about(error)})
                return False
        return True

    def _reject(self, commit: Commit, error: errors.Unforeseen) -> None:
        """This one cannot be acted upon, by our own fault; said once."""
        self.rejected, self.rejected_commit = str(error), commit
        self._failures = self._failures + 1 if self._told is not None and self._told[0] == commit else 1
        self._not_before = time.monotonic() + _AGAIN.after(self._failures)
        if self._told != (commit, self.rejected):
            self._told = (commit, self.rejected)
            extra = {"commit": commit[:12], "reason": error.message, "trace": error.trace}
            log.error("commit waits: it makes gitfed itself fail", extra=extra)
            self._listener("rejected", self.rejected)

    async def accept(self, repo: RepoSnapshot) -> None:
        """From now on this commit's settings say who may sign the next one."""
        try:
            await asyncio.to_thread(self._reader.trust.accept, repo.commit, repo.settings)
        except errors.SourceError as error:
            log.warning("the accepted commit cannot be remembered", extra={"error": str(error)})

    def _tell_refused(self, why: str) -> None:
        """The newest commit is not signed as it must be. `_usable` has its own reasons, about the commit it read."""
        if why and why != self.rejected:
            log.error("commit waits", extra={"commit": why[:12], "reason": why})
            self._listener("rejected", why)
        if why or self._refused:
            self.rejected = why
        self._refused = why

    def _usable(self, repo: RepoSnapshot, keys: str) -> bool:
        for held_file in repo.held:
            if self.repo is None or held_file not in self.repo.held:
                log.warning(
                    "file held at its last good version",
                    extra={"file": held_file.path, "commit": held_file.commit[:12]},
                )
        for file in repo.unread:
            if self.repo is None or file not in self.repo.unread:
                log.warning("file without a good version", extra={"file": file.path, "reason": notes.held_by(file)})
        if repo.left_out and (self.repo is None or repo.left_out != self.repo.left_out):
            log.info("files left out", extra={"files": len(repo.left_out), "reason": notes.left_out(repo.left_out)})
        wrong = [problem for problem in repo.problems if problem.severity is Severity.ERROR]
        for problem in wrong:
            log.error("problem", extra={"problem": str(problem), "commit": repo.commit[:12]})
        self.rejected = self._why_not(repo, len(wrong)) or keys
        self.rejected_commit = repo.commit if self.rejected else None
        if self.rejected:
            log.error("commit waits", extra={"commit": repo.commit[:12], "reason": self.rejected})
            self._listener("rejected", repo)
        return not self.rejected

    def _why_not(self, repo: RepoSnapshot, wrong: int) -> str:
        """Why a commit cannot be acted upon as a whole; the last one that could stays in force."""
        if federation.is_missing(repo.settings):
            return "it has no Federation, which says whose fleet this is"
        if self.repo is not None and repo.settings.metadata.name != self.repo.settings.metadata.name:
            return (
                f"it renames the federation {self.repo.settings.metadata.name} to {repo.settings.metadata.name}: "
                "every object would get another owner"
            )
        if wrong and repo.settings.spec.sync.on_invalid_file == "reject":
            return f"onInvalidFile is reject, and it has {wrong} problem{'s' if wrong > 1 else ''}"
        return ""


def _about(error: Exception) -> dict[str, str]:
    if isinstance(error, errors.GitfedError):
        return {"error": str(error)}
    unforeseen = errors.Unforeseen.of(error)
    return {"error": unforeseen.message, "trace": unforeseen.trace}
