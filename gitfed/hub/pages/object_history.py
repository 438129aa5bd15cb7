"""What the state branch tells of the objects whose pages are open: read beside the pages, which wait only a moment.

Of an object that nobody has looked at, fifty commits are read. A page that comes before they are shows what is known,
and looks again.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from gitfed.errors import SourceError, TooBusy
from gitfed.hub.answers import timeline
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.timeline import Told
from gitfed.model.base import ObjectKey
from gitfed.text.values import dataclass

_PATIENCE = 0.3
"""Seconds that a page waits for it."""
_LONGEST = 10.0
"""Seconds after which the branch is looked at though the engine did nothing: others write it too."""
_MOST = 32


class ObjectHistory(NamedTuple):
    told: Told | None
    """None: it is not known yet, or cannot be read."""
    unfinished: bool = False
    """It is being read: what is told may be older than the page."""

    @property
    def version(self) -> tuple[object, ...]:
        return (self.unfinished, self.told is None, len(self.told or ()), self.told[0][0].commit if self.told else "")


@dataclass(frozen=True, slots=True)
class _Known:
    told: Told | None
    turn: int
    read: float


class ObjectHistories:
    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk = desk
        self._clock = clock
        self._remembered = timeline.Remembered()
        self._known: OrderedDict[ObjectKey, _Known] = OrderedDict()
        self._reading: dict[ObjectKey, asyncio.Task[None]] = {}

    async def of(self, now: Moment, key: ObjectKey) -> ObjectHistory:
        read = self._known.get(key)
        if read is not None and read.turn == self._desk.turn and self._clock() - read.read < _LONGEST:
            return ObjectHistory(read.told)
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(now, key))
        await asyncio.wait({task}, timeout=_PATIENCE)
        read = self._known.get(key)
        return ObjectHistory(read.told if read is not None else None, unfinished=not task.done())

    async def _read(self, now: Moment, key: ObjectKey) -> None:
        turn, told = self._desk.turn, None
        try:
            told = await self._desk.aside(lambda: timeline.told(now, key, self._remembered), heavy=True)
        except (SourceError, TooBusy):
            pass  # the page says that it cannot be read now
        finally:
            del self._reading[key]
        self._known[key] = _Known(told, turn, self._clock())
        self._known.move_to_end(key)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
