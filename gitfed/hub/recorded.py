"""The fleet as Git tells it, for a process that does not lead: what the leader decided, and saw.

The commit in force is the one that the leader recorded as applied: it has checked signatures, and a process that only
reads must not show a commit, nor believe its AccessPolicies, before that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from gitfed import errors
from gitfed.daemon import wiring
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, inputs, state_inputs
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")

_USUAL = 60.0


@dataclass(frozen=True, slots=True)
class _Seen:
    repo: RepoSnapshot | None = None
    plan: Plan | None = None
    decisions: Decisions = field(default_factory=lambda: Decisions(known=False))
    facts: Mapping[ClusterName, ClusterFacts] = field(default_factory=dict)
    clone: Path | None = None


class RecordedFleet:
    """Call `run` as a task. Everything is as of the last look."""

    def __init__(self, options: wiring.DaemonOptions, *, alone: bool = False) -> None:
        """`alone`: there is never an engine in this process (`gitfed hub`)."""
        self.alone = alone
        self._options = options
        self._seen = _Seen()
        self._wake = asyncio.Event()
        self.error = "nothing was read yet"
        """Why the last look gave nothing; "" when it gave something."""

    @property
    def repo(self) -> RepoSnapshot | None:
        return self._seen.repo

    @property
    def plan(self) -> Plan | None:
        return self._seen.plan

    @property
    def decisions(self) -> Decisions:
        return self._seen.decisions

    @property
    def facts(self) -> Mapping[ClusterName, ClusterFacts]:
        return self._seen.facts

    @property
    def clone(self) -> Path | None:
        return self._seen.clone

    async def run(self, leads: Callable[[], bool] = lambda: False) -> None:
        """Look again and again, until cancelled; not while this process leads, and knows better."""
        while True:
            self._wake.clear()
            if not leads():
                await self.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval()):
                    await self._wake.wait()

    def look_soon(self) -> None:
        """A forge or another replica tells of a push."""
        self._wake.set()

    async def look(self) -> None:
        try:
            self._seen = await asyncio.to_thread(self._read)
            self.error = "" if self._seen.repo is not None else "no commit was applied yet"
        except (errors.SourceError, errors.StateError, errors.InputError) as error:
            if str(error) != self.error:
                log.warning("what is recorded cannot be read", extra={"error": str(error)})
            self.error = str(error)

    def _interval(self) -> float:
        if self._options.interval is not None:
            return self._options.interval
        repo = self._seen.repo
        return repo.settings.spec.sync.interval.total_seconds() if repo is not None else _USUAL / 10

    def _read(self) -> _Seen:
        options = self._options
        opened = inputs.open_repository(
            options.repo, credentials=options.git_credentials, submodules=options.submodules
        )
        newest = inputs.read(opened, options.branch or "").repo
        decisions = state_inputs.decisions(opened, newest)
        if decisions.applied_commit is None:
            return _Seen()
        repo = newest
        if decisions.applied_commit != newest.commit:
            repo = inputs.read(opened, decisions.applied_commit).repo
        fleet = fleet_inputs.fleet(opened, repo)
        plan = inputs.plan(opened, repo, fleet, decisions)
        facts = fleet.clusters if fleet.facts.source != "assumed" else {}
        return _Seen(repo, plan, decisions, facts, opened.repository.path)
