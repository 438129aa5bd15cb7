"""How long to wait after failures in a row before the next attempt: the one place for all that tries again."""

from __future__ import annotations

import random

from gitfed.text.values import dataclass


@dataclass(frozen=True)
class Backoff:
    """`pauses`: seconds after the first, the second … failure; the last one counts for all that follow.
    `fewer` and `more`: the share by which chance shortens or lengthens a pause, so that many clients that failed at one
    moment do not come back at one moment."""

    pauses: tuple[float, ...]
    fewer: float = 0.1
    more: float = 0.1

    def after(self, failures: int) -> float:
        """Seconds until the next attempt, after so many failures in a row (from 1)."""
        return self.pauses[min(max(failures, 1), len(self.pauses)) - 1] * random.uniform(1 - self.fewer, 1 + self.more)

    @property
    def longest(self) -> float:
        return self.pauses[-1]
