"""What is in a cluster by the reports of its agent (a `member_protocol.ClusterView`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.errors import LinkError
from gitfed.model.base import Kind, ObjectKey
from gitfed.model.fleet import InventoryEntry, LiveObject
from gitfed.planning.objects import compare

_PATIENCE = 60.0
"""Seconds that an agent has for looking."""


class ReportedView:
    def __init__(
        self,
        reports: Reports,
        in_use: Callable[[], bool],
        usable: Callable[[], bool],
        ask: Callable[[str, Any, float], Awaitable[Any]],
    ) -> None:
        """`in_use`: whether changes may be handed over. `usable`: whether it can be asked now. `ask` raises
        LinkError."""
        self._in_use = in_use
        self._reports = reports
        self._usable = usable
        self._ask = ask

    @property
    def behind(self) -> bool:
        state = self._reports.state
        return self._in_use() and self._usable() and state is not None and state.behind

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self._reports.objects.get(key)

    def has(self, key: ObjectKey) -> bool:
        live = self.get(key)
        return live is not None and bool(live.uid)

    def absent(self, key: ObjectKey) -> bool:
        live, state = self.get(key), self._reports.state
        if live is None or state is None or Kind(key.group, key.kind) in state.live.unread:
            return False
        return not live.uid or compare.is_foreign(live)

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        return self._reports.objects

    def entries(self) -> Mapping[ObjectKey, InventoryEntry]:
        return self._reports.entries

    async def look_at(self, keys: Iterable[ObjectKey]) -> None:
        wanted = list(keys)
        if wanted and self._usable():
            with suppress(LinkError):
                await self._ask("look", [list(key) for key in wanted], _PATIENCE)

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        with suppress(LinkError):
            await self._ask("look-anew", [list(key) for key in keys], _PATIENCE)
