"""Where answers are formed: in threads of the hub's own, a few at a time, and the same one once.

The engine's threads are not ours: whoever asks for a thousand pages waits for other readers, not for the roll-out. A
thread that forms an answer gives way to the loop as one that plans does, and begins a moment later while the engine is
at work: a push is carried out in that time, and who reads hardly notices. What was formed is kept as long as the
engine has not turned since, and at most for a second longer, so that many who look at one page cost as much as one. Who
was told of a turn, and looks because of it, is given nothing older (`since`). What a caller may see is part of the
question, so rights that end count at once.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import operator
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import TypeVar

from gitfed.daemon import planner
from gitfed.errors import TooBusy
from gitfed.hub.access.rights import Rights
from gitfed.hub.answers import moment
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.running import Running
from gitfed.text.values import dataclass

T = TypeVar("T")

_AT_ONCE = 2
"""Answers that are formed at a time: they share one interpreter with the engine."""
_MOST_WAITING = 64
"""Different answers that wait for their turn; who comes later is told to come again."""
_HEAVY_WAITING = 4
_HOLDS = 1.0
"""Seconds that an answer is given again although the engine has turned."""
_LONGEST = 10.0
"""The same where it has not: what is not the engine's (the state branch, the clock) may have moved."""
_GIVES_WAY, _STEP = 0.25, 0.01
"""Seconds that forming waits at most while the engine is at work; it looks that often."""
_MOST_KEPT = 8 << 20
"""Bytes of answers."""
_WORTH_PACKING = 1024


@dataclass(frozen=True, slots=True)
class FormedAnswer:
    """What is sent."""

    body: bytes
    packed: bytes
    """The same by gzip; empty where that is not worth while."""
    tag: str
    """Equal bodies have equal ones."""

    @classmethod
    def of(cls, body: bytes, *, packs: bool = True) -> FormedAnswer:
        packed = gzip.compress(body, compresslevel=1, mtime=0) if packs and len(body) >= _WORTH_PACKING else b""
        return cls(body, packed, hashlib.sha256(body).hexdigest()[:32])

    @property
    def size(self) -> int:
        return len(self.body) + len(self.packed) + 500


@dataclass(slots=True)
class _Kept:
    answer: FormedAnswer
    generation: int
    turn: int
    formed: float


@dataclass(frozen=True, slots=True)
class _Forming:
    task: asyncio.Task[FormedAnswer]
    turn: int


@dataclass(slots=True)
class _Line:
    """A pool and who waits for it."""

    pool: ThreadPoolExecutor
    most: int
    waiting: int = field(default=0)


