"""How one member follows the capacity of its cluster: while a policy wants to know it, and not at every event.

Pods come and go all the time, and a decision is taken from what was written down anyway; so the watches (`edges.kube.
capacity`) keep sums, and here the sums are looked at now and then, if they changed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from gitfed.edges.kube import capacity
from gitfed.edges.kube.connection.session import Session
from gitfed.model.capacity import Model, Owner


class Measure:
    """Call `run` as a task beside the member's others, anew for each session."""

    def __init__(
        self,
        *,
        interval: float,
        models: Callable[[], Iterable[Model]],
        usable: Callable[[], bool],
        remembered: Callable[[], capacity.CapacityReading],
        publish: Callable[[], None],
    ) -> None:
        """`interval`: seconds between two looks at the sums. `usable`: whether the cluster counts as ready; else
        nothing is collected. `remembered`: the capacity of an earlier time. `publish` is called when `room` changed."""
        self.room: capacity.CapacityReading | None = None
        """None: it is not wanted, or the first look is not over."""
        self._interval = interval
        self._models = models
        self._usable = usable
        self._remembered = remembered
        self._publish = publish
        self._wanted = asyncio.Event()
        self._looked = asyncio.Event()
        self._watch: capacity.Watch | None = None
        self._quotas = True

    @property
    def wanted(self) -> bool:
        return self._wanted.is_set()

    @property
    def looked(self) -> bool:
        return self._looked.is_set()

    def want(self, wanted: bool, *, quotas: bool = True) -> None:
        """What is not wanted is forgotten: it would not be kept up to date. Another wish for `quotas` counts from the
        next connection on; a reader leaves out what it does not want to know."""
        self._quotas = quotas
        if wanted:
            self._wanted.set()
        elif self.wanted:
            self._wanted.clear()
            self.room = None
            self._publish()

    async def first_look(self) -> None:
        """Wait until nodes and pods were read, or could not be. The caller sets the timeout."""
        await self._looked.wait()

    def unschedulable(self, before: datetime) -> Mapping[Owner, int]:
        """Pods that no node was found for, since a moment before that one, by ReplicaSet; none if they are unread."""
        watch = self._watch
        return {} if watch is None or watch.problem else watch.tally.unschedulable(before)

    async def run(self, session: Session) -> None:
        while True:
            await self._wanted.wait()
            watch = self._watch = capacity.Watch(session, quotas=self._quotas)
            try:
                async with asyncio.TaskGroup() as group:
                    work = group.create_task(watch.run())
                    await watch.settled()
                    await self._look(watch)
                    work.cancel()
            finally:
                self._looked.clear()
                self._watch = None

    async def _look(self, watch: capacity.Watch) -> None:
        seen: tuple[int, tuple[Model, ...]] | None = None
        while self.wanted:
            now = watch.changes, tuple(self._models())
            if (self.room is None or now != seen) and self._usable():
                seen = now
                self.room = watch.room(now[1], self.room or self._remembered())
                self._publish()
            self._looked.set()
            await asyncio.sleep(self._interval * random.uniform(0.9, 1.1))
