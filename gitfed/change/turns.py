"""Whose turn it is: templates that share something are placed one after the other.

Most templates are placed by themselves, and their answers are kept from build to build. Three things tie some of them
together: the room of the clusters, which two workloads of one build must not both be given (Karmada: scheduling §5.5);
workload affinity, which asks where the others are; and a federated quota, which they use up together. Those take turns:
the higher priority first, then by key, so that equal inputs give equal plans. What a turn newly places is gone for the
turns after it; what runs already is in the facts.

What was taken before a question is part of the question (`history`), so an answer is kept as long as nothing that was
decided before it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gitfed.change import bind
from gitfed.change.bind import Asked, Bound
from gitfed.change.schedules import Schedules
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Share
from gitfed.placement import allowance, quota, schedule
from gitfed.placement.allowance import Allowances, Space
from gitfed.placement.estimate import Capacity
from gitfed.text import canonical

if TYPE_CHECKING:
    from gitfed.placement.rooms import Rooms

_Claim: TypeAlias = tuple[tuple[str, Space, tuple[tuple[ClusterName, int], ...]], ...]
"""(digest of requirements, whose quotas count, (cluster, replicas)…) for each pod template."""


@dataclass(slots=True)
class Room:
    """The room of the fleet, kept between builds while the facts are the same."""

    capacities: Mapping[ClusterName, Capacity | None] = field(default_factory=dict)
    _pristine: Rooms | None = None
    allowances: Allowances = field(default_factory=lambda: Allowances({}))
    """What ResourceQuotas inside the clusters allow, before anything of this build is placed."""
    _histories: dict[tuple[int, _Claim], int] = field(default_factory=dict)

    def use(self, capacities: Mapping[ClusterName, Capacity | None], schedules: Schedules) -> None:
        """These are the facts now. Answers that other facts gave are forgotten."""
        if capacities != self.capacities:
            self.capacities = capacities
            self.allowances = Allowances({name: one.quotas for name, one in capacities.items() if one is not None})
            self.clear(schedules)

    def clear(self, schedules: Schedules) -> None:
        self._pristine = None
        self._histories.clear()
        schedules.by_room.clear()

    def after(self, history: int, claim: _Claim) -> int:
        return self._histories.setdefault((history, claim), len(self._histories) + 1)

    def pristine(self) -> Rooms:
        if self._pristine is None:
            from gitfed.placement.rooms import Rooms  # only a build that asks for room pays for numpy

            self._pristine = Rooms(self.capacities)
        return self._pristine


class Entry(NamedTuple):
    asked: Asked
    bound: Bound | None
    """None: it takes a turn. Else it was placed by itself, but may have taken room."""


def place(
    entries: Iterable[Entry],
    binder: bind.Binder,
    room: Room,
    quotas: quota.Ledger,
    priority: Callable[[Asked], int],
    facts_taken: datetime | None,
) -> dict[ObjectKey, Bound]:
    """The places of all entries that take a turn."""
    entries = list(entries)
    waiting = [entry for entry in entries if entry.bound is None]
    for entry in entries:
        if quotas.covers(entry.asked.manifest.key.namespace):
            shares = entry.bound.binding.shares if entry.bound is not None else entry.asked.request.previous
            quotas.count(entry.asked.manifest.key.namespace, _usage(entry.asked, shares))
    if not waiting:
        return {}
    peers = _Peers(entries)
    taken = _Taken(room)
    for entry in entries:
        if facts_taken is not None and _is_in_flight(entry, facts_taken):
            taken.claim(entry.asked, (), entry.asked.request.previous)
    turns = [*waiting, *(entry for entry in entries if entry.bound is not None and _takes_room(entry))]
    turns.sort(key=lambda entry: (-priority(entry.asked), entry.asked.manifest.key))
    placed: dict[ObjectKey, Bound] = {}
    for asked, bound in turns:
        if bound is None:
            bound = _answer(asked, binder, taken, peers)
            bound = _within_quota(asked, bound, binder, quotas)
            placed[asked.manifest.key] = bound
            peers.moved(asked, bound.binding.shares)
        if asked.request.is_workload:
            taken.claim(asked, asked.request.previous, bound.binding.shares)
    return placed


def _answer(asked: Asked, binder: bind.Binder, taken: _Taken, peers: _Peers) -> Bound:
    beside, away_from = peers.around(asked)
    return bind.answer(
        asked, binder, lambda: taken.room_for(asked), taken.history,
        beside=beside, away_from=away_from, space=taken.space_of(asked),
    )  # fmt: skip


def _within_quota(asked: Asked, bound: Bound, binder: bind.Binder, quotas: quota.Ledger) -> Bound:
    namespace = asked.manifest.key.namespace
    if not quotas.covers(namespace):
        return bound
    before, after = _usage(asked, asked.request.previous), _usage(asked, bound.binding.shares)
    message = quotas.admit(namespace, before, after)
    return bound if message is None else bind.refused(asked, bound, binder, message)


def _usage(asked: Asked, shares: Sequence[Share]) -> quota.Usage:
    return quota.usage(shares, _requirements(asked.request), asked.request.components)


def _is_in_flight(entry: Entry, facts_taken: datetime) -> bool:
    """Decided after the facts were taken: its replicas are not among what the facts count."""
    decision = entry.asked.decision
    if not entry.asked.stands or decision is None or decision.last_scheduled is None:
        return False
    return entry.asked.request.is_workload and decision.last_scheduled > facts_taken


def _takes_room(entry: Entry) -> bool:
    assert entry.bound is not None
    return (
        not entry.asked.stands
        and entry.asked.request.is_workload
        and entry.bound.binding.shares != entry.asked.request.previous
    )


class _Peers:
    """Where the members of workload affinity groups are: as decided before, until they had their turn."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._members: dict[tuple[str, str, bool], dict[ObjectKey, frozenset[ClusterName]]] = {}
        for asked, _ in entries:
            if asked.group or asked.apart:
                self.moved(asked, asked.request.previous)

    def moved(self, asked: Asked, shares: Sequence[Share]) -> None:
        for identity in self._groups(asked):
            self._members.setdefault(identity, {})[asked.manifest.key] = frozenset(share.cluster for share in shares)

    def around(self, asked: Asked) -> tuple[frozenset[ClusterName] | None, frozenset[ClusterName]]:
        """(clusters that all others of its group use, clusters that any of its anti-affinity group uses)"""
        beside: frozenset[ClusterName] | None = None
        away: frozenset[ClusterName] = frozenset()
        for identity in self._groups(asked):
            for key, clusters in self._members.get(identity, {}).items():
                if key == asked.manifest.key or not clusters:
                    continue
                if identity[2]:
                    away |= clusters
                else:
                    beside = clusters if beside is None else beside & clusters
        return beside, away

    @staticmethod
    def _groups(asked: Asked) -> list[tuple[str, str, bool]]:
        namespace = asked.manifest.key.namespace
        found = [(namespace, asked.group, False)] if asked.group else []
        return [*found, (namespace, asked.apart, True)] if asked.apart else found


