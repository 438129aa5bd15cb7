"""When to take back replicas that cannot run: every `scheduling.descheduleInterval` the clusters are asked.

Looking takes requests and time, so it happens beside the cycle; what was seen waits for the next cycle, which takes
the replicas back (`placement.failover.deschedule`) and decides with the same build where they go. What was seen counts
once: until the change arrived in the cluster, the same pods would be counted again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from gitfed.daemon.fleet.fleet import Fleet
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.declared.federation import Scheduling
from gitfed.model.fleet import Stuck
from gitfed.placement.failover import deschedule

log = logging.getLogger("gitfed.descheduler")

_TURN = 2.0
"""Seconds at most until a new interval is noticed."""


class Descheduler:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self,
        fleet: Fleet,
        settings: Callable[[], Scheduling | None],
        now: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        """`settings` None: no commit was read yet. `wake` is called when something was found."""
        self._fleet = fleet
        self._settings = settings
        self._now = now
        self._wake = wake
        self._seen: Mapping[ObjectKey, Mapping[ClusterName, tuple[int, Stuck]]] = {}

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            settings = self._settings()
            left = last + settings.deschedule_interval.total_seconds() - loop.time() if settings is not None else _TURN
            if settings is None or left > 0:
                await asyncio.sleep(min(left, _TURN))
                continue
            self._seen = await self._fleet.stuck(self._now() - settings.unschedulable_threshold)
            last = loop.time()
            if self._seen:
                self._wake()

    def take_back(self, decisions: Decisions) -> tuple[Decisions, Mapping[ObjectKey, str]]:
        """The decisions without what was seen to be stuck, and what is to be said of each workload that lost some.

        A cluster that does not want what was decided for it is not finished, or an autoscaler rules there: then its
        pods say nothing about the decision.
        """
        seen, self._seen = self._seen, {}
        observed: dict[ObjectKey, dict[ClusterName, Stuck]] = {}
        for key, clusters in seen.items():
            decision = decisions.bindings.get(key)
            for share in decision.scheduled.shares if decision is not None else ():
                wanted, stuck = clusters.get(share.cluster, (None, None))
                if stuck is not None and wanted == share.replicas:
                    observed.setdefault(key, {})[share.cluster] = stuck
        decisions, trims = deschedule.deschedule(decisions, observed, self._now())
        return decisions, deschedule.sentences(trims)
