"""Planning beside the event loop: in a thread, so that clusters are answered while a large plan is made.

What stalls a loop beside a busy thread is not the work but two habits of the interpreter: the collector stops every
thread for as long as it walks a million objects, and a thread that computes gives way only every 5 ms. Both are changed
for as long as a plan is being made. What a large plan made lives long, and is set aside from the collector for good.

What a plan wants to know of webhooks is asked beside it (`webhook_queue`): while they answer quickly, it is made again.

Between plans the loop makes and drops thousands of small objects a second, none of them in circles as a rule: while
the daemon runs the collector looks less often.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import ParamSpec, TypeVar

from gitfed.daemon.webhook_queue import Asking
from gitfed.interpret.registry import Interpreter
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.webhook import Find
from gitfed.planning import build
from gitfed.reading.webhook_cache import Answers

_LARGE = 100
"""Templates computed in one build from which on its results are set aside from garbage collection."""
_GIVE_WAY = 0.0005
"""Seconds after which the planning thread lets the loop have its turn."""
_YOUNG = 20_000
"""Objects made and not dropped until the collector looks at them; 700 is the interpreter's own habit."""
_PATIENCE = 2.0
"""Seconds that one cycle waits for webhooks in all."""

P = ParamSpec("P")
T = TypeVar("T")
MakeInterpreter = Callable[[RepoSnapshot, Find], Interpreter]
"""What knows the kinds of a commit; what webhooks answered is looked up with the second argument."""


class Planner:
    """What one build leaves for the next: rendered manifests, answers of webhooks, the interpreter of a commit."""

    def __init__(self, interpreter: MakeInterpreter, now: Callable[[], datetime], wake: Callable[[], None]) -> None:
        self.answers = Answers()
        self.asking = Asking(self.answers, wake)
        self._interpreter = interpreter
        self._interpreters: tuple[object, Interpreter] | None = None
        self._now = now
        self._memo = build.Memo()

    def interpreter_of(self, repo: RepoSnapshot) -> Interpreter:
        made_from = (repo.interpreters, repo.webhooks)
        if self._interpreters is None or self._interpreters[0] != made_from:
            self.answers.begin()
            self._interpreters = (made_from, self._interpreter(repo, self.answers.find))
        return self._interpreters[1]

    def forget(self) -> None:
        """What a cycle that failed left half done."""
        self._memo = build.Memo()
        self._interpreters = None

    async def build(
        self, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions, interpreter: Interpreter
    ) -> Plan:
        """The plan, and again while webhooks answer quickly what the one before wanted to know.

        A slow webhook holds up the changes of no other object: its own objects keep their last decision, and its answer
        wakes the loop.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            version = self.answers.version
            built = await plan(repo, fleet, decisions, interpreter, self._now(), self._memo)
            await self.asking.settle(end - time.monotonic())
            if self.answers.version == version or time.monotonic() >= end:
                return built  # what came after `end` has called `wake`


async def aside(work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """The same in a thread, giving way to the loop at every turn of it."""
    with giving_way():
        return await asyncio.to_thread(work, *arguments, **options)


async def plan(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    memo: build.Memo,
) -> Plan:
    """`planning.build`, aside."""
    return await aside(_build, repo, fleet, decisions, interpreter, now, memo)


def _build(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    memo: build.Memo,
) -> Plan:
    """Build without the collector: a plan has no reference cycles, and what a large build made lives long anyway."""
    gc.disable()
    try:
        made = build.build(repo, fleet, decisions, interpreter, now, memo=memo)
        if memo.recomputed > _LARGE:
            gc.freeze()
    finally:
        gc.enable()
    return made


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """While the daemon runs. It belongs to the process: of two engines in one the later end counts."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _YOUNG), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_computing = 0
"""How many threads are giving way: the switch belongs to the process, and the last one turns it back."""
_usual = sys.getswitchinterval()


@contextmanager
def giving_way() -> Iterator[None]:
    """While a thread computes beside the loop. Call it in the loop."""
    global _computing, _usual
    if not _computing:
        _usual = sys.getswitchinterval()
        sys.setswitchinterval(min(_usual, _GIVE_WAY))
    _computing += 1
    try:
        yield
    finally:
        _computing -= 1
        if not _computing:
            sys.setswitchinterval(_usual)