class _Taken:
    """What the turns so far took of the room. Arrays change only when somebody asks anew."""

    def __init__(self, room: Room) -> None:
        self.history = 0
        self._room = room
        self._rooms: Rooms | None = None
        self._pending: list[tuple[Body | None, Mapping[ClusterName, int]]] = []
        self._allowances = room.allowances.copy()

    def space_of(self, asked: Asked) -> Space:
        """Most namespaces have no quota anywhere: then all of them are alike."""
        return asked.request.space if self._allowances.cover(asked.request.space) else allowance.ANYWHERE

    def claim(self, asked: Asked, before: Sequence[Share], after: Sequence[Share]) -> None:
        """What is newly placed; replicas that were there before are in the facts."""
        if before == after:
            return
        parts: list[tuple[str, Body | None, Mapping[ClusterName, int]]] = []
        had = {share.cluster: share.replicas or 0 for share in before}
        if asked.request.components:
            new = [share.cluster for share in after if share.cluster not in had]
            for component in asked.request.components:
                count = int(component.get("replicas") or 0)
                needs = component.get("replicaRequirements") or None
                parts.append((canonical.digest(needs), needs, dict.fromkeys(new, count)))
        else:
            more = {share.cluster: (share.replicas or 0) - had.get(share.cluster, 0) for share in after}
            new_here = {name: count for name, count in more.items() if count > 0}
            parts.append((asked.shape, _requirements(asked.request), new_here))
        parts = [part for part in parts if any(part[2].values())]
        if parts:
            self._pending += [(needs, counts) for _, needs, counts in parts]
            space = self.space_of(asked)
            if space is not allowance.ANYWHERE:
                for _, needs, counts in parts:
                    self._allowances.take(space, allowance.of_replica(needs), counts)
            claim = tuple((shape, space, tuple(counts.items())) for shape, _, counts in parts)
            self.history = self._room.after(self.history, claim)

    def room_for(self, asked: Asked) -> schedule.Room:
        if self._rooms is None:
            self._rooms = self._room.pristine()
            if self._pending:
                self._rooms = self._rooms.copy()
        elif self._pending and self._rooms is self._room.pristine():
            self._rooms = self._rooms.copy()
        for requirements, counts in self._pending:
            self._rooms.take(requirements, counts)
        self._pending.clear()
        request = asked.request
        if request.counts_sets:
            found = self._rooms.sets(request.components)
        else:
            found = self._rooms.of(_requirements(request), asked.shape)
        if (space := self.space_of(asked)) is allowance.ANYWHERE:
            return found
        one = request.components if request.counts_sets else allowance.of_replica(_requirements(request))
        return self._allowances.limit(found, space, one)


def _requirements(request: schedule.Request) -> Body | None:
    return None if isinstance(request.requirements, schedule.NotAsked) else request.requirements
