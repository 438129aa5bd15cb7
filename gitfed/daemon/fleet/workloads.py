"""What is asked of one cluster about its workloads while it is in use, and answered at once: it is not followed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from gitfed.agent_protocol import values
from gitfed.daemon.fleet.capacity_probe import Measure
from gitfed.edges.kube import load, unschedulable
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.errors import LinkError
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import Stuck
from gitfed.model.load import ClusterLoad, LoadQuestion

_STUCK = 20.0
"""Seconds for looking into pods that wait for a node; what is not answered by then is asked the next time."""
_LOAD = 10.0
"""Seconds for asking what workloads use: a cluster that takes longer counts as unread this time."""


class WorkloadAccess(NamedTuple):
    session: Session
    discovery: Discovery


class Workloads:
    """Of a cluster that this process reaches (a `member_protocol.ClusterWorkloads`)."""

    def __init__(
        self, way: Callable[[], WorkloadAccess | None], measure: Measure, is_ours: Callable[[ObjectKey, str], bool]
    ) -> None:
        """`way`: None while the cluster is not in use."""
        self._way = way
        self._measure = measure
        self._is_ours = is_ours

    async def stuck(self, before: datetime) -> Mapping[ObjectKey, tuple[int, Stuck]]:
        waiting, way = self._measure.unschedulable(before), self._way()
        if waiting and way is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STUCK):
                    return await unschedulable.look(way.session, waiting, self._is_ours)
        return {}

    async def load(self, questions: Sequence[LoadQuestion]) -> Mapping[ObjectKey, ClusterLoad]:
        if (way := self._way()) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOAD):
                    return await load.look(way.session, way.discovery, questions)
        return {}


class AskedWorkloads:
    """The same of a cluster that its agent reaches."""

    def __init__(self, in_use: Callable[[], bool], ask: Callable[[str, Any], Awaitable[Any]]) -> None:
        """`ask` raises LinkError."""
        self._in_use = in_use
        self._ask = ask

    async def stuck(self, before: datetime) -> Mapping[ObjectKey, tuple[int, Stuck]]:
        if self._in_use():
            with suppress(LinkError):
                stuck = values.STUCK.read(await self._ask("stuck", before.isoformat()))
                return {key: (count, workload) for key, count, workload in stuck}
        return {}

    async def load(self, questions: Sequence[LoadQuestion]) -> Mapping[ObjectKey, ClusterLoad]:
        if self._in_use():
            with suppress(LinkError):
                return dict(values.LOADS.read(await self._ask("load", values.LOAD_QUESTIONS.json(list(questions)))))
        return {}
