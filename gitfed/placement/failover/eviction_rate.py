"""How many workloads leave failing clusters in one minute: `failover.maxEvictionsPerMinute`.

Karmada paces evictions with `--resource-eviction-rate`, half a workload a second for each worker, from a queue in
memory (Karmada: failover §2.3). Its v1.3, whose defaults are ours, does not, and neither do we unless we are asked to:
against a wrong alarm stands the guard of `taints`. Who asks fears something else, that all that left arrives in the
clusters that are left at once.

What began is read from the tasks on record, so that a restart or another leader begins no new minute. A task that is
over does not count: its replacement is healthy, and bothers nobody any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from gitfed.model.decisions import Decision
from gitfed.placement.failover.eviction import TAINT

_MINUTE = timedelta(minutes=1)


class Pace:
    """One step's share of a minute. `limit` None: there is none."""

    def __init__(self, limit: int | None, decisions: Iterable[Decision], now: datetime) -> None:
        self._limit = limit
        self._now = now
        self._begun: list[datetime] = []
        """When evictions of the last minute began."""
        self.held = 0
        """Workloads that wait for their turn."""
        for decision in decisions if limit is not None else ():
            for task in decision.failover.evictions:
                if task.raw.get("reason") == TAINT and task.created is not None and task.created > now - _MINUTE:
                    self._begun.append(min(task.created, now))

    def admits(self, before: Decision, after: Decision) -> bool:
        """Whether `after`, which leaves more clusters than `before`, may be decided now.

        A workload leaves all of its failing clusters at once, or none. What leaves because of its own health is not
        paced: it is one workload.
        """
        already = before.failover.clusters_left
        new = [
            task
            for task in after.failover.evictions
            if task.raw.get("reason") == TAINT and task.from_cluster not in already
        ]
        if self._limit is None or not new:
            return True
        if before.scheduled.condition is not None and not before.scheduled.condition.status:
            return True  # nothing could take it when that was last tried: it must not use up the turn of another
        if len(self._begun) >= self._limit:
            self.held += 1
            return False
        self._begun += [self._now] * len(new)
        return True

    @property
    def look_again(self) -> datetime | None:
        """When the next one may leave; None: nobody waits."""
        return min(self._begun) + _MINUTE if self.held else None
