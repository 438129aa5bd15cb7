"""What the daemon counts while it works, for metrics and traces: plain numbers that only grow.

Counting costs an addition in a dictionary. Nothing here knows Prometheus; `hub.metrics` reads the numbers when it is
asked. One value belongs to one process, so that a number outlives the connection or the engine that it counts for.
Everything is written in the event loop, but for what Git does in threads.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change
from gitfed.text.values import dataclass

SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds for what takes milliseconds."""
LONG = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The same for what takes seconds."""

WAITS = (0.1, 0.5, 2.5, 10.0, 60.0, 600.0)
"""Few, because every cluster has them."""
_WRITTEN = frozenset({"created", "configured"})
_REASONS = frozenset({"TaintUntolerated", "ApplicationFailure"})
"""Karmada's words; a task that a person wrote may have any."""


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
        buckets: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            buckets.append((bound, below))
        return buckets


def _by(bounds: Sequence[float]) -> defaultdict[str, Histogram]:
    return defaultdict(partial(Histogram, bounds))


class Stopwatch:
    """How long the parts of a cycle take; it runs from the beginning."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        """Seconds, by part."""
        self._began = self._last = time.monotonic()

    def lap(self, part: str) -> None:
        """This part ends now."""
        now = time.monotonic()
        self.laps[part], self._last = now - self._last, now

    @property
    def total(self) -> float:
        return self._last - self._began


@dataclass(slots=True)
class Telemetry:
    phases: defaultdict[str, Histogram] = field(default_factory=lambda: _by(LONG))
    """Seconds of each part of a cycle; "cycle" is all of it."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Requests to members, by cluster, method and status; "none" is no answer."""
    changes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By cluster, action and outcome."""
    repairs: Counter[str] = field(default_factory=Counter)
    """Of drift, by cluster."""
    waits: defaultdict[str, Histogram] = field(default_factory=lambda: _by(WAITS))
    """Seconds that a change waited until its cluster's worker began it, by cluster."""
    attempts: Counter[str] = field(default_factory=Counter)
    """Decisions that were taken anew, by what came out."""
    evictions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Copies that were told to leave, by cluster and by what is the reason."""
    notifications: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Messages, by Notification and by whether they were delivered."""
    git: defaultdict[str, Histogram] = field(default_factory=lambda: _by(LONG))
    """Seconds of commands that talk to another repository, by command."""
    git_failures: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cycle(self, watch: Stopwatch) -> None:
        for part, seconds in watch.laps.items():
            self.phases[part].observe(seconds)
        self.phases["cycle"].observe(watch.total)

    def finished(self, change: Change, result: ApplyResult) -> None:
        """A worker is through with a change, well or badly."""
        self.changes[result.cluster, change.action.value, result.outcome] += 1
        if change.drift and result.outcome in _WRITTEN:
            self.repairs[result.cluster] += 1

    def decided(
        self, before: Mapping[ObjectKey, Decision], after: Mapping[ObjectKey, Decision], keys: Collection[ObjectKey]
    ) -> None:
        """The decisions of `keys` were recorded."""
        for key in keys:
            decision = after.get(key)
            if decision is None:
                continue
            condition = decision.scheduled.condition
            self.attempts["scheduled" if condition is None or condition.status else "unschedulable"] += 1
            old = before.get(key)
            evicted = old.failover.clusters_left if old is not None else set()
            for task in decision.failover.evictions:
                if task.from_cluster not in evicted:
                    reason = str(task.raw.get("reason") or "")
                    self.evictions[task.from_cluster, reason if reason in _REASONS else "other"] += 1

    @contextmanager
    def remote(self, command: str) -> Iterator[None]:
        """Around a Git command that talks to another repository; from any thread."""
        began = time.monotonic()
        failed = True
        try:
            yield
            failed = False
        finally:
            with self._lock:
                self.git[command].observe(time.monotonic() - began)
                self.git_failures[command] += failed
