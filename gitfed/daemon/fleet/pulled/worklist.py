"""The list of changes of a pulled cluster: submitted here, carried out by the worker of its agent.

A change is done when the agent says so of that very task. Until it has the list nothing of it counts as done, so an
agent that is away looks like a worker that has not begun.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from gitfed.agent_protocol.frames import LARGEST
from gitfed.daemon.fleet.pulled.connection import AgentConnection
from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.daemon.fleet.pulled.slice import Slice
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.model.plan import Change


class Owner(Protocol):
    """What is asked of the member whose list it is."""

    @property
    def reports(self) -> Reports: ...
    def submitted(self) -> None: ...
    def refused(self, change: Change, why: str) -> None: ...


class PulledWorklist:
    def __init__(self, owner: Owner, agent: AgentConnection, part: Slice) -> None:
        self._owner = owner
        self._agent = agent
        self._slice = part
        self._held = False
        self._refused: dict[ObjectKey, int] = {}
        """What of the list was said to be too large, and its bytes: once."""
        self._waiting: tuple[object, int, list[ObjectKey]] = (None, 0, [])
        """Of which list, after how many reports, what is not done: asked again and again while many clusters work."""

    @property
    def stopped(self) -> str:
        state = self._owner.reports.state
        return state.stopped if state is not None else ""

    def submit(
        self,
        changes: Iterable[Change],
        urgent: Collection[ObjectKey],
        entries: Iterable[InventoryEntry] = (),
        forget: Iterable[ObjectKey] = (),
    ) -> None:
        reports = self._owner.reports
        behind = reports.state is not None and reports.state.behind
        self._slice.submit(changes, urgent, reports.done, entries, forget, behind=behind)
        self._owner.submitted()
        before, self._refused = self._refused, {}
        for key, (change, size) in self._slice.too_large.items():
            self._refused[key] = size
            if before.get(key) != size:
                self._owner.refused(change, f"it has {size} bytes, more than an agent is sent ({LARGEST >> 20} MiB)")

    def hold(self, seconds: float) -> None:
        self._held = True
        self._agent.say("hold", seconds)

    def release(self) -> None:
        if self._held:
            self._held = False
            self._agent.say("release")

    def retry(self, keys: Collection[ObjectKey] | None) -> None:
        self._agent.say("retry", None if keys is None else [list(key) for key in keys])

    def nudge(self, key: ObjectKey) -> None:
        """The agent saw it first."""

    def abandon(self) -> None:
        self._agent.abandon()

    def change(self, key: ObjectKey, number: int) -> Change | None:
        """The change of this task, if it is in the list."""
        task = self._slice.tasks.get(key)
        return task[1] if task is not None and task[0].id == number else None

    def has(self, key: ObjectKey) -> bool:
        return self._is_open(key)

    def waiting(self) -> list[ObjectKey]:
        tasks, changes = self._slice.tasks, self._owner.reports.done_changes
        if self._waiting[0] is not tasks or self._waiting[1] != changes:
            self._waiting = tasks, changes, [key for key in tasks if self._is_open(key)]
        return self._waiting[2]

    def _is_open(self, key: ObjectKey) -> bool:
        task = self._slice.tasks.get(key)
        return task is not None and self._owner.reports.done.get(key) != task[0].id

    @property
    def pending(self) -> int:
        return len(self.waiting())

    @property
    def flying(self) -> int:
        """Changes under way, and those that the agent has not heard of."""
        state = self._owner.reports.state
        if state is None or state.list != self._slice.setup.list:
            return max(1, self.pending)
        return state.flying

    @property
    def idle(self) -> bool:
        state = self._owner.reports.state
        heard = state is not None and state.list == self._slice.setup.list
        return heard and state is not None and state.idle and not self.pending
