"""How often a remote repository is polled, while a forge may tell of pushes.

While a forge tells, polls are rare: the usual interval ten times over. They never end, because a delivery may be lost.
The usual interval counts again

- when a poll finds a commit that no delivery told of: they come no longer, or not all of them;
- when one was dropped that may not have been a replay (`forge_webhooks.replays`);
- when none came for a day: the hook may have been removed;
- where several daemons stand by for each other: a delivery may reach one that does not lead.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gitfed.model.base import Commit

RARER = 10
_TRUSTED = 24 * 3600.0
"""Seconds that a delivery says that there will be others."""


class Polling:
    """Of one process."""

    def __init__(self, *, alone: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        """`alone`: every delivery comes to this process."""
        self._alone = alone
        self._clock = clock
        self._last: float | None = None
        """When a delivery came last, of those that can be relied upon."""
        self._told = False
        """Whether one came since the branch moved last."""
        self._commit: Commit | None = None

    def delivered(self) -> None:
        """A forge told that the followed branch moved."""
        self._last, self._told = self._clock(), True

    def doubt(self) -> None:
        """A delivery was dropped that may have been in earnest."""
        self._last = None

    def at(self, commit: Commit | None) -> None:
        """This commit is in force now."""
        if self._commit is not None and commit != self._commit:
            if not self._told:
                self._last = None
            self._told = False
        self._commit = commit

    @property
    def rare(self) -> bool:
        return self._alone and self._last is not None and self._clock() - self._last < _TRUSTED

    def interval(self, usual: float) -> float:
        """Seconds until the next poll."""
        return usual * RARER if self.rare else usual
