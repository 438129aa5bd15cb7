"""Orders to look anew (`gitfed reconcile`), carried out in the clusters beside the loop.

What failed for good is tried again at once, a cluster that is left alone for a while is asked now, and everything that
is meant is read anew instead of being taken from what the watches told. The plan does the rest: while an order stands,
drift is repaired where it applies (`planning.objects.compare`). An order is over when all that was done before the plan
of a cycle, and all is quiet after it; a cluster that cannot be reached holds up none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from gitfed.daemon import trouble
from gitfed.daemon.fleet.member_protocol import ClusterMember
from gitfed.model.base import ObjectKey, key_from
from gitfed.model.operator_orders import Reconciliation

log = logging.getLogger("gitfed.fleet")

_PATIENCE = 30.0
"""Seconds that a cluster has to tell all that is in it; after that it counts as it was."""


class Reconciler:
    """`members` gives the present ones; `again` hears what is tried again, in which cluster."""

    def __init__(
        self,
        members: Callable[[], Collection[ClusterMember]],
        again: Callable[[ClusterMember, Reconciliation], None],
        wake: Callable[[], None],
    ) -> None:
        self._members = members
        self._again = again
        self._wake = wake
        self._begun: dict[Reconciliation, asyncio.Task[None]] = {}

    def take_up(self, standing: Collection[Reconciliation]) -> frozenset[Reconciliation]:
        """Begin what is new among the orders that stand, and say of which everything was looked at."""
        for order in self._begun.keys() - standing:
            self._begun.pop(order).cancel()
        for order in standing:
            if order not in self._begun:
                log.info("reconciling", extra={"of": order.of, "by": order.by})
                task = self._begun[order] = asyncio.create_task(self._look(order), name=f"reconcile-{order.of}")
                task.add_done_callback(self._looked)
        return frozenset(order for order, task in self._begun.items() if task.done())

    async def close(self) -> None:
        tasks = list(self._begun.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, order: Reconciliation) -> None:
        keys = [key_from(order.object)] if order.object else []
        members = [member for member in self._members() if order.concerns(member.name)]
        looks = [asyncio.create_task(self._look_at(member, order, keys)) for member in members]
        try:
            if looks:
                await asyncio.wait(looks, timeout=_PATIENCE)
        finally:
            for look in looks:
                look.cancel()

    async def _look_at(self, member: ClusterMember, order: Reconciliation, keys: Collection[ObjectKey]) -> None:
        try:
            await member.look_anew(keys)
        except Exception as error:  # noqa: BLE001
            trouble.say("looking anew failed", error, cluster=member.name)
        self._again(member, order)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._wake()
