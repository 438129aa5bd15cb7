"""How late the event loop is: what everything in this process has in common when it is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from gitfed.daemon.telemetry import Histogram
from gitfed.hub.metric import Metric, Sample

_EVERY = 0.5
_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class LoopLag:
    def __init__(self) -> None:
        self._late = Histogram(_BOUNDS)

    async def run(self) -> None:
        """Sleep, and see how much later than asked that ends."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await asyncio.sleep(_EVERY)
            self._late.observe(max(0.0, loop.time() - began - _EVERY))

    def metrics(self) -> tuple[Metric, ...]:
        def read() -> Iterator[Sample]:
            yield (), self._late

        return (
            Metric(
                "gitfed_event_loop_lag_seconds",
                "histogram",
                "How much later than asked the process's event loop woke up, looked at twice a second",
                read,
            ),
        )
