"""One cluster while an agent keeps it: its keeper and its connection to the hub, from their begin to a good end."""

from __future__ import annotations

import asyncio
from typing import Any

from gitfed.agent.cancellation import ended
from gitfed.agent.dial import Dial
from gitfed.agent.keeper import Keeper

_LAST_WORDS = 3.0


class OneCluster:
    """`begin` it in a running loop, and `end` it."""

    def __init__(self, keeper: Keeper, dial: Dial) -> None:
        self.keeper = keeper
        self.dial = dial
        self.tasks: tuple[asyncio.Task[Any], ...] = ()
        """None of them ends by itself."""

    def begin(self) -> None:
        cluster = self.keeper.cluster
        self.tasks = (
            asyncio.create_task(self.dial.run(), name=f"dial-{cluster}"),
            asyncio.create_task(self.keeper.run(), name=f"keeper-{cluster}"),
        )

    @property
    def connected(self) -> bool:
        return self.keeper.connected

    @property
    def failed(self) -> bool:
        """Whether something ended that should not."""
        return any(task.done() for task in self.tasks)

    async def end(self) -> None:
        """What is under way is finished first, and told."""
        dialling, keeping = self.tasks
        await ended(keeping)
        if self.keeper.connected:
            await asyncio.wait({asyncio.create_task(self._told())}, timeout=_LAST_WORDS)
            await self.dial.say_goodbye()
        await ended(dialling)

    async def _told(self) -> None:
        keeper = self.keeper
        while keeper.connected and not keeper.reporter.told.settled:
            keeper.poke()
            await asyncio.sleep(0.02)
