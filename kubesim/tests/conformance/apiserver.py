"""Recorded conversations with a real API server, held with a cluster of this package."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubesim.cluster import Cluster
from tests.conformance.replay import replay

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_AT_ONCE: Final = 8


class ManualClock:
    """Stands still until it is advanced."""

    def __init__(self, start: datetime = _START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float = 1.0) -> None:
        self._now += timedelta(seconds=seconds)


def run_many(cases: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """What differs from each recording, nothing if all is the same. Several at a time: most of the slow ones only
    wait."""

    async def all_of_them() -> list[list[str]]:
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(case: Mapping[str, Any]) -> list[str]:
            async with room:
                return await _on_fresh_cluster(dict(case))

        return list(await asyncio.gather(*(one(case) for case in cases)))

    return asyncio.run(all_of_them())


async def _on_fresh_cluster(case: dict[str, Any]) -> list[str]:
    clock = ManualClock()
    cluster = Cluster(case["id"], clock=clock, controllers=case.get("needs") == "controllers")
    cluster.world.patience = 0.05
    base_url = await cluster.start()
    try:
        return await replay(case, base_url, clock.advance, cluster.forget)
    finally:
        await cluster.stop()
