"""What each cluster should have of the others' endpoints, beside the cycle: a change travels without waiting for one.

A cycle says from where to where (`follow`) and which clusters serve; what a cluster's watch brings after that goes
through `services.exchange` to its consumers at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.services import derived, exchange, routes
from gitfed.services.exchange import Endpoints, Provider, ReadState, Seen, WantedSlices
from gitfed.services.routes import Route
from gitfed.services.slices import ServiceSlice

Untouched = Callable[[ObjectKey], bool]
"""Of which Services of a cluster nothing is to be done."""


class ClusterEndpoints(Protocol):
    """What is known of the endpoints in one cluster, and what repairs them there."""

    @property
    def own(self) -> Mapping[ObjectKey, tuple[ServiceSlice, ...]]:
        """Its own slices of the Services that others want, by Service."""

    @property
    def fresh(self) -> bool:
        """Whether `own` is what the cluster has now."""

    def provide(self, names: frozenset[str]) -> None:
        """Collect the slices of Services of these names."""

    def want(self, goal: WantedSlices, untouched: Untouched) -> None:
        """What should be there of others' slices."""

    def touch(self, key: ObjectKey) -> None:
        """Something happened to this object there."""

    def arrived(self, target: ObjectKey) -> Endpoints:
        """What is there of others' endpoints of a Service."""


class Member(Protocol):
    """What is asked of a member of the fleet."""

    asked: bool
    looked: asyncio.Event

    @property
    def station(self) -> ClusterEndpoints: ...

    @property
    def facts(self) -> ClusterFacts: ...


UntouchedIn = Callable[[ClusterName, ObjectKey], bool]
"""Whether a person wants nothing to be done about an object in a cluster."""


class Exchange:
    """`members`: of the fleet as it is at the time."""

    def __init__(self, members: Callable[[], Mapping[ClusterName, Member]]) -> None:
        self.routes: tuple[Route, ...] = ()
        self._members = members
        self._percent = 100
        self._complete = True
        self._untouched: UntouchedIn = lambda cluster, key: False
        self._parts: dict[ObjectKey, dict[ClusterName, WantedSlices]] = {}
        """By the object that asks for a route, and by consumer."""
        self._dirty: set[ObjectKey] = set()
        """Services whose slices changed somewhere."""
        self._flushing = False

    def follow(self, repo: RepoSnapshot, plan: Plan, untouched: UntouchedIn) -> None:
        """After each cycle: what is declared, where it was placed, and how the clusters are."""
        routes_now: tuple[Route, ...] = ()
        if repo.multicluster_services or any(True for _ in derived.imports(repo.manifests)):
            placed = {
                key: [share.cluster for share in binding.scheduled.shares] for key, binding in plan.bindings.items()
            }
            routes_now = routes.of(repo, placed)
        self._percent = repo.settings.spec.failover.max_unreachable_percent
        self._complete = not repo.unread
        self._untouched = untouched
        self.routes = routes_now
        names: dict[ClusterName, set[str]] = {}
        for route in routes_now:
            for name in route.providers:
                names.setdefault(name, set()).add(route.source.name)
        for name, station in self._stations().items():
            station.provide(frozenset(names.get(name, ())))
        self._all_anew()

    def changed(self, cluster: ClusterName, service: ObjectKey | None) -> None:
        """A cluster's own slices of a Service are others; None: what may be believed of all of them is."""
        self._dirty |= {service} if service is not None else {route.source for route in self.routes}
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def providers(self) -> dict[ClusterName, Provider]:
        """What may be believed of each cluster, and what it has."""
        states = exchange.believed({name: _state(member) for name, member in self._members().items()}, self._percent)
        stations = self._stations()
        return {name: Provider(state, stations[name].own) for name, state in states.items()}

    def seen(self) -> Seen:
        """The endpoints as they are now: of each provider its own, of each consumer what came from others."""
        endpoints: dict[tuple[ObjectKey, ClusterName], Endpoints] = {}
        providers, stations = self.providers(), self._stations()
        for route in self.routes:
            for name in route.providers & providers.keys():
                endpoints[route.source, name] = exchange.provided(providers[name], route.source)
            for name in route.consumers & stations.keys():
                endpoints[route.by, name] = stations[name].arrived(route.target)
        return endpoints

    def _flush(self) -> None:
        self._flushing = False
        dirty, self._dirty = self._dirty, set()
        providers = self.providers()
        touched: set[ClusterName] = set()
        for route in self.routes:
            if route.source in dirty:
                self._parts[route.by] = exchange.wanted(route, providers)
                touched |= route.consumers
        self._hand_out(touched)

    def _all_anew(self) -> None:
        providers = self.providers()
        self._parts = {route.by: exchange.wanted(route, providers) for route in self.routes}
        self._hand_out(self._stations().keys())

    def _hand_out(self, clusters: Collection[ClusterName]) -> None:
        targets = frozenset(route.target for route in self.routes)
        for name, station in self._stations().items():
            if name in clusters:
                parts = (part[name] for part in self._parts.values() if name in part)
                station.want(exchange.together(parts), self._left_alone(name, targets))

    def _left_alone(self, name: ClusterName, targets: frozenset[ObjectKey]) -> Untouched:
        complete, untouched = self._complete, self._untouched

        def left_alone(key: ObjectKey) -> bool:
            # While a file cannot be read, it may ask for what no other file asks for.
            return untouched(name, key) or not (complete or key in targets)

        return left_alone

    def _stations(self) -> dict[ClusterName, ClusterEndpoints]:
        return {name: member.station for name, member in self._members().items()}


def _state(member: Member) -> ReadState:
    """Until a cluster was asked nothing is known of it; lacking credentials is no fact about the cluster."""
    if member.facts.reach is Reach.READY:
        return ReadState.READ if member.station.fresh else ReadState.UNKNOWN
    return ReadState.FAILED if member.asked and member.looked.is_set() else ReadState.UNKNOWN
