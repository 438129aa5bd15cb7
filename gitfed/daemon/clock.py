"""The time that decisions are taken at: the wall's, but without its jumps.

A person sets the clock of the machine, or it wakes up after hours: timers of a failover must not all be over at once.
The time goes on with the seconds that really passed, and comes back to the wall's at most half as fast again (or half
as slow), so that it never goes back and a jump of an hour takes two to be believed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

log = logging.getLogger("gitfed.clock")

_SLEW = 0.5
_JUMP = 5.0
"""Seconds off the wall's time that are worth a word."""


class Steady:
    """Call `now`. Not before one process's start: records of another one are compared by the pure step."""

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._passed = passed
        self._at = passed()
        self._now = wall()
        self._jumped = False

    def now(self) -> datetime:
        """Never earlier than what it gave before."""
        at = self._passed()
        elapsed, self._at = max(0.0, at - self._at), at
        expected = self._now + timedelta(seconds=elapsed)
        off = (self._wall() - expected).total_seconds()
        self._say(off)
        most = _SLEW * elapsed
        self._now = expected + timedelta(seconds=max(-most, min(most, off)))
        return self._now

    def _say(self, off: float) -> None:
        jumped = abs(off) > _JUMP
        if jumped and not self._jumped:
            log.warning("the clock was set: timers go on as if it had not been", extra={"seconds": round(off)})
        self._jumped = jumped
