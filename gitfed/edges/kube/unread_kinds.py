"""Which of the wanted kinds were not read, and why: what a cluster holds of these is unknown, and not nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from gitfed.model.base import Kind

NOT_YET = "not read yet"


class UnreadKinds:
    """`changed` is called when anything but a wish changed it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._reasons: dict[Kind, str] = {}
        self._new: set[Kind] = set()
        """Wanted since all were read last. They count as unread until each of them was read, or could not be: an
        observer that knows of Deployments and not of namespaces would make the one before the other."""
        self._settled = asyncio.Event()

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset(self._reasons) | self._new

    @property
    def error(self) -> str:
        """One of the reasons; "" when all were read."""
        return next(iter(sorted(self._reasons.values())), "")

    @property
    def awaited(self) -> bool:
        """Whether a kind was neither read nor found to be unreadable."""
        return NOT_YET in self._reasons.values()

    def is_awaited(self, kind: Kind) -> bool:
        return self._reasons.get(kind) == NOT_YET

    def want(self, kinds: Iterable[Kind], fresh: Iterable[Kind]) -> None:
        """Exactly `kinds` from now on; those of `fresh` are to be read anew."""
        wanted = set(kinds)
        for kind in self._reasons.keys() - wanted:
            del self._reasons[kind]
        for kind in fresh:
            self._reasons[kind] = NOT_YET
            self._new.add(kind)
        self._new &= wanted

    def read_anew(self, kind: Kind) -> None:
        self._reasons[kind] = NOT_YET

    def read(self, kind: Kind) -> None:
        if self._reasons.pop(kind, None) is not None:
            self._changed()

    def failed(self, kind: Kind, reason: str) -> bool:
        """Whether that is another reason than before."""
        if self._reasons.get(kind) == reason:
            return False
        self._reasons[kind] = reason
        self._changed()
        return True

    def settle(self) -> None:
        """Everything was read, or could not be: `settled` returns, and what was new is so no longer."""
        self._settled.set()
        if self._new:
            self._new.clear()
            self._changed()

    async def next_settled(self) -> None:
        self._settled.clear()
        await self._settled.wait()
