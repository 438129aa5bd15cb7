"""A look that has no connection to spare for watches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from gitfed.edges.kube import observe
from gitfed.edges.kube.connection.looking import LookingSession
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.inventory import Inventory
from gitfed.interpret import readiness
from gitfed.model.base import Kind
from tests.edges.kube.conftest import FEDERATION, Place
from tests.support import patience

KINDS = [Kind("", "ConfigMap"), Kind("", "Secret"), Kind("apps", "Deployment"), Kind("", "Namespace")]


class Counting(LookingSession):
    """Which watches were asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.watched: asyncio.Queue[str] = asyncio.Queue()

    @contextlib.asynccontextmanager
    async def lines(self, path: str, query: Mapping[str, str], *, idle: float) -> AsyncIterator[AsyncIterator[bytes]]:
        async with super().lines(path, query, idle=idle) as lines:
            self.watched.put_nowait(path)
            yield lines


async def test_one_look_lists_every_kind_and_opens_no_watch(place: Place) -> None:
    async with Counting("m1", place.session.connection) as session:
        discovery, owned = Discovery(session), Inventory(session, federation=FEDERATION)
        await owned.read()
        callbacks = observe.ObserverCallbacks(
            lambda cluster, key, body: observe.Assessment(None, *readiness.readiness(body)), lambda *_: None
        )
        observer = observe.Observer(session, discovery, owned, callbacks)
        observer.want(KINDS)
        task = asyncio.create_task(observer.run())
        try:
            async with asyncio.timeout(patience.SECONDS):
                await observer.settled()
                asked = {await session.watched.get() for _ in range(len(KINDS) + 1)}  # of the inventory, too
            assert len(asked) == len(KINDS) + 1
            assert observer.live().unread == frozenset()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert {verb for _, verb, _ in session.tally} == {"GET"}
