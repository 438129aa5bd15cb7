"""The endpoints of a cluster that an agent keeps: what it told of them, and what it is told to bring there.

The agent has a station of its own, which does the work (`daemon.services.station`); this is its other end. While the
agent is away its cluster keeps what it has of others, and others keep what they have of it until it counts as failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from gitfed import errors
from gitfed.agent_protocol import values
from gitfed.agent_protocol.replica import Told
from gitfed.agent_protocol.values import Sharing
from gitfed.daemon.fleet.pulled.reports import EndpointReports
from gitfed.daemon.services.exchange import Untouched
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.services import slices
from gitfed.services.exchange import NOTHING, Endpoints, WantedSlices
from gitfed.services.slices import ServiceSlice

log = logging.getLogger("gitfed.services")

_NONE = Endpoints("", 0, 0)


class PulledStation:
    """`poke` is called when there is something to tell the agent; `changed` hears of Services whose own slices there
    are other than before."""

    def __init__(
        self,
        cluster: ClusterName,
        told: Told,
        reports: EndpointReports,
        poke: Callable[[], None],
        changed: Callable[[ClusterName, ObjectKey | None], None],
    ) -> None:
        self._cluster = cluster
        self._told = told
        self._reports = reports
        self._poke = poke
        self._changed = changed
        self._names: frozenset[str] = frozenset()
        self._goal = NOTHING
        self._untouched: Untouched = lambda key: False
        self._arriving: dict[str, ServiceSlice] = {}
        self._too_large: dict[str, ObjectKey] = {}
        """Slices of which no agent can be told, and their Services."""
        self._own: dict[ObjectKey, tuple[ServiceSlice, ...]] = {}
        self._targets: frozenset[ObjectKey] = frozenset()
        """Services to which slices of others came, as far as is told."""
        self._was_fresh = False

    # -- what is believed ---------------------------------------------------------------------------------------

    @property
    def own(self) -> Mapping[ObjectKey, tuple[ServiceSlice, ...]]:
        return self._own

    @property
    def fresh(self) -> bool:
        shared = self._reports.shared
        return shared.fresh and frozenset(shared.names) == self._names

    def arrived(self, target: ObjectKey) -> Endpoints:
        arrived = self._reports.arrived.get(target, _NONE)
        if target in self._too_large.values():
            return Endpoints(
                "", arrived.count, arrived.ready, arrived.left + 1, "a slice is larger than an agent is sent"
            )
        return arrived

    # -- what the agent says ------------------------------------------------------------------------------------

    def heard(self, services: Collection[ObjectKey]) -> None:
        """The reports have news of endpoints: `services` have other slices than before."""
        if self._targets != self._reports.arrived.keys():
            self._targets = frozenset(self._reports.arrived)
            self._say()  # it has slices of Services of which nothing was decided
        self._believe(services)
        if self._was_fresh is not self.fresh:
            self._was_fresh = self.fresh
            self._changed(self._cluster, None)
        else:
            for service in services:
                self._changed(self._cluster, service)

    def _believe(self, services: Iterable[ObjectKey]) -> None:
        for service in services:
            # What was dispatched goes no further, and others were not asked for.
            collected = tuple(
                own_slice for own_slice in self._reports.slices_of(service) if slices.is_collected(own_slice)
            )
            if collected and service.name in self._names:
                self._own[service] = collected
            else:
                self._own.pop(service, None)

    # -- what it is told ----------------------------------------------------------------------------------------

    def provide(self, names: frozenset[str]) -> None:
        if names != self._names:
            self._names = names
            self._was_fresh = self.fresh
            self._believe({*self._own, *self._reports})
            self._say()

    def want(self, goal: WantedSlices, untouched: Untouched) -> None:
        self._goal, self._untouched = goal, untouched
        arriving = {_key_of(wanted): wanted for wanted in goal.slices.values()}
        self._too_large.clear()
        news = False
        for key in self._arriving.keys() - arriving.keys():
            self._told.drop(key)
            news = True
        for key, wanted in arriving.items():
            if self._arriving.get(key) == wanted:
                continue
            try:
                news |= self._told.put(key, values.SLICES.json(wanted))
            except errors.LinkError as error:
                # What is there of it goes: an endpoint that may be gone is worse than one too few.
                self._told.drop(key)
                self._too_large[key] = slices.target_of(wanted)
                log.warning("endpoints are not passed on", extra={"cluster": self._cluster, "error": error.message})
        self._arriving = {key: wanted for key, wanted in arriving.items() if key not in self._too_large}
        if not self._say() and news:
            self._poke()

    def touch(self, key: ObjectKey) -> None:
        """The agent sees it itself."""

    def _say(self) -> bool:
        """Whether that is news."""
        targets = {slices.target_of(wanted) for wanted in self._goal.slices.values()}
        targets |= {key for key, _ in self._goal.kept} | self._targets
        decided = tuple(sorted(key for key in targets if not self._untouched(key)))
        sharing = Sharing(tuple(sorted(self._names)), tuple(sorted(self._goal.kept)), decided)
        news = self._told.put(values.SHARING, values.SHARINGS.json(sharing))
        if news:
            self._poke()
        return news


def _key_of(wanted: ServiceSlice) -> str:
    return values.of(values.ARRIVING, slices.key_of(wanted))
