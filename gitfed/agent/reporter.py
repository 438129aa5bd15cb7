"""What an agent tells the hub: how its cluster is, what is in it, and what became of changes.

Everything is noted by key and told as it is when it is told: of ten versions of one object that came while the hub was
busy, the last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from gitfed.agent_protocol import values
from gitfed.agent_protocol.replica import Told
from gitfed.agent_protocol.values import AgentState, Over, Shared
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.services.station import Station
from gitfed.errors import LinkError
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult, ClusterFacts, ClusterLive, LiveObject
from gitfed.model.plan import Action
from gitfed.services import slices
from gitfed.services.slices import ServiceSlice

log = logging.getLogger("gitfed.agent")


class Reporter:
    def __init__(self, cluster: ClusterName) -> None:
        self.told = Told()
        self._cluster = cluster
        self._dirty: set[ObjectKey] = set()
        self._sent: dict[ObjectKey, LiveObject] = {}
        """What was told of each object, by identity."""
        self._facts: ClusterFacts | None = None
        self._over: dict[ObjectKey, Over] = {}
        self._ended: dict[ObjectKey, None] = {}
        """Of which of these nothing was told yet."""
        self._number = 0
        self._news = 0
        """Values that became other ones since it was last told."""
        self._own_slices: dict[str, ServiceSlice] = {}
        """What was told of the cluster's own endpoints, by identity."""
        self._arrived: set[str] = set()
        self._stirred: tuple[Station | None, int] = (None, 0)
        """Which station was looked at, and how often something had happened there."""

    # -- noting -------------------------------------------------------------------------------------------------

    def changed(self, key: ObjectKey) -> None:
        self._dirty.add(key)

    def begin_anew(self) -> None:
        """It is another member: whatever was told of the one before is gone unless this one shows it."""
        self._dirty.update(self._sent)

    def finished(
        self,
        key: ObjectKey,
        task: int,
        action: Action,
        result: ApplyResult | None,
        *,
        left: bool = False,
        drift: bool = False,
    ) -> None:
        self._number += 1
        self._over[key] = Over(task, self._number, action, left, drift, result)
        self._ended[key] = None

    def keep_only(self, keys: set[ObjectKey]) -> None:
        """What became of other changes is asked no more."""
        for key in self._over.keys() - keys:
            del self._over[key]
            self._ended.pop(key, None)
            self._drop(values.of(values.OVER, key))

    # -- telling ------------------------------------------------------------------------------------------------

    def tell(
        self,
        member: Member,
        state: AgentState,
        *,
        begins: Callable[[ObjectKey], bool] = lambda key: False,
        everything: bool = False,
        endpoints: bool = False,
    ) -> bool:
        """Bring what is told up to date; whether anything is news since the last time. `begins`: whether the hub's
        change of an object had no result yet. `everything`: also what was not noted, as a status that moved.
        `endpoints`: the hub asks for what is known of endpoints."""
        objects = member.view.objects() if everything else {}
        if everything:
            self._dirty.update(key for key, live in objects.items() if self._sent.get(key) is not live)
            self._dirty.update(key for key in self._sent if key not in objects)
        dirty, self._dirty = self._dirty, set()
        for key in dirty:
            name = values.of(values.OBJECT, key)
            if name not in self.told and begins(key):
                # So far there is the intention to make it, or a write whose result is told with it in a moment.
                self._dirty.add(key)
                continue
            live = member.view.get(key)
            if live is None:
                self._sent.pop(key, None)
                self._drop(name)
                continue
            self._sent[key] = live = _as_written_down(live, member)
            self._put(name, values.OBJECTS.json(live))
        for key in self._ended:
            self._put(values.of(values.OVER, key), values.OVERS.json(self._over[key]))
        self._ended.clear()
        if member.facts is not self._facts and member.asked:
            self._facts = member.facts
            self._put(values.FACTS, values.FACTS_OF.json(member.facts))
        self._put(values.STATE, values.STATES.json(state))
        if endpoints:
            self._tell_endpoints(member.station)
        news, self._news = self._news, 0
        return bool(news)

    def _tell_endpoints(self, station: Station) -> None:
        own = {
            values.of(values.OWN_SLICE, slices.key_of(own_slice)): own_slice
            for own_slices in station.own.values()
            for own_slice in own_slices
        }
        for name in self._own_slices.keys() - own.keys():
            self._drop(name)
        for name, own_slice in own.items():
            if self._own_slices.get(name) is not own_slice:
                self._put(name, values.SLICES.json(own_slice))
        self._own_slices = own
        self._put(values.SHARED, values.SHAREDS.json(Shared(tuple(sorted(station.names)), station.fresh)))
        if self._stirred == (station, station.stirred):
            return
        self._stirred = (station, station.stirred)
        arrived = {values.of(values.ARRIVED, key): station.arrived(key) for key in station.targets}
        for name in self._arrived - arrived.keys():
            self._drop(name)
        for name, endpoints in arrived.items():
            self._put(name, values.ARRIVALS.json(endpoints))
        self._arrived = set(arrived)

    def _put(self, name: str, value: object) -> None:
        try:
            self._news += self.told.put(name, value)
        except LinkError as error:
            log.error("too large to be told", extra={"cluster": self._cluster, "error": error.message})

    def _drop(self, name: str) -> None:
        if name in self.told:
            self.told.drop(name)
            self._news += 1


def _as_written_down(live: LiveObject, member: Member) -> LiveObject:
    """With the uid that its entry is about to get: until then entry and label prove together that it is ours."""
    if member.worker is None or not live.uid or live.entry is None or live.entry.uid:
        return live
    entry = member.worker.entry_to_come(live.key)
    return live if entry is None or entry.uid != live.uid else replace(live, entry=entry)


def state_of(member: Member, *, list_number: int, led: int | None) -> AgentState:
    """How this side is, as the hub has to know it."""
    worker, inventory, observer = member.worker, member.view.inventory, member.view.observer
    header = inventory.snapshot if inventory is not None else None
    live = observer.live() if observer is not None else ClusterLive(member.name, inventory_read=False)
    return AgentState(
        live=replace(live, error=""),
        id=member.id,
        asked=member.asked,
        looked=member.looked.is_set(),
        ready=member.ready.is_set(),
        error=member.error,
        owner=member.owner,
        term=header.term if header is not None else 0,
        leader=header.leader if header is not None else "",
        led=led,
        stopped=worker.stopped if worker is not None else "",
        list=list_number,
        idle=worker is None or worker.idle,
        flying=worker.flying if worker is not None else 0,
        behind=member.view.behind,
        measured=member.has_measured,
    )
