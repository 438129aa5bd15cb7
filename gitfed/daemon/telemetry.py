"""What the daemon counts while it works, for whoever wants to know: plain numbers that only grow.

Counting costs an addition in a dictionary. Nothing here knows Prometheus; `hub.metrics` reads the numbers when it is
asked. One value belongs to one process, so that a number outlives the connection or the engine that it counts for.
Everything is written in the event loop, or by one thread at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds for what takes milliseconds."""
LONG = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The same for what takes seconds."""


class Histogram:
    """How often values fell between bounds."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float] = SHORT) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, float]]:
        """Prometheus' buckets: (upper bound, values at most that large)."""
        found: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            found.append((bound, below))
        return found


def _by(bounds: Sequence[float]) -> defaultdict[str, Histogram]:
    return defaultdict(partial(Histogram, bounds))


@dataclass(slots=True)
class Telemetry:
    phases: defaultdict[str, Histogram] = field(default_factory=lambda: _by(LONG))
    """Seconds of each cycle, by what it did: see `cycle`."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Requests to members, by cluster, method and status; "none" is no answer."""
    changes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By cluster, action and outcome."""
    repairs: Counter[str] = field(default_factory=Counter)
    """Of drift, by cluster."""
    waits: defaultdict[str, Histogram] = field(default_factory=lambda: _by(LONG))
    """Seconds between handing a change to a cluster's worker and its end, by cluster."""
    attempts: Counter[str] = field(default_factory=Counter)
    """Of scheduling a template anew, by result: see `cycle`."""
    evictions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Copies that left a cluster, by cluster and producer."""
    git: defaultdict[str, Histogram] = field(default_factory=lambda: _by(LONG))
    """Seconds of fetches and pushes."""
    git_failures: Counter[str] = field(default_factory=Counter)
