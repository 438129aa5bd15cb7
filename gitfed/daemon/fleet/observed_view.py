"""What was read of one cluster that this process reaches: its inventory, the objects of the kinds that are followed,
and what was looked up besides.

It is kept while the cluster cannot be reached, and is empty before the first read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping

from gitfed import errors
from gitfed.edges.kube.inventory import Inventory
from gitfed.edges.kube.observe import Observer
from gitfed.model.base import Kind, ObjectKey
from gitfed.model.fleet import InventoryEntry, LiveObject
from gitfed.planning.objects import compare


class ObservedView:
    """A `member_protocol.ClusterView`. Its owner puts in what it reads with."""

    def __init__(self, concurrency: int, usable: Callable[[], bool]) -> None:
        """`concurrency`: objects that are looked up at a time. `usable`: whether the cluster is to be asked now."""
        self.inventory: Inventory | None = None
        self.observer: Observer | None = None
        self._concurrency = concurrency
        self._usable = usable
        self._wanted: frozenset[Kind] = frozenset()
        self._listed: tuple[object, frozenset[Kind]] = (None, frozenset())

    def forget(self) -> None:
        """It is another cluster now: nothing that was read holds."""
        self.inventory = self.observer = None
        self._listed = (None, frozenset())

    @property
    def behind(self) -> bool:
        return self.observer is not None and self.observer.behind

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self.observer.get(key) if self.observer is not None else None

    def has(self, key: ObjectKey) -> bool:
        live = self.get(key)
        return live is not None and bool(live.uid)

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        return self.observer.objects() if self.observer else {}

    def entries(self) -> Mapping[ObjectKey, InventoryEntry]:
        return self.inventory.entries if self.inventory else {}

    def absent(self, key: ObjectKey) -> bool:
        live = self.get(key)
        if live is None or self.observer is None or self.observer.live().is_unread(key):
            return False
        return not live.uid or compare.is_foreign(live)

    def is_ours(self, key: ObjectKey, uid: str) -> bool:
        live = self.get(key)
        return live is not None and live.ours and live.uid == uid

    def foreign(self) -> list[ObjectKey]:
        """Objects in our way that are not ours, as last seen."""
        return [key for key, live in self.objects().items() if compare.is_foreign(live)]

    # -- following ----------------------------------------------------------------------------------------------

    def want(self, kinds: frozenset[Kind]) -> None:
        """Follow these kinds, and those of everything that the inventory lists."""
        self._wanted = kinds
        self.follow()

    def follow(self) -> None:
        """Follow the kinds that are wanted, now that there is an observer, or another inventory."""
        if self.observer is not None:
            self.observer.want(self._wanted | self._kinds_listed())

    def _kinds_listed(self) -> frozenset[Kind]:
        """Kinds of the inventory. Its entries are replaced as a whole: nothing is walked while they are the same."""
        entries = self.entries()
        if self._listed[0] is not entries:
            self._listed = (entries, frozenset(Kind(key.group, key.kind) for key in entries))
        return self._listed[1]

    def compare_again(self, keys: Collection[ObjectKey]) -> None:
        """What these should be is another thing now, and `callbacks.assess` knows it."""
        if self.observer is not None:
            self.observer.reassess(keys)

    # -- looking ------------------------------------------------------------------------------------------------

    async def look_at(self, keys: Iterable[ObjectKey]) -> None:
        observer = self.observer
        if observer is None or not self._usable():
            return
        slots = asyncio.Semaphore(self._concurrency)

        async def look(key: ObjectKey) -> None:
            async with slots:
                with contextlib.suppress(errors.ClusterError):
                    await observer.look(key)

        await asyncio.gather(*(look(key) for key in keys))

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        if keys or self.observer is None:
            await self.look_at(keys)
        else:
            self.observer.look_anew()
            await self.observer.settled()
