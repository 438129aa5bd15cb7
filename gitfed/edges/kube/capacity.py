"""The room of one cluster, watched: all its Nodes, Pods and ResourceQuotas, cut down to a few amounts as they arrive.

Three lists and three watches (`reflect`), without a label: capacity is what *all* pods leave. A page of pods is read,
cut down and forgotten before the next one is asked for, so that a cluster with a hundred thousand pods costs some dozen
megabytes here; an event changes sums by its own amounts (`model.capacity`).

What could not be read is said by `problem`; the last sums stay. Nothing is known before nodes and pods
were listed once. Quotas that may not be read are said to be unread, and room is estimated without them.
When to look at the sums, and whether a change matters, is the caller's business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.model import allowance, capacity
from gitfed.model.base import Body
from gitfed.model.fleet import ClusterCondition, ClusterFacts, NodeFacts, QuotaFacts
from gitfed.text.values import dataclass

KNOWN = "CapacityKnown"
"""Condition of a cluster whose capacity is wanted. Karmada has none: there, unread capacity looks like none."""
NOT_READ = "not read yet"
_QUOTAS = "resourcequotas"
_PAGE = 200
"""Objects a page: pods are large, and many clusters are listed at the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CapacityReading:
    """What was last read. `summary` None: nothing yet. `problem`: why it cannot be read now; "" when it can."""

    summary: Body | None = None
    nodes: tuple[NodeFacts, ...] = ()
    problem: str = ""
    quotas: tuple[QuotaFacts, ...] = ()
    unread: str = ""
    """Why quotas could not be read; "" when they could."""


class Watch:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self,
        session: Session,
        *,
        quotas: bool = True,
        wake: reflect.Wake | None = None,
        backoff: Backoff = reflect.BACKOFF,
    ) -> None:
        """`quotas` False: ResourceQuotas are not wanted."""
        self.tally = capacity.Tally()
        self.quotas: dict[tuple[str, str], QuotaFacts] = {}
        self.changes = 0
        """Goes up with every change: a caller that remembers the last one sees whether to look again."""
        self._session = session
        self._wake = wake or reflect.Wake()
        self._backoff = backoff
        self._unlisted = {"nodes", "pods"}
        self._wants_quotas = quotas
        self._quotas_listed = not quotas
        self._problems: dict[str, str] = {}
        self._settled = asyncio.Event()

    @property
    def problem(self) -> str:
        return next((self._problems[what] for what in sorted(self._problems) if what != _QUOTAS), "")

    async def settled(self) -> None:
        """Wait until nodes and pods were read, or could not be. The caller sets the timeout."""
        await self._settled.wait()

    def room(self, models: Iterable[capacity.Model], remembered: CapacityReading) -> CapacityReading:
        """The room now; where it was never read, that of `remembered`, with the reason."""
        unread = self._problems.get(_QUOTAS, "")
        # Never listed, but once known: those of an earlier process stand until these are read.
        quotas = tuple(self.quotas[name] for name in sorted(self.quotas)) if self._quotas_listed else remembered.quotas
        if self._unlisted:
            return replace(remembered, problem=self.problem, quotas=quotas, unread=unread)
        return CapacityReading(self.tally.summary(models), self.tally.nodes(), self.problem, quotas, unread)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow("nodes", _Nodes(self)))
            group.create_task(self._follow("pods", _Pods(self)))
            if self._wants_quotas:
                group.create_task(self._follow(_QUOTAS, _Quotas(self)))

    async def _follow(self, what: str, follower: _Nodes | _Pods | _Quotas) -> None:
        while True:
            try:
                await reflect.follow(
                    self._session,
                    reflect.Collection(f"/api/v1/{what}", project=follower.cut, page=_PAGE),
                    follower,
                    wake=self._wake,
                    backoff=self._backoff,
                )
            except errors.ObjectNotFound as error:
                # No server lacks these: something else answers at this address.
                self.lost(what, error)
                await self._wake.pause(self._backoff.longest)

    def listed(self, what: str) -> None:
        self._unlisted.discard(what)
        self._quotas_listed |= what == _QUOTAS
        self.found(what)

    def found(self, what: str) -> None:
        if self._problems.pop(what, None) is not None:
            self.changes += 1
        self._note_settled()

    def lost(self, what: str, error: errors.GitfedError) -> None:
        reason = f"{what}: {translate.said(error)}"
        if self._problems.get(what) != reason:
            self._problems[what] = reason
            self.changes += 1
            details = {"cluster": self._session.cluster, "error": reason}
            _log.log(translate.level(error, ""), "room cannot be read", extra=details)
        self._note_settled()

    def changed(self, really: bool) -> None:
        self.changes += really

    def _note_settled(self) -> None:
        if not self._unlisted - self._problems.keys() and (self._quotas_listed or _QUOTAS in self._problems):
            self._settled.set()


