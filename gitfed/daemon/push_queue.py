"""The other side of the state, beside the loop: told what was recorded, asked what others wrote.

A server may take its time, or be gone without a word behind a network that drops packets. So only these tasks wait
for one: *what was just decided* is carried out when its record was taken, so that of two daemons which decide at once
only one acts. Everything else goes on: clusters are watched and probed, drift is repaired, other decisions are taken.

That wait has an end (`spec.state.waitForPush`): the record in our own clone is enough then, as it is with a server
that refuses. A server that let a decision wait in vain is not waited for again until it has answered.

What to tell and to ask is `daemon.record`'s and `daemon.facts_record`'s knowledge, what was decided
`daemon.state_store`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

from gitfed.daemon.facts_record import FactsRecord
from gitfed.daemon.record import Record
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.record")

_USUAL = 10.0
_PATIENCE = 2.0
"""Seconds that a cycle waits for an answer before it goes on without; it comes as a wake-up then."""
_LAST_WORDS = 5.0
"""Seconds that a stop waits for a push that is under way."""


@dataclass(frozen=True, slots=True)
class Records:
    """Where this daemon writes down what it decides, and what it sees."""

    decisions: Record
    facts: FactsRecord | None = None
    """None: decisions are taken from what is seen, and nothing of it is written down."""


class Sending:
    """Give `wake` what makes the loop turn; ask `heard` at the beginning of each turn."""

    def __init__(self, records: Records, wake: Callable[[], None]) -> None:
        self.records = records
        self._record = records.decisions
        self._facts = records.facts
        self._wake = wake
        self._exchanging: asyncio.Task[None] | None = None
        self._sending_facts: asyncio.Task[None] | None = None
        self._again = False
        """Something is to be told or asked that the exchange under way knows nothing of."""
        self._number = 0
        """Of the newest record."""
        self._waiting: dict[ObjectKey, int] = {}
        """What was decided and is not to be carried out yet, with the number of its record."""
        self._patience = _USUAL
        """Seconds that decisions wait at most."""
        self._silent = False
        """The other side let a cycle wait in vain, and has not answered since."""
        self._unattended = False
        """The cycle that asked went on without an answer."""
        self._moved = False
        self._error: BaseException | None = None
        self._closed = False

    @property
    def waiting(self) -> Collection[ObjectKey]:
        """Objects whose decision is not to be carried out yet."""
        return self._waiting.keys()

    @property
    def busy(self) -> bool:
        """Whether the other side was not told everything, or owes an answer."""
        return self._exchanging is not None or self._sending_facts is not None

    def heard(self) -> bool:
        """Whether another client wrote the state, once. Raises StateConflict when it was faster than our push."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        moved, self._moved = self._moved, False
        return moved

    # -- the state ----------------------------------------------------------------------------------------------

    async def load(self, patience: float) -> Decisions:
        """`Record.load`, when nothing else is asked any more: of the same answers there must be one reader.

        What was decided here and is not known there waits like what is decided now (`recorded`).
        """
        await self._end(self._exchanging)
        self._waiting.clear()
        self._moved, self._error = False, None
        decisions = await asyncio.to_thread(self._record.load)
        if untold := await asyncio.to_thread(self._record.untold):
            await self.recorded(untold, patience)
        elif self._record.differs:
            self._begin()  # what was left out there is overwritten
        return decisions

    async def ask(self) -> None:
        """See whether another client wrote; `heard` tells, now or after a wake-up."""
        if not self._record.shared:
            self._moved = await asyncio.to_thread(self._record.moved) or self._moved
            return
        self._begin()
        if not self._silent:
            await self._wait()

    async def recorded(self, keys: Collection[ObjectKey], patience: float) -> None:
        """A commit was made; `keys`: what it decides, to be in `waiting` for `patience` seconds at most.

        Raises StateConflict when it is known already that another client was first.
        """
        self._number += 1
        if self._record.shared and not self._silent and not self._record.away and patience > 0:
            self._waiting |= dict.fromkeys(keys, self._number)
            self._patience = patience
        self._begin()
        if self._record.insists:
            await self._end(self._exchanging)
        elif self._waiting:
            await self._wait()
        if self._error is not None and (self._waiting or self._record.insists):
            self.heard()

    def _begin(self) -> None:
        self._again = True
        if self._exchanging is None and self._error is None:
            self._exchanging = asyncio.create_task(self._exchange(), name="state")
            self._exchanging.add_done_callback(self._ended)

    async def _wait(self) -> None:
        if self._exchanging is not None:
            await asyncio.wait({self._exchanging}, timeout=_PATIENCE)
            self._unattended = self._exchanging is not None

    async def _exchange(self) -> None:
        while self._again:
            self._again = False
            number = self._number
            answer = asyncio.ensure_future(asyncio.to_thread(self._record.exchange))
            await asyncio.wait({answer}, timeout=None if self._record.insists else self._patience)
            if not answer.done():
                self._give_way()
            self._moved = await answer or self._moved
            self._silent = self._silent and self._record.away
            taken = [key for key, since in self._waiting.items() if since <= number]
            for key in taken:
                del self._waiting[key]
            if self._moved or (taken and self._unattended):
                self._wake()

    def _ended(self, exchanging: asyncio.Task[None]) -> None:
        self._exchanging = None
        if not exchanging.cancelled() and exchanging.exception() is not None:
            self._error = exchanging.exception()
            self._wake()

    def _give_way(self) -> None:
        if not self._silent:
            log.warning(
                "the state's server does not answer: decisions wait for it no longer",
                extra={"waited": self._patience, "objects": len(self._waiting)},
            )
        self._silent = True
        if self._waiting:
            self._waiting.clear()
            self._wake()

    # -- facts --------------------------------------------------------------------------------------------------

    async def load_facts(self, facts: FactsRecord) -> Mapping[ClusterName, ClusterFacts]:
        """`FactsRecord.load`, when nothing is being sent any more."""
        await self._end(self._sending_facts)
        return await asyncio.to_thread(facts.load)

    def send_facts(self) -> None:
        """Nothing waits for that: a reader that does not get them yet gets older ones."""
        if self._facts is not None and self._facts.unsent and self._sending_facts is None:
            self._sending_facts = asyncio.create_task(self._send_facts(self._facts), name="facts")
            self._sending_facts.add_done_callback(self._facts_ended)

    async def _send_facts(self, facts: FactsRecord) -> None:
        while facts.unsent and not self._closed:
            await asyncio.to_thread(facts.send)

    def _facts_ended(self, sending: asyncio.Task[None]) -> None:
        self._sending_facts = None
        if not sending.cancelled() and sending.exception() is not None:
            self._error = sending.exception()
            self._wake()

    # -- the end ------------------------------------------------------------------------------------------------

    def abandon(self) -> None:
        """Another daemon leads, and has the last word: what is under way ends here."""
        self._again, self._closed = False, True
        self._record.interrupt()

    async def close(self) -> None:
        """Nothing is told or asked any more; what is under way may end first, for a moment."""
        self._again, self._closed = False, True
        under_way = {task for task in (self._exchanging, self._sending_facts) if task is not None}
        if under_way:
            await asyncio.wait(under_way, timeout=_LAST_WORDS)
        self._record.interrupt()
        await asyncio.gather(*under_way, return_exceptions=True)

    @staticmethod
    async def _end(task: asyncio.Task[None] | None) -> None:
        if task is not None:
            await asyncio.wait({task})
