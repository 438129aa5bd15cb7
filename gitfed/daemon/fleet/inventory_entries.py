"""When the inventory of one cluster is written: an entry before its object is made, its uid and removals afterwards.

A crash between any two of these loses nothing: an entry without an object is completed or cleaned up, and an object
with an entry is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from gitfed.daemon.fleet.queue import Queue
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.model.plan import Action, Change

_FLUSH = 5.0
"""Seconds after which uids are written down at the latest while changes keep coming. Until then the entry without a
uid and the object's label prove together that it is ours."""


class Inventory(Protocol):
    """What a worker needs of the cluster's inventory (`edges/kube/inventory.py`)."""

    @property
    def entries(self) -> Mapping[ObjectKey, InventoryEntry]: ...
    def check_ours(self) -> None: ...
    async def record(
        self, add: Iterable[InventoryEntry] = (), remove: Iterable[ObjectKey] = (), *, first: Collection[ObjectKey] = ()
    ) -> None: ...


class InventoryEntries:
    """Entries that are not written yet, for the changes of one worker's queue."""

    def __init__(
        self,
        inventory: Inventory,
        queue: Queue,
        *,
        nudge: Callable[[ObjectKey], None],
        announced: Callable[[BaseException | None], None],
    ) -> None:
        """`nudge`: the entry of this object is written. `announced`: `announce` ended, well or with this error."""
        self._inventory = inventory
        self._queue = queue
        self._nudge = nudge
        self._tell_announced = announced
        self._uids: dict[ObjectKey, InventoryEntry] = {}
        self._writing: dict[ObjectKey, InventoryEntry] = {}
        """Of these the ones that are being written down."""
        self._forget: dict[ObjectKey, str] = {}
        """Entries to be removed, with the uid that they had when that was decided: another one is another object."""
        self._flushed_at = 0.0
        self._intend = False
        self._announcing: asyncio.Task[None] | None = None
        self._foremost: list[ObjectKey] = []
        """Objects of one stage whose entries are being written: nothing of a later stage begins before they are."""

    @property
    def announcing(self) -> bool:
        """Whether entries of objects that will be made are being written."""
        return self._announcing is not None

    @property
    def unwritten(self) -> bool:
        """Whether `write_down` has something to do."""
        return bool(self._uids or self._forget)

    def to_come(self, key: ObjectKey) -> InventoryEntry | None:
        """What the inventory will say of an object that was written, and does not say yet."""
        return self._uids.get(key) or self._writing.get(key)

    def correct(self, entries: Iterable[InventoryEntry], forget: Iterable[ObjectKey]) -> None:
        """With a new list of changes: `entries` to be corrected, and those of `forget` to be removed."""
        self._intend = True
        recorded = self._inventory.entries
        for entry in entries:
            if recorded.get(entry.key) != entry:
                self._uids.setdefault(entry.key, entry)
        self._forget.update((key, recorded[key].uid) for key in forget if key in recorded)

    def note(self, entry: InventoryEntry) -> None:
        """An object was written: its entry has its uid from now on."""
        if entry.uid and self._inventory.entries.get(entry.key) != entry:
            self._uids[entry.key] = entry

    def check_ours(self) -> None:
        """Raises NotOwned where the watch showed that a newer leader writes here."""
        self._inventory.check_ours()

    def awaited_by(self, change: Change) -> ObjectKey | None:
        """The object whose entry has to be written before this change begins."""
        entries = self._inventory.entries
        if _makes(change) and change.key not in entries:
            return change.key
        while self._foremost and self._foremost[-1] in entries:
            self._foremost.pop()
        if self._foremost and self._queue.stage(change.key) > self._queue.stage(self._foremost[-1]):
            return self._foremost[-1]
        return None

    # -- before an object is made -------------------------------------------------------------------------------

    def announce(self) -> None:
        """Begin to write entries for everything that will be made; `awaited_by` holds each object until its entry is.

        All at once, in the order of the queue: each object starts as soon as its own shard is written and those of the
        first stage are, while the entries of others still are written.
        """
        if not self._intend or self._announcing is not None:
            return
        self._intend = False
        recorded = self._inventory.entries
        missing = [
            InventoryEntry(change.key, "", change.write.rendered.binding, change.write.rendered.replicas)
            for change in self._queue.waiting()
            if change.write.rendered is not None and _makes(change) and change.key not in recorded
        ]
        if missing:
            self._announcing = asyncio.create_task(self._announce_all(missing))
            self._announcing.add_done_callback(self._announced)

    async def _announce_all(self, entries: list[InventoryEntry]) -> None:
        first = min(self._queue.stage(entry.key) for entry in entries)
        foremost = [entry.key for entry in entries if self._queue.stage(entry.key) == first]
        if len(foremost) == len(entries):
            foremost.clear()
        self._foremost = foremost.copy()
        try:
            await self._inventory.record(add=entries, first=foremost)
        finally:
            self._foremost.clear()
        for entry in entries:
            self._nudge(entry.key)

    def _announced(self, task: asyncio.Task[None]) -> None:
        self._announcing = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._intend = True
        self._tell_announced(error)

    def cancel(self) -> None:
        if self._announcing is not None:
            self._announcing.cancel()

    # -- afterwards ---------------------------------------------------------------------------------------------

    async def write_down(self, now: float, busy: Callable[[], bool]) -> None:
        """Uids of new objects, and the removal of entries whose object is gone. Raises what the inventory raises.

        While the worker is `busy` only every few seconds: two writers of one inventory wait for each other, and
        changes that may start would wait with them.
        """
        if not self.unwritten:
            self._flushed_at = now
            return
        if (self.announcing or busy()) and now - self._flushed_at < _FLUSH:
            return
        self._flushed_at = now
        uids, self._uids = self._uids, {}
        self._writing = uids
        forget, self._forget = self._forget, {}
        recorded = self._inventory.entries
        stale = [key for key, uid in forget.items() if key in recorded and recorded[key].uid == uid]
        wanted = {change.key for change in self._queue.waiting()}
        try:
            await self._inventory.record(
                add=uids.values(), remove=[key for key in stale if key not in uids and key not in wanted]
            )
        except Exception:
            self._uids = {**uids, **self._uids}
            self._forget = {**forget, **self._forget}
            raise
        finally:
            self._writing = {}


def _makes(change: Change) -> bool:
    """Whether the change brings an object into our hands, so that its entry has to be there first."""
    return change.write.rendered is not None and (change.action is Action.CREATE or change.write.adopt)
