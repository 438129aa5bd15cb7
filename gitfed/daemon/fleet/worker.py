"""One cluster's worker: takes that cluster's changes from the plan and carries them out.

Order of every roll-out: write down what will exist, then write it, then write down its uid (`inventory_entries`). A
cluster that does not answer pauses its own worker, and the workers of other clusters go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

from gitfed import errors
from gitfed.daemon import trouble
from gitfed.daemon.fleet import queue
from gitfed.daemon.fleet.inventory_entries import Inventory, InventoryEntries
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube.apply import NOT_EMPTY
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult, Health, InventoryEntry, LiveObject
from gitfed.model.plan import Action, Change
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.worker")

PAUSES = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0))
"""Seconds that a cluster which does not answer is left alone, by number of failures in a row."""
_SOON = 0.05
"""Seconds between two looks whether other clusters are still busy."""


@dataclass(frozen=True, slots=True)
class WorkerCallbacks:
    """What a worker asks and tells its member."""

    carry_out: Callable[[Change], Awaitable[ApplyResult]]
    """Does one change."""
    live: Callable[[ObjectKey], LiveObject | None]
    """What is known of an object here."""
    look: Callable[[ObjectKey], Awaitable[object]]
    """Reads it, whatever its label."""
    finished: Callable[[Change, ApplyResult], None]
    """Hears of each result."""
    waited: Callable[[ClusterName, float], None] = lambda cluster, seconds: None
    confirm: Callable[[], Awaitable[None]] | None = None
    """Raises ClusterReplaced when it is not the cluster that was read: asked before anything is written."""


class Worker:
    """Writes to one cluster what is to be changed there."""

    def __init__(
        self,
        cluster: ClusterName,
        inventory: Inventory,
        callbacks: WorkerCallbacks,
        *,
        concurrency: int = 16,
        rush: set[ClusterName] | None = None,
    ) -> None:
        """`rush`, shared by all workers: clusters that have more to do than may be under way there, until that is over.
        Meanwhile everything that no change waits for can wait itself."""
        self.cluster = cluster
        self._rush = set() if rush is None else rush
        self._carry_out = callbacks.carry_out
        self._live = callbacks.live
        self._look = callbacks.look
        self._finished = callbacks.finished
        self._concurrency = concurrency
        self._queue = queue.Queue(partial(callbacks.waited, cluster))
        self._entries = InventoryEntries(inventory, self._queue, nudge=self.nudge, announced=self._announced)
        self._confirm = callbacks.confirm
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._paused_until = 0.0
        self._written: dict[ObjectKey, tuple[str, str]] = {}
        self._held_until = 0.0
        self.abandoned = False
        """Whether this process as a whole leads no more."""
        self.stopped: str = ""
        """Why this cluster gets no write at all (it belongs to another repository, or to a newer leader)."""

    # -- handing over -------------------------------------------------------------------------------------------

    def submit(
        self,
        changes: Iterable[Change],
        urgent: Collection[ObjectKey],
        entries: Iterable[InventoryEntry] = (),
        forget: Iterable[ObjectKey] = (),
    ) -> None:
        """The present list of changes. `entries` are inventory entries to correct, `forget` those to remove."""
        self._queue.replace(
            (change for change in changes if not self._stale(change)), urgent, asyncio.get_running_loop().time()
        )
        self._entries.correct(entries, forget)
        self._wake.set()

    def _stale(self, change: Change) -> bool:
        """A plan built before our own write was seen asks for that write again: drop it, the next plan knows better."""
        written = self._written.get(change.key)
        if written is None or change.write.rendered is None or change.write.rendered.digest != written[0]:
            return False
        if change.live is None or not change.live.uid:
            return change.action is Action.CREATE and self._present(change.key)
        seen, ours = change.live.resource_version, written[1]
        return seen.isdigit() and ours.isdigit() and int(seen) < int(ours)

    def _present(self, key: ObjectKey) -> bool:
        live = self._live(key)
        return live is not None and bool(live.uid)

    def wake(self) -> None:
        """The cluster came back, or health changed: look again at once."""
        self._paused_until = 0.0
        self._failures = 0
        self._queue.hurry()
        self._wake.set()

    def retry(self, keys: Collection[ObjectKey] | None) -> None:
        """A person wants these objects, or all, to be tried again now."""
        self._paused_until = 0.0
        self._queue.retry(keys)
        self._wake.set()

    def hold(self, seconds: float) -> None:
        """Start nothing more for that long at most: a push is being planned, and its changes go before all of these."""
        self._held_until = asyncio.get_running_loop().time() + seconds

    def release(self) -> None:
        if self._held_until:
            self._held_until = 0.0
            self._wake.set()

    def nudge(self, key: ObjectKey) -> None:
        """Something that a change may be waiting for (`depends-on`) happened to this object."""
        self._queue.release(key)
        self._wake.set()

    def abandon(self) -> None:
        """Another daemon leads now. Give up at once what is under way: an answer that comes late must not be the last
        word, and each write that is still on its way may undo one of theirs."""
        self.abandoned = True
        self.stopped = "another daemon leads"
        for task in self._tasks:
            task.cancel()

    @property
    def idle(self) -> bool:
        """Nothing to do and nothing under way. What failed and waits to be tried again counts as something to do."""
        return not self._queue and not self._queue.flying and not self._entries.unwritten

    @property
    def _active(self) -> bool:
        """Whether changes are under way or can start now."""
        return bool(self._queue.flying) or self._queue.startable(asyncio.get_running_loop().time())

    def _busy(self) -> bool:
        """Whether changes, here or in a cluster that has many, come before what can be written down later."""
        return self._active or bool(self._rush)

    def has(self, key: ObjectKey) -> bool:
        """Whether a change of this object is to be carried out, or under way."""
        return key in self._queue

    def awaits(self, key: ObjectKey) -> bool:
        """Whether a change waits for something to happen to this object."""
        return self._queue.awaits(key)

    def entry_to_come(self, key: ObjectKey) -> InventoryEntry | None:
        """What the inventory will say of an object that was written, and does not say yet."""
        return self._entries.to_come(key)

    @property
    def pending(self) -> int:
        """Changes that are not done, those under way included."""
        return len(self._queue)

    @property
    def flying(self) -> int:
        return self._queue.flying

    def waiting(self) -> Iterable[ObjectKey]:
        """Keys of changes that are not under way."""
        return [change.key for change in self._queue.waiting()]

    # -- running ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Works until cancelled; what is under way is finished first (a stop must not leave half a roll-out)."""
        try:
            while True:
                await self._round()
        finally:
            self._rush.discard(self.cluster)
            self._entries.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=10)
            for task in self._tasks:
                task.cancel()

    async def _round(self) -> None:
        loop = asyncio.get_running_loop()
        self._wake.clear()
        pause = self._paused_until - loop.time()
        if pause > 0 or self.stopped:
            await self._sleep(pause if pause > 0 else None)
            return
        if self._confirm is not None and (self._queue.startable(loop.time()) or self._entries.unwritten):
            try:
                await self._confirm()
            except errors.ClusterReplaced:
                raise
            except errors.ClusterError as error:
                self._pause(error)
                return
        try:
            self._entries.check_ours()
            await self._entries.write_down(loop.time(), self._busy)
        except errors.NotOwned as error:
            self._give_up(error)
            return
        except errors.ClusterError as error:
            self._pause(error)
            return
        if self._held_until > loop.time():
            await self._sleep(self._held_until - loop.time())
            return
        self._entries.announce()
        started = False
        while self._queue.flying < self._concurrency:
            change = self._queue.pop(loop.time(), self._blocked)
            if change is None:
                break
            task = asyncio.create_task(self._one(change))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            started = True
        if started and self._queue.startable(loop.time()):
            self._rush.add(self.cluster)
        if not started or self._queue.flying >= self._concurrency:
            deadline = self._queue.next_time()
            wait = None if deadline is None else max(0.0, deadline - loop.time())
            if self._entries.unwritten and not self._active and not self._entries.announcing:
                wait = _SOON if self._rush else 0.0
            await self._sleep(wait)

    async def _sleep(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _announced(self, error: BaseException | None) -> None:
        self._wake.set()
        if isinstance(error, errors.NotOwned):
            self._give_up(error)
        elif isinstance(error, errors.ClusterError):
            self._pause(error)
        elif error is not None:
            self._pause(trouble.of_change(self.cluster, error))

    def _give_up(self, error: errors.NotOwned) -> None:
        self.stopped = error.message
        log.error("cluster gets no write", extra={"cluster": self.cluster, "reason": error.message})

    def _blocked(self, change: Change) -> ObjectKey | None:
        """What has to happen first: an entry has to be written, or that object be healthy in the same cluster."""
        if (awaited := self._entries.awaited_by(change)) is not None:
            return awaited
        for key in change.turn.waits_for:
            live = self._live(key)
            if live is None or live.health is not Health.CURRENT:
                return key
        return None

    async def _one(self, change: Change) -> None:
        loop = asyncio.get_running_loop()
        live = self._live(change.key) if change.write.adopt else None
        if live is not None and live.ours:
            # Its entry made it ours again.
            change = replace(change, live=live, write=replace(change.write, adopt=False))
        try:
            self._entries.check_ours()  # its turn may have come long after the round that began it
            result = await self._carry_out(change)
        except errors.NotOwned as error:
            self.stopped = error.message
            result = ApplyResult(change.cluster, change.key, "failed", error.message)
        except errors.ClusterError as error:
            result = ApplyResult(change.cluster, change.key, "failed", str(error), retry=error.retry)
            if isinstance(error, errors.ClusterUnreachable | errors.ClusterBusy | errors.Unauthorized):
                self._pause(error)
        except Exception as error:  # noqa: BLE001
            result = ApplyResult(
                change.cluster, change.key, "failed", str(trouble.of_change(self.cluster, error)), retry=True
            )
        if result.details.get("reason") == "Exists":
            # Then the plan knows whose it is, and asks for no creation again.
            with contextlib.suppress(errors.ClusterError):
                await self._look(change.key)
        failed, contested = result.outcome == "failed", False
        if not failed:
            self._failures = 0
            # Also while the roll-out is not over, so that nothing counts as drift yet: another client may be at it
            # already.
            written = self._written.get(change.key)
            repeats = (
                written is not None and change.write.rendered is not None and change.write.rendered.digest == written[0]
            )
            self._note(change, result)
            if (change.drift or repeats) and result.outcome != "unchanged":
                contested = self._queue.repaired(change, loop.time()) >= queue.FIGHT
        # No event tells when other clients' objects have left a namespace or a kind: asked again, ever more rarely.
        again = failed or result.details.get("reason") == NOT_EMPTY
        # A change that a new look can mend is tried again soon; one that the server refused waits longer.
        first = 0 if result.retry else 2
        self._queue.finished(
            change.key,
            failed_at=loop.time() if again else None,
            delay=lambda failures: queue.BACKOFF.after(failures + first),
        )
        if not self._queue.flying:
            self._rush.discard(self.cluster)
        self._finished(change, result)
        if contested:
            self._finished(change, ApplyResult(change.cluster, change.key, "failed", queue.contested(change)))
        self._wake.set()

    def _note(self, change: Change, result: ApplyResult) -> None:
        if change.write.rendered is None or result.outcome == "skipped":
            return
        uid, version = str(result.details.get("uid", "")), str(result.details.get("resourceVersion", ""))
        self._written[change.key] = (change.write.rendered.digest, version)
        self._entries.note(
            InventoryEntry(change.key, uid, change.write.rendered.binding, change.write.rendered.replicas)
        )

    def _pause(self, error: errors.ClusterError) -> None:
        delay = PAUSES.after(self._failures + 1)
        if isinstance(error, errors.ClusterBusy) and error.retry_after is not None:
            delay = max(delay, min(error.retry_after, 120.0))
        if not self._failures:
            log.warning("cluster does not answer", extra={"cluster": self.cluster, "error": str(error)})
        self._failures += 1
        self._paused_until = asyncio.get_running_loop().time() + delay
