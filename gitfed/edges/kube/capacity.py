"""The room of one cluster, watched: all its Nodes and Pods, each cut down to a few amounts as it arrives.

Two lists and two watches (`reflect`), without a label: room is what *everybody* leaves. A page of pods is read, cut
down and forgotten before the next one is asked for, so that a cluster with a hundred thousand pods costs some dozen
megabytes here; an event changes sums by its own amounts (`model.capacity`).

What could not be read is said by `problem`; the last sums stay. Nothing is known before both kinds were listed once.
When to look at the sums, and whether a change matters, is the caller's business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gitfed import errors
from gitfed.edges.kube import reflect, translate
from gitfed.edges.kube.session import Session
from gitfed.model import capacity
from gitfed.model.base import Body
from gitfed.model.fleet import ClusterFacts, Condition, NodeFacts

KNOWN = "CapacityKnown"
"""Condition of a cluster whose room somebody asked for. Karmada has none: there, unread room looks like no room."""
NOT_READ = "not read yet"
_PAGE = 200
"""Objects a page: pods are large, and many clusters are listed at the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Room:
    """What was last read. `summary` None: nothing yet. `problem`: why it cannot be read now; "" when it can."""

    summary: Body | None = None
    nodes: tuple[NodeFacts, ...] = ()
    problem: str = ""


class Watch:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self, session: Session, *, wake: reflect.Wake | None = None, backoff: tuple[float, ...] = reflect.BACKOFF
    ) -> None:
        self.tally = capacity.Tally()
        self.changes = 0
        """Goes up with every change: whoever remembers the last one sees whether to look again."""
        self._session = session
        self._wake = wake or reflect.Wake()
        self._backoff = backoff
        self._unlisted = {"nodes", "pods"}
        self._problems: dict[str, str] = {}
        self._settled = asyncio.Event()

    @property
    def problem(self) -> str:
        return next((self._problems[what] for what in sorted(self._problems)), "")

    async def settled(self) -> None:
        """Wait until nodes and pods were read, or could not be. The caller sets the timeout."""
        await self._settled.wait()

    def room(self, models: Iterable[capacity.Model], known: Room) -> Room:
        """The room now; where it was never read, that of `known`, with the reason."""
        if self._unlisted:
            return replace(known, problem=self.problem)
        return Room(self.tally.summary(models), self.tally.nodes(), self.problem)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow("nodes", _Nodes(self)))
            group.create_task(self._follow("pods", _Pods(self)))

    async def _follow(self, what: str, follower: _Nodes | _Pods) -> None:
        while True:
            try:
                await reflect.follow(
                    self._session, f"/api/v1/{what}", "", follower, wake=self._wake, backoff=self._backoff,
                    project=follower.cut, page=_PAGE,
                )  # fmt: skip
            except errors.ObjectNotFound as error:
                # No server lacks these: something else answers at this address.
                self.lost(what, error)
                await self._wake.pause(self._backoff[-1])

    def listed(self, what: str) -> None:
        self._unlisted.discard(what)
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
            _log.info("room cannot be read", extra={"cluster": self._session.cluster, "error": reason})
        self._note_settled()

    def changed(self, really: bool) -> None:
        self.changes += really

    def _note_settled(self) -> None:
        if not self._unlisted - self._problems.keys():
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


def told(known: ClusterFacts, room: Room, *, before: ClusterFacts, now: datetime) -> ClusterFacts:
    """The facts with this room, and a condition that says whether it is up to date; `before` dates it."""
    if room.problem == NOT_READ:
        return replace(known, resource_summary=room.summary, nodes=room.nodes)
    if room.problem:
        condition = Condition(KNOWN, "False", "NotReadable", room.problem)
    else:
        condition = Condition(KNOWN, "True", "Read", "")
    last = next((one for one in before.conditions if one.type == KNOWN and one.status == condition.status), None)
    condition = replace(condition, last_transition=last.last_transition if last is not None else now)
    return replace(known, resource_summary=room.summary, nodes=room.nodes, conditions=_conditions(known, condition))


def untold(known: ClusterFacts) -> ClusterFacts:
    """The facts of a cluster whose room nobody asked for."""
    return replace(known, resource_summary=None, nodes=(), conditions=_conditions(known))


def _conditions(known: ClusterFacts, *more: Condition) -> tuple[Condition, ...]:
    others = [condition for condition in known.conditions if condition.type != KNOWN]
    return tuple(sorted([*others, *more], key=lambda condition: condition.type))
