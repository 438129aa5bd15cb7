"""Objects of one cluster that were looked up and gave no answer: whether they are there is unknown until one comes.

They are looked up again here, one after another and with growing pauses while the server fails; a plan counts
them as unread meanwhile, and not as absent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube.reflect import Wake
from gitfed.model.base import Kind, ObjectKey


class FailedLooks:
    def __init__(self, look: Callable[[ObjectKey], Awaitable[object]], changed: Callable[[], None]) -> None:
        """`look` tells `failed` or `answered` itself. `changed`: something is unknown now, or known again."""
        self._look = look
        self._changed = changed
        self._keys: dict[ObjectKey, None] = {}
        """In the order in which they are to be looked up."""
        self._some = asyncio.Event()

    @property
    def keys(self) -> frozenset[ObjectKey]:
        return frozenset(self._keys)

    def failed(self, key: ObjectKey) -> None:
        is_new = key not in self._keys
        self._keys.pop(key, None)
        self._keys[key] = None
        self._some.set()
        if is_new:
            self._changed()

    def answered(self, key: ObjectKey) -> None:
        """It was seen, or is not there, or is not wanted any more."""
        if key in self._keys:
            del self._keys[key]
            self._changed()

    def forget(self, kind: Kind) -> None:
        for key in [key for key in self._keys if key[:2] == kind]:
            self.answered(key)

    async def run(self, wake: Wake, backoff: Backoff) -> None:
        """Look them up again until cancelled."""
        failures = 0
        while True:
            await self._some.wait()
            self._some.clear()
            while self._keys:
                await wake.pause(backoff.after(max(failures, 1)))
                failures = await self._look_at_all(failures)

    async def _look_at_all(self, failures: int) -> int:
        """Up to the first that fails, which is the last the next time. Answers the failures in a row."""
        while self._keys:
            key = next(iter(self._keys))
            try:
                await self._look(key)
            except errors.ClusterError:
                return failures + 1
            failures = 0
            self.answered(key)
        return 0
