"""What a hub knows and says of the endpoints in a cluster that an agent keeps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gitfed.agent_protocol import frames, replica, values
from gitfed.agent_protocol.values import Shared, Sharing
from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.daemon.fleet.pulled.station import PulledStation
from gitfed.errors import LinkError
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.services import slices
from gitfed.services.exchange import Endpoints, WantedSlices
from gitfed.services.slices import ServiceSlice
from tests.services.stage import WEB, addresses, slice_of

API = ObjectKey("", "Service", "shop", "api")


@dataclass
class Stage:
    """A station, the reports of its agent, and the agent's copy of what it is told."""

    told: replica.Told = field(default_factory=replica.Told)
    reports: Reports = field(default_factory=lambda: Reports("m1"))
    heard: replica.Heard = field(default_factory=replica.Heard)
    changed: list[ObjectKey | None] = field(default_factory=list)
    pokes: int = 0

    def __post_init__(self) -> None:
        self.told.connect(self.heard.connect())
        self.station = PulledStation("m1", self.told, self.reports.endpoints, self._poke, self._changed)

    def _poke(self) -> None:
        self.pokes += 1

    def _changed(self, cluster: ClusterName, service: ObjectKey | None) -> None:
        self.changed.append(service)

    def says(self, *gone: str, **said: Any) -> list[ObjectKey | None]:
        """The agent says this; what is told of it. Slices by name, `shared` and `arrived` as they are."""
        put = {
            "shared": lambda value: {values.SHARED: values.SHAREDS.json(value)},
            "arrived": lambda value: {
                values.of(values.ARRIVED, key): values.ARRIVALS.json(one) for key, one in value.items()
            },
        }
        found: dict[str, Any] = {}
        for name, value in said.items():
            found |= put[name](value) if name in put else {own(name): values.SLICES.json(value)}
        self.changed.clear()
        news = self.reports.take(replica.ValueChange(found, frozenset(map(own, gone))))
        assert news.endpoints
        self.station.heard(news.services)
        return self.changed

    def hears(self) -> tuple[Sharing, list[str]]:
        """What the agent has now: what is to be done, and the slices that should be there."""
        for put in self.told.next():
            decoded = frames.decode(frames.encode(put))
            assert isinstance(decoded, frames.Put)
            self.heard.take(decoded)
            self.told.acknowledged(put.n)
        arriving = [value for name, value in self.heard.values.items() if name.startswith(values.ARRIVING)]
        sharing = values.SHARINGS.read(self.heard.values[values.SHARING])
        return sharing, sorted(one.name for one in sharing.goal(arriving).slices.values())


def own(name: str) -> str:
    return values.of(values.OWN_SLICE, slices.key_of(slice_of(name)))


def goal(*found: ServiceSlice, kept: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()) -> WantedSlices:
    return WantedSlices({(one.namespace, one.name): one for one in found}, kept)


def test_only_slices_that_were_asked_for_and_are_the_clusters_own_are_believed() -> None:
    stage = Stage()
    stage.station.provide(frozenset({"web"}))
    assert stage.says(a=slice_of("a", "10.0.0.1"), b=replace(slice_of("b"), provider="m2")) == [WEB]
    assert stage.says(c=slice_of("c", service="api")) == [API]
    assert {key: [one.name for one in found] for key, found in stage.station.own.items()} == {WEB: ["a"]}
    assert stage.says("a") == [WEB]
    assert not stage.station.own


def test_what_is_known_counts_as_fresh_for_the_names_that_were_asked_for() -> None:
    stage = Stage()
    stage.station.provide(frozenset({"web"}))
    assert not stage.station.fresh
    assert stage.says(shared=Shared(("web",), fresh=True)) == [None]
    assert stage.station.fresh
    stage.says(a=slice_of("a", service="api"))
    stage.station.provide(frozenset({"web", "api"}))
    assert not stage.station.fresh, "what it has of api was not asked for yet"
    assert list(stage.station.own) == [API]
    assert stage.says(shared=Shared(("api", "web"), fresh=True)) == [None]
    assert stage.says(shared=Shared(("api", "web"))) == [None]
    assert not stage.station.fresh


def test_the_agent_is_told_what_should_be_there_and_of_what_it_was_decided() -> None:
    stage = Stage()
    stage.station.provide(frozenset({"web"}))
    stage.station.want(goal(slice_of("m2-a"), kept=frozenset({(API, "m3")})), lambda key: False)
    assert stage.hears() == (Sharing(("web",), ((API, "m3"),), (API, WEB)), ["m2-a"])
    before = stage.pokes
    stage.station.want(goal(slice_of("m2-a", "10.0.0.9"), kept=frozenset({(API, "m3")})), lambda key: False)
    assert stage.pokes == before + 1, "endpoints that moved are told though no more slices come"
    stage.station.want(goal(), lambda key: False)
    assert stage.hears() == (Sharing(("web",)), [])


def test_what_an_earlier_process_left_goes_once_it_was_decided_of() -> None:
    """An agent changes nothing of a Service that the hub does not name: it may be one of a file that cannot be read."""
    stage = Stage()
    left_alone = {API}
    stage.station.want(goal(), lambda key: key in left_alone)
    assert stage.hears()[0].decided == ()
    stage.says(arrived={WEB: Endpoints("", 2, 1), API: Endpoints("", 1, 1)})
    assert stage.hears()[0].decided == (WEB,)
    assert stage.station.arrived(WEB) == Endpoints("", 2, 1)
    left_alone.clear()
    stage.station.want(goal(), lambda key: key in left_alone)
    assert stage.hears()[0].decided == (API, WEB)


def test_a_slice_that_no_agent_can_be_told_of_is_left() -> None:
    stage = Stage()
    large = replace(slice_of("m2-a"), endpoints=addresses("x" * frames.LARGEST))
    stage.station.want(goal(slice_of("m2-a"), slice_of("m2-b")), lambda key: False)
    stage.station.want(goal(large, slice_of("m2-b")), lambda key: False)
    assert stage.hears()[1] == ["m2-b"]
    assert stage.station.arrived(WEB) == Endpoints("", 0, 0, 1, "a slice is larger than an agent is sent")
    stage.station.want(goal(slice_of("m2-a"), slice_of("m2-b")), lambda key: False)
    assert stage.hears()[1] == ["m2-a", "m2-b"]
    assert stage.station.arrived(WEB) == Endpoints("", 0, 0)


@pytest.mark.parametrize("said", [{values.SHARED: 1}, {own("a"): {"name": 1}}, {values.OWN_SLICE: {}}])
def test_what_has_not_the_form_of_endpoints_ends_the_connection(said: dict[str, Any]) -> None:
    with pytest.raises(LinkError):
        Reports("m1").take(replica.ValueChange(said, frozenset()))
