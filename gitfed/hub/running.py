"""What the hub's capabilities see of the daemon: the one way from them to the engine.

The daemon that leads has an engine; one that stands by, and `gitfed hub`, have what is recorded in Git
(`recorded.RecordedFleet`). A capability asks here for what it shows and never keeps it: the next cycle replaces it.
Everything is called in the event loop and is cheap.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gitfed.daemon.cycle import Engine
from gitfed.daemon.telemetry import Telemetry
from gitfed.hub.polling import Polling
from gitfed.model.agent_identity import AgentName
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot

_MOST_EVENTS = 1000
"""That a slow reader is behind with at most."""


class EngineEvent(NamedTuple):
    """Something that the engine did: its `value` is the engine's own (`Engine`'s listener)."""

    name: str
    """"cycle" (CycleReport), "result" (Change, ApplyResult), "source-error", "rejected", or "lost": this reader was
    too slow, and reads everything again."""
    value: Any = None


class FleetRecord(Protocol):
    """The fleet as Git tells it."""

    @property
    def repo(self) -> RepoSnapshot | None: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def decisions(self) -> Decisions: ...
    @property
    def facts(self) -> Mapping[ClusterName, ClusterFacts]: ...
    @property
    def clone(self) -> Path | None: ...


class Running:
    """`engine` and `standing_by` are set by who runs the daemon (`serve`)."""

    def __init__(
        self, recorded: FleetRecord | None = None, telemetry: Telemetry | None = None, polling: Polling | None = None
    ) -> None:
        self.engine: Engine | None = None
        """None: this process does not lead (yet), so it can operate nothing and sees no live objects."""
        self.standing_by = False
        self.recorded = recorded
        self.certificates: Callable[[], Mapping[AgentName, datetime]] = dict
        """Until when the certificates of agents count that are in use; for any thread."""
        self.tell_leader: Callable[[], None] | None = None
        """Have who leads look at the repository; None: nothing but its polls does."""
        self.telemetry = telemetry or Telemetry()
        self.polling = polling or Polling()
        self.began = time.monotonic()
        self.owed: dict[str, float] = {}
        """By Notification: since when (time.monotonic()) it has news that its target does not take."""
        self._listeners: list[Callable[[str, Any], None]] = []
        self._readers: set[asyncio.Queue[EngineEvent]] = set()

    # -- what is so ---------------------------------------------------------------------------------------------

    @property
    def repo(self) -> RepoSnapshot | None:
        """The commit in force; None: none was read yet."""
        if self.engine is not None and self.engine.repo is not None:
            return self.engine.repo
        return self.recorded.repo if self.recorded is not None else None

    @property
    def plan(self) -> Plan | None:
        """The newest. Without an engine it is made of what is recorded, and has no changes."""
        if self.engine is not None and self.engine.plan is not None:
            return self.engine.plan
        return self.recorded.plan if self.recorded is not None else None

    @property
    def decisions(self) -> Decisions:
        if self.engine is not None:
            return self.engine.decisions
        return self.recorded.decisions if self.recorded is not None else Decisions(known=False)

    @property
    def facts(self) -> Mapping[ClusterName, ClusterFacts]:
        if self.engine is not None:
            return self.engine.fleet.facts()
        return self.recorded.facts if self.recorded is not None else {}

    @property
    def clone(self) -> Path | None:
        """A repository that has the state branch, for reading its history; None: there is none yet."""
        if self.engine is not None:
            return self.engine.memory.clone
        return self.recorded.clone if self.recorded is not None else None

    # -- what happens -------------------------------------------------------------------------------------------

    def heard(self, name: str, value: Any) -> None:
        """The engine's listener."""
        for listener in self._listeners:
            listener(name, value)
        for reader in self._readers:
            if reader.full():
                while not reader.empty():
                    reader.get_nowait()
                reader.put_nowait(EngineEvent("lost"))
            else:
                reader.put_nowait(EngineEvent(name, value))

    def listen(self, listener: Callable[[str, Any], None]) -> None:
        """Call it for every event, in the middle of the engine's work: count, and return."""
        self._listeners.append(listener)

    @contextlib.asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[EngineEvent]]:
        """Every event from now on, for a reader that may be slow."""
        reader: asyncio.Queue[EngineEvent] = asyncio.Queue(_MOST_EVENTS)
        self._readers.add(reader)
        try:
            yield _each(reader)
        finally:
            self._readers.discard(reader)


async def _each(reader: asyncio.Queue[EngineEvent]) -> AsyncIterator[EngineEvent]:
    while True:
        yield await reader.get()
