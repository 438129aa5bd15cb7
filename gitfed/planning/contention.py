"""Whose turn it is: templates that share something are placed one after the other.

Most templates are placed by themselves, and their answers are kept from build to build. Three things tie some of them
together: the capacity of the clusters, which two workloads of one build must not both get (Karmada: scheduling §5.5);
workload affinity, which asks where the others are; and a federated quota, which they use up together. Those take turns:
the higher priority first, then by key, so that equal inputs give equal plans. What a turn newly places is gone for the
turns after it; what runs already is in the facts.

What earlier turns took of the clusters that a query is about is part of the query (`FleetCapacity.trace`), so an answer
is kept as long as nothing changes there: neither what was decided before it, nor the facts of one of these clusters.
Where a template has the same query as in the build before (`LastPlacement`), not even the comparison is made again:
thousands of workloads whose place depends on available capacity must not cost a cycle anything while nothing happens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Share
from gitfed.placement.capacity import allowance, quota
from gitfed.placement.capacity.allowance import Allowances, Space
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import schedule
from gitfed.placement.scheduling.request import NotAsked, PlacementRequest
from gitfed.planning import bind, fallback
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult
from gitfed.planning.schedule_cache import Others, Schedules
from gitfed.text import canonical
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.placement.capacity.fleet_capacity import FleetCapacity, Read
    from gitfed.placement.capacity.node_columns import Placed

IN_FLIGHT = timedelta(minutes=1)
"""Pods of a decision that is so much older than the facts may still be missing in them."""
_SPARE_ANSWERS = 10_000
_NOBODY: tuple[frozenset[ClusterName] | None, frozenset[ClusterName]] = (None, frozenset())


class LastPlacement(NamedTuple):
    """What a template got in its last turn, and from what: the first three are compared with `is`."""

    asked: PlacementQuery
    candidates: object
    capacities: object
    reads: tuple[ClusterName, ...]
    others: Others
    bound: PlacementResult


@dataclass(slots=True)
class CapacityLedger:
    """The available capacity of the fleet, kept between builds while the facts are the same."""

    capacities: Mapping[ClusterName, Capacity | None] = field(default_factory=dict)
    _pristine: FleetCapacity | None = None
    allowances: Allowances = field(default_factory=lambda: Allowances({}))
    """What ResourceQuotas inside the clusters allow, before anything of this build is placed."""
    _parts: dict[tuple[str, Space], int] = field(default_factory=dict)
    """(digest of requirements, whose quotas count) → its number."""
    _read: dict[ClusterName, Read] = field(default_factory=dict)
    watched: ObjectKey | None = None
    turn: schedule.Turn | None = None
    """Of the template that somebody watches: what it asked, and the room that it found, when its turn came last."""
    answered: dict[ObjectKey, LastPlacement] = field(default_factory=dict)
    """Of templates whose last answer says what is on record already."""

    def use(self, capacities: Mapping[ClusterName, Capacity | None], schedules: Schedules) -> None:
        """These are the facts now. Answers that depend on a cluster with other facts are forgotten."""
        if capacities == self.capacities:
            return
        before, self.capacities = self.capacities, capacities
        self._pristine = None
        self.allowances = Allowances(
            {name: capacity.quotas for name, capacity in capacities.items() if capacity is not None}
        )
        names = before.keys() | capacities.keys()
        schedules.forget_room({name for name in names if before.get(name) != capacities.get(name)})

    def part(self, shape: str, space: Space) -> int:
        return self._parts.setdefault((shape, space), len(self._parts))

    def tidy(self, schedules: Schedules, asked: int) -> None:
        """Forget answers to questions of long ago: what was taken before them will not be taken so again."""
        if len(self.answered) > 2 * asked + _SPARE_ANSWERS:
            self.answered.clear()
        if len(schedules.by_room) > 2 * asked + _SPARE_ANSWERS:
            self._parts.clear()
            schedules.by_room.clear()

    def pristine(self) -> FleetCapacity:
        if self._pristine is None:
            from gitfed.placement.capacity.fleet_capacity import (
                FleetCapacity,  # only a build that asks for room pays for numpy
            )

            self._pristine = FleetCapacity(self.capacities, self._read)
        return self._pristine


class Contender(NamedTuple):
    asked: PlacementQuery
    bound: PlacementResult | None
    """None: it takes a turn. Else it was placed by itself, but may have taken room."""


def place(
    entries: Iterable[Contender],
    binder: Binder,
    room: CapacityLedger,
    quotas: quota.Ledger,
    priority: Callable[[PlacementQuery], int] | None,
    facts_taken: datetime | None,
) -> dict[ObjectKey, PlacementResult]:
    """The places of all entries that take a turn. `entries` are sorted by key; `priority` None: all have the same."""
    entries = list(entries)
    waiting = [entry for entry in entries if entry.bound is None]
    for entry in entries if quotas.limits else ():
        if quotas.covers(entry.asked.manifest.key.namespace):
            shares = entry.bound.binding.scheduled.shares if entry.bound is not None else entry.asked.request.previous
            quotas.count(entry.asked.manifest.key.namespace, _usage(entry.asked, shares))
    if not waiting:
        return {}
    peers = _Peers(entries)
    # Who only waits for company or for a quota asks for no room, and nobody has to know what is taken of it.
    taken = _Taken(room) if any(entry.asked.request.needs_room for entry in waiting) else None
    if taken is not None and facts_taken is not None:
        for entry in entries:
            if _is_in_flight(entry, facts_taken):
                taken.claim(entry.asked, (), entry.asked.request.previous)
    turns = [entry for entry in entries if entry.bound is None or _takes_room(entry)]
    if priority is not None:
        turns.sort(key=lambda entry: -priority(entry.asked))
    placed: dict[ObjectKey, PlacementResult] = {}
    for asked, bound in turns:
        if bound is None:
            bound = _answer(asked, binder, room, taken, peers)
            if quotas.limits:
                bound = _within_quota(asked, bound, binder, quotas)
            placed[asked.manifest.key] = bound
            peers.moved(asked, bound.binding.scheduled.shares)
        if (
            taken is not None
            and bound.binding.scheduled.shares is not asked.request.previous
            and asked.request.is_workload
        ):
            taken.claim(asked, asked.request.previous, bound.binding.scheduled.shares)
    room.tidy(binder.schedules, len(waiting))
    return placed


def _answer(
    asked: PlacementQuery, binder: Binder, room: CapacityLedger, taken: _Taken | None, peers: _Peers
) -> PlacementResult:
    key, (beside, away_from) = asked.manifest.key, peers.around(asked)
    previous = room.answered.get(key)
    if previous is not None and previous.asked is not asked:
        previous = None
    last = previous.bound if previous is not None else None
    if previous is not None and not (
        previous.candidates is binder.candidates and previous.capacities is room.capacities
    ):
        previous = None
    reads: tuple[ClusterName, ...] = ()
    trace, space = b"", allowance.ANYWHERE
    if taken is not None and asked.request.needs_room:
        reads = (
            previous.reads
            if previous is not None
            else binder.schedules.reads(asked.asks, asked.request, binder.candidates)
        )
        trace, space = taken.trace(reads), taken.space_of(asked)
    if key == room.watched:
        asks = replace(asked.request, beside=beside, away_from=away_from, space=space)
        room.turn = schedule.Turn(asks, taken.room_for(asked) if taken is not None else None)
    others = Others(trace, space, beside, away_from)
    if previous is not None and previous.others == others:
        return previous.bound
    room_for = functools.partial(taken.room_for, asked) if taken is not None else dict
    bound = bind.answer(asked, binder, room_for, others, reads, last)
    if asked.decides(bound):
        room.answered.pop(key, None)
    else:
        room.answered[key] = LastPlacement(asked, binder.candidates, room.capacities, reads, others, bound)
    return bound


def _within_quota(
    asked: PlacementQuery, bound: PlacementResult, binder: Binder, quotas: quota.Ledger
) -> PlacementResult:
    namespace = asked.manifest.key.namespace
    if not quotas.covers(namespace):
        return bound
    before, after = _usage(asked, asked.request.previous), _usage(asked, bound.binding.scheduled.shares)
    refused = quotas.admit(namespace, before, after)
    return fallback.refused(asked, bound, binder, " ".join(map(str, refused))) if refused else bound


def _usage(asked: PlacementQuery, shares: Sequence[Share]) -> quota.Usage:
    return quota.usage(shares, _requirements(asked.request), asked.request.components)


def _is_in_flight(entry: Contender, facts_taken: datetime) -> bool:
    """Decided after the facts were taken, or shortly before: its replicas are not all among what the facts count.

    Between a decision and its pods are a write, the controllers of the cluster and our watch. Facts that are taken
    meanwhile count some of them twice, for as long as they stand; they are written anew soon (`daemon.facts_record`).
    """
    decision = entry.asked.decision
    if not entry.asked.stands or decision is None or decision.last_scheduled is None:
        return False
    return entry.asked.request.is_workload and decision.last_scheduled > facts_taken - IN_FLIGHT


def claims(asked: PlacementQuery, decided: Decision | None, facts_taken: datetime | None) -> bool:
    """Whether a template with this answer takes room that the facts do not show: in the build that gave the answer, or
    in one that begins with it."""
    if not asked.request.is_workload:
        return False
    if asked.stands:
        return facts_taken is not None and _is_in_flight(Contender(asked, None), facts_taken)
    return asked.request.needs_room or decided is not asked.decision


def _takes_room(entry: Contender) -> bool:
    assert entry.bound is not None
    return (
        not entry.asked.stands
        and entry.asked.request.is_workload
        and entry.bound.binding.scheduled.shares != entry.asked.request.previous
    )


class _Peers:
    """Where the members of workload affinity groups are: as decided before, until they had their turn."""

    def __init__(self, entries: Iterable[Contender]) -> None:
        self._members: dict[tuple[str, str, bool], dict[ObjectKey, frozenset[ClusterName]]] = {}
        for asked, _ in entries:
            if asked.group or asked.apart:
                self.moved(asked, asked.request.previous)

    def moved(self, asked: PlacementQuery, shares: Sequence[Share]) -> None:
        if not asked.group and not asked.apart:
            return
        for identity in self._groups(asked):
            self._members.setdefault(identity, {})[asked.manifest.key] = frozenset(share.cluster for share in shares)

    def around(self, asked: PlacementQuery) -> tuple[frozenset[ClusterName] | None, frozenset[ClusterName]]:
        """(clusters that all others of its group use, clusters that any of its anti-affinity group uses)"""
        if not asked.group and not asked.apart:
            return _NOBODY
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
    def _groups(asked: PlacementQuery) -> list[tuple[str, str, bool]]:
        namespace = asked.manifest.key.namespace
        groups = [(namespace, asked.group, False)] if asked.group else []
        return [*groups, (namespace, asked.apart, True)] if asked.apart else groups


class _Taken:
    """What the turns so far took of the room."""

    def __init__(self, room: CapacityLedger) -> None:
        self._room = room
        self._rooms = room.pristine().copy()
        self._allowances = room.allowances.copy()
        self._whole: IdentityMemo[Sequence[Share], Placed] = IdentityMemo(self._rooms.placed)
        """What answers that many workloads share place, where nothing was before: by identity."""
        self.trace = self._rooms.trace

    def space_of(self, asked: PlacementQuery) -> Space:
        """Most namespaces have no quota anywhere: then all of them are alike."""
        return asked.request.space if self._allowances.cover(asked.request.space) else allowance.ANYWHERE

    def claim(self, asked: PlacementQuery, before: Sequence[Share], after: Sequence[Share]) -> None:
        """What is newly placed; replicas that were there before are in the facts."""
        if before == after:
            return
        if not asked.request.components:
            self._take(asked, asked.shape, _requirements(asked.request), self._placed(before, after))
            return
        had = {share.cluster for share in before}
        new = [share.cluster for share in after if share.cluster not in had]
        for component in asked.request.components:
            needs, count = component.get("replicaRequirements") or None, int(component.get("replicas") or 0)
            self._take(asked, canonical.digest(needs), needs, self._rooms.placed([Share(name, count) for name in new]))

    def _placed(self, before: Sequence[Share], after: Sequence[Share]) -> Placed:
        if before:
            return self._rooms.placed(after, before)
        return self._whole(after)

    def _take(self, asked: PlacementQuery, shape: str, needs: Body | None, placed: Placed) -> None:
        space = self.space_of(asked)
        self._rooms.take(needs, placed, shape, self._room.part(shape, space))
        if space is not allowance.ANYWHERE:
            self._allowances.take(space, allowance.of_replica(needs), self._rooms.by_name(placed))

    def room_for(self, asked: PlacementQuery) -> schedule.AvailableCapacity:
        request = asked.request
        if request.counts_sets:
            available = self._rooms.sets(request.components)
        else:
            available = self._rooms.of(_requirements(request), asked.shape)
        if (space := self.space_of(asked)) is allowance.ANYWHERE:
            return available
        unit = request.components if request.counts_sets else allowance.of_replica(_requirements(request))
        return self._allowances.limit(available, space, unit)


def _requirements(request: PlacementRequest) -> Body | None:
    return None if isinstance(request.requirements, NotAsked) else request.requirements