@dataclass(slots=True)
class _Nodes:
    watch: Watch

    cut = staticmethod(capacity.node_of)

    def listed(self, items: list[capacity.Node], version: str) -> None:
        self.watch.changed(self.watch.tally.all_nodes(items))
        self.watch.changes += 1  # an empty list is news too
        self.watch.listed("nodes")

    def event(self, kind: str, body: Body) -> None:
        node, tally = capacity.node_of(body), self.watch.tally
        self.watch.changed(tally.drop_node(node.name) if kind == "DELETED" else tally.put_node(node))

    def resumed(self) -> None:
        self.watch.found("nodes")

    def lost(self, error: errors.GitfedError) -> None:
        self.watch.lost("nodes", error)


@dataclass(slots=True)
class _Pods:
    watch: Watch

    def cut(self, body: Body) -> tuple[str, capacity.Pod]:
        return str((body.get("metadata") or {}).get("uid") or ""), self.watch.tally.shared(capacity.pod_of(body))

    def listed(self, items: list[tuple[str, capacity.Pod]], version: str) -> None:
        self.watch.changed(self.watch.tally.all_pods(items))
        self.watch.changes += 1
        self.watch.listed("pods")

    def event(self, kind: str, body: Body) -> None:
        uid, pod = self.cut(body)
        tally = self.watch.tally
        self.watch.changed(tally.drop_pod(uid) if kind == "DELETED" else tally.put_pod(uid, pod))

    def resumed(self) -> None:
        self.watch.found("pods")

    def lost(self, error: errors.GitfedError) -> None:
        self.watch.lost("pods", error)


@dataclass(slots=True)
class _Quotas:
    watch: Watch

    cut = staticmethod(allowance.of)

    def listed(self, items: list[QuotaFacts | None], version: str) -> None:
        quotas = {(quota.namespace, quota.name): quota for quota in items if quota is not None}
        self.watch.changed(quotas != self.watch.quotas)
        self.watch.quotas = quotas
        self.watch.changes += 1
        self.watch.listed(_QUOTAS)

    def event(self, kind: str, body: Body) -> None:
        metadata = body.get("metadata") or {}
        name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        before = self.watch.quotas.pop(name, None)
        after = None if kind == "DELETED" else allowance.of(body)
        if after is not None:
            self.watch.quotas[name] = after
        self.watch.changed(before != after)

    def resumed(self) -> None:
        self.watch.found(_QUOTAS)

    def lost(self, error: errors.GitfedError) -> None:
        self.watch.lost(_QUOTAS, error)


def told(facts: ClusterFacts, room: CapacityReading, *, before: ClusterFacts, now: datetime) -> ClusterFacts:
    """The facts with this room, and a condition that says whether it is up to date; `before` dates it."""
    if room.problem == NOT_READ:
        return replace(facts, resource_summary=room.summary, nodes=room.nodes, quotas=room.quotas)
    if room.problem:
        condition = ClusterCondition(KNOWN, "False", "NotReadable", room.problem)
    else:
        condition = ClusterCondition(KNOWN, "True", "QuotasNotReadable" if room.unread else "Read", room.unread)
    last = next(
        (earlier for earlier in before.conditions if earlier.type == KNOWN and earlier.status == condition.status), None
    )
    condition = replace(condition, last_transition=last.last_transition if last is not None else now)
    conditions = _conditions(facts, condition)
    return replace(facts, resource_summary=room.summary, nodes=room.nodes, quotas=room.quotas, conditions=conditions)


def untold(facts: ClusterFacts) -> ClusterFacts:
    """The facts of a cluster whose capacity is not wanted."""
    return replace(facts, resource_summary=None, nodes=(), quotas=(), conditions=_conditions(facts))


def _conditions(facts: ClusterFacts, *more: ClusterCondition) -> tuple[ClusterCondition, ...]:
    others = [condition for condition in facts.conditions if condition.type != KNOWN]
    return tuple(sorted([*others, *more], key=lambda condition: condition.type))