class Desk:
    """One for each capability that answers, which has `rest` among its services."""

    def __init__(self, running: Running, clock: Callable[[], float] = time.monotonic) -> None:
        self._running = running
        self._clock = clock
        self._turns = 0
        self._made_from: tuple[object, ...] = ()
        self._moment: Moment | None = None
        self._generation = 0
        """How many moments there were."""
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._size = 0
        self._forming: dict[Hashable, _Forming] = {}
        self._usual = _Line(ThreadPoolExecutor(_AT_ONCE, "hub-answers"), _MOST_WAITING)
        self._heavy = _Line(ThreadPoolExecutor(1, "hub-heavy"), _HEAVY_WAITING)
        running.listen(self._turned)

    def _turned(self, name: str, value: object) -> None:
        self._turns += 1
        if self._made_from and self._made_from[2] is not self._running.plan:
            # What the engine has dropped ends here, and not while somebody waits for a page of the plan after it.
            self._made_from, self._moment = (), None

    def now(self) -> Moment | None:
        """What answers are formed from now; None: nothing was planned yet. Call it in the loop."""
        running = self._running
        made_from = (running.engine, running.repo, running.plan, running.decisions, self._turns)
        same = len(self._made_from) == len(made_from) and all(map(operator.is_, self._made_from[:-1], made_from[:-1]))
        if not same or self._made_from[-1] != self._turns:
            self._made_from, self._moment = made_from, moment.of(running, self._moment)
            self._generation += 1
        return self._moment

    def sight(self, rights: Rights, of: Moment) -> Sight:
        return Sight(rights, of.repo.clusters.keys() | of.facts.keys())

    @property
    def turn(self) -> int:
        """How often the engine has turned, as far as this process was told."""
        return self._turns

    async def answer(
        self, question: Hashable, form: Callable[[], bytes], *, heavy: bool = False, since: int = 0, packs: bool = True
    ) -> FormedAnswer:
        """What `form` makes in a thread. Equal questions are formed once; who asks puts everything into the question
        that the answer depends on, but for the moment. `since`: the answer knows of this turn. `packs`: it may be sent
        by gzip. Raises TooBusy, and what `form` raises."""
        self.now()
        since = min(since, self._turns)
        kept = self._kept.get(question)
        if kept is not None and kept.turn >= since and self._holds(kept):
            self._kept.move_to_end(question)
            return kept.answer
        forming = self._forming.get(question)
        if forming is None or forming.turn < since:
            line = self._heavy if heavy else self._usual
            if line.waiting >= line.most:
                raise TooBusy("too much is asked for at a time", hint="try again in some seconds")
            # What is formed is of this moment, whenever its turn comes.
            made = functools.partial(_Kept, generation=self._generation, turn=self._turns, formed=self._clock())
            task = asyncio.create_task(self._form(question, lambda: FormedAnswer.of(form(), packs=packs), line, made))
            forming = self._forming[question] = _Forming(task, self._turns)
            task.add_done_callback(lambda done: self._formed(question, done))
        return await asyncio.shield(forming.task)

    def _holds(self, kept: _Kept) -> bool:
        return self._clock() - kept.formed < (_LONGEST if kept.generation == self._generation else _HOLDS)

    async def aside(self, form: Callable[[], T], *, heavy: bool = False) -> T:
        """What `form` makes in a thread, not kept. Raises TooBusy, and what `form` raises."""
        line = self._heavy if heavy else self._usual
        if line.waiting >= line.most:
            raise TooBusy("too much is asked for at a time", hint="try again in some seconds")
        return await self._in_line(form, line)

    async def _in_line(self, form: Callable[[], T], line: _Line) -> T:
        line.waiting += 1
        try:
            await self._give_way()
            with planner.giving_way():
                return await asyncio.get_running_loop().run_in_executor(line.pool, form)
        finally:
            line.waiting -= 1

    async def _give_way(self) -> None:
        end = self._clock() + _GIVES_WAY
        while (engine := self._running.engine) is not None and engine.at_work and self._clock() < end:  # noqa: ASYNC110
            await asyncio.sleep(_STEP)

    async def _form(
        self, question: Hashable, form: Callable[[], FormedAnswer], line: _Line, made: Callable[[FormedAnswer], _Kept]
    ) -> FormedAnswer:
        answer = await self._in_line(form, line)
        self._keep(question, made(answer))
        return answer

    def _formed(self, question: Hashable, task: asyncio.Task[FormedAnswer]) -> None:
        forming = self._forming.get(question)
        if forming is not None and forming.task is task:
            del self._forming[question]
        if not task.cancelled():
            task.exception()  # whoever asked has heard of it, or has gone

    def _keep(self, question: Hashable, kept: _Kept) -> None:
        old = self._kept.pop(question, None)
        if old is not None:
            self._size -= old.answer.size
            # Of two that were formed at the same time the later may end first.
            kept = max(old, kept, key=lambda formed: formed.turn)
        self._kept[question] = kept
        self._size += kept.answer.size
        while self._size > _MOST_KEPT and self._kept:
            _, dropped = self._kept.popitem(last=False)
            self._size -= dropped.answer.size

    async def rest(self) -> None:
        """A service: the threads end with the hub."""
        try:
            await asyncio.Event().wait()
        finally:
            self.close()

    def close(self) -> None:
        for line in (self._usual, self._heavy):
            line.pool.shutdown(wait=False, cancel_futures=True)
