"""What the agent of one cluster told: the newest of everything, as the values that the engine reads.

Whatever an agent says, it says of its own cluster: names of clusters in its values are not read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import field, fields, replace
from functools import lru_cache
from operator import attrgetter

from gitfed.agent_protocol import replica, values
from gitfed.agent_protocol.values import AgentState, Over, Shared
from gitfed.errors import LinkError
from gitfed.model.base import BindingId, Body, ClusterName, Digest, ObjectKey
from gitfed.model.fleet import ClusterFacts, InventoryEntry, LiveObject
from gitfed.services import slices
from gitfed.services.exchange import Endpoints
from gitfed.services.slices import ServiceSlice
from gitfed.text import canonical
from gitfed.text.values import dataclass

_MOST_SHARED = 1 << 12
"""Statuses that are held once, while that many others are."""
_SAID = attrgetter(*(member.name for member in fields(LiveObject) if member.name not in ("resource_version", "status")))


@dataclass(slots=True)
class News:
    state: bool = False
    facts: bool = False
    objects: list[ObjectKey] = field(default_factory=list)
    over: list[tuple[ObjectKey, Over]] = field(default_factory=list)
    endpoints: bool = False
    services: set[ObjectKey] = field(default_factory=set)
    """Of which the cluster's own slices are others."""


class EndpointReports:
    """What the agent told of endpoints."""

    def __init__(self) -> None:
        self.shared = Shared()
        self.arrived: dict[ObjectKey, Endpoints] = {}
        """By Service: what came to it from other clusters."""
        self._slices: dict[str, ServiceSlice] = {}
        """The cluster's own, by the keys of their values."""
        self._of_service: dict[ObjectKey, dict[str, ServiceSlice]] = {}

    def __iter__(self) -> Iterator[ObjectKey]:
        """Services of which own slices were told."""
        return iter(self._of_service)

    def slices_of(self, service: ObjectKey) -> Iterable[ServiceSlice]:
        return self._of_service.get(service, {}).values()

    def take(self, name: str, value: object) -> set[ObjectKey]:
        """`value` None: it is gone. The Services of which own slices are others now. Raises LinkError."""
        if name == values.SHARED:
            self.shared = values.SHAREDS.read(value) if value is not None else Shared()
            return set()
        key = values.key_in(name)
        if name.startswith(values.ARRIVED):
            if value is None:
                self.arrived.pop(key, None)
            else:
                self.arrived[key] = values.ARRIVALS.read(value)
            return set()
        services: set[ObjectKey] = set()
        if (before := self._slices.pop(name, None)) is not None:
            service = slices.target_of(before)
            del self._of_service[service][name]
            if not self._of_service[service]:
                del self._of_service[service]
            services.add(service)
        if value is not None:
            own_slice = replace(values.SLICES.read(value), namespace=key.namespace, name=key.name)
            service = slices.target_of(own_slice)
            self._slices[name] = self._of_service.setdefault(service, {})[name] = own_slice
            services.add(service)
        return services


class Reports:
    def __init__(self, cluster: ClusterName) -> None:
        self.heard = replica.HeardAsText()
        self.state: AgentState | None = None
        self.facts: ClusterFacts | None = None
        self.objects: dict[ObjectKey, LiveObject] = {}
        self.entries: dict[ObjectKey, InventoryEntry] = {}
        self.done: dict[ObjectKey, int] = {}
        """Which task of each object the agent is through with. Of the result nothing is kept: it was passed on."""
        self.done_changes = 0
        """How often `done` became another."""
        self.endpoints = EndpointReports()
        self._cluster = cluster

    def take(self, change: replica.ValueChange) -> News:
        """Raises LinkError for what has not the form that it should have."""
        news, first = News(), self.state is None
        for name in change.gone:
            what = name.partition("/")[0] + "/"
            if what == values.OBJECT:
                key = values.key_in(name)
                if self.objects.pop(key, None) is not None:
                    news.objects.append(key)
                self.entries.pop(key, None)
            elif what == values.OVER:
                self.done.pop(values.key_in(name), None)
                self.done_changes += 1
            elif name == values.SHARED or what in (values.OWN_SLICE, values.ARRIVED):
                news.endpoints = True
                news.services |= self.endpoints.take(name, None)
        for name, value in change.set.items():
            what = name.partition("/")[0] + "/"
            if what == values.OBJECT:
                self._object(values.key_in(name), value, news)
            elif what == values.OVER:
                self._over(values.key_in(name), value, news, first)
            elif name == values.STATE:
                state = values.STATES.read(value)
                self.state = replace(state, live=replace(state.live, name=self._cluster))
                news.state = True
            elif name == values.FACTS:
                self.facts = replace(values.FACTS_OF.read(value), name=self._cluster, declared=None, assumed=False)
                news.facts = True
            elif name == values.SHARED or what in (values.OWN_SLICE, values.ARRIVED):
                news.endpoints = True
                news.services |= self.endpoints.take(name, value)
            else:
                raise LinkError(f"an agent says {name[:100]!r}, which means nothing")
        return news

    def _object(self, key: ObjectKey, value: object, news: News) -> None:
        reported = values.OBJECTS.read(value)
        if reported.body is not None and not isinstance(reported.body.get("metadata"), dict):
            raise LinkError(f"{key} has no metadata")
        # Many clusters have the same object: what they say alike is held once.
        matches = Digest(sys.intern(reported.matches)) if reported.matches is not None else None
        status = reported.status if reported.status is None else _shared(canonical.dumps(reported.status))
        before = self.objects.get(key)
        entry = self._entry(key, reported, before.entry if before is not None else None)
        live = replace(reported, key=key, cluster=self._cluster, matches=matches, entry=entry, status=status)
        self.objects[key] = live
        if entry is not None:
            self.entries[key] = entry
        else:
            self.entries.pop(key, None)
        # A status that moved, of an object that is as rendered and as healthy as before, matters to no plan.
        if before is None or live.body is not None or _SAID(live) != _SAID(before):
            news.objects.append(key)

    @staticmethod
    def _entry(key: ObjectKey, reported: LiveObject, before: InventoryEntry | None) -> InventoryEntry | None:
        if reported.entry is None:
            return None
        uid = reported.uid if reported.entry.uid == reported.uid else reported.entry.uid
        entry = replace(reported.entry, key=key, uid=uid, binding=BindingId(sys.intern(reported.entry.binding)))
        return before if entry == before else entry

    def _over(self, key: ObjectKey, value: object, news: News, first: bool) -> None:
        over = values.OVERS.read(value)
        if over.left:
            self.done.pop(key, None)
        else:
            self.done[key] = over.id
        self.done_changes += 1
        # Of what was over when this process began nothing is told: the process before has logged it.
        if not first or over.left:
            news.over.append((key, over))


@lru_cache(_MOST_SHARED)
def _shared(status: bytes) -> Body:
    """The status of this text, the same value for each copy of the fleet that has it: most are alike."""
    shared: Body = canonical.loads(status)
    return shared
