"""Two clusters of the fleet that are the same one: noticed whoever says so first, and only while they are."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from gitfed.agent_protocol import values
from gitfed.agent_protocol.replica import ValueChange
from gitfed.daemon import results
from gitfed.daemon.fleet.cluster_ids import ClusterIds
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.daemon.fleet.members import MemberOptions, RecordedFleet
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterLive
from tests.daemon.one_member import NOW
from tests.hub.stage import cluster, snapshot

NAMES = ("m1", "m2", "m3")


class Stage:
    def __init__(self, recorded: Collection[ClusterName] = ()) -> None:
        self.recorded = recorded
        self.fleet = Fleet(
            lambda declared: pytest.fail("nobody reaches it"),
            MemberOptions(now=lambda: NOW),
            int,
            lambda event, value: None,
        )
        self.declare(*NAMES)

    def declare(self, *names: ClusterName) -> None:
        self.fleet.match(
            snapshot(*(cluster(name).replace("Push", "Pull") for name in names)),
            RecordedFleet(
                repository_id=lambda: "r", clusters_with_id=lambda uid: self.recorded if uid == "a" else ()
            ),
            claimed=True,
        )  # fmt: skip

    def says(self, name: ClusterName, uid: str) -> str:
        """Why it cannot be used then, as far as that is known; "" when it can."""
        member = self.fleet.members[name]
        assert isinstance(member, PulledMember)
        state = values.AgentState(ClusterLive(name, inventory_read=True), id=uid, asked=True, looked=True, owner="")
        member.taken(ValueChange({values.STATE: values.STATES.json(state)}, frozenset()))
        error = member.live().error
        return "" if error == "not read yet" else error


async def test_of_two_agents_of_one_cluster_the_second_is_refused():
    stage = Stage()
    assert [stage.says("m1", "a"), stage.says("m2", "b")] == ["", ""]
    assert stage.says("m3", "a") == "the cluster m1 answers its agent"
    assert stage.says("m2", "a") == "the cluster m1 answers its agent"


async def test_a_cluster_that_is_another_one_by_now_is_in_nobodys_way():
    stage = Stage()
    assert [stage.says("m1", "a"), stage.says("m1", "b")] == ["", ""]
    assert stage.says("m2", "a") == ""
    assert stage.says("m1", "a") == "the cluster m2 answers its agent"


async def test_a_cluster_that_left_the_fleet_is_in_nobodys_way():
    stage = Stage()
    assert stage.says("m1", "a") == ""
    stage.declare("m2", "m3")
    assert stage.says("m2", "a") == ""
    stage.declare(*NAMES)
    assert stage.says("m1", "a") == "the cluster m2 answers its agent"


async def test_an_id_that_is_on_record_of_another_cluster_is_refused_before_that_one_came():
    stage = Stage(recorded=("m2", "gone"))
    assert stage.says("m1", "a") == "the cluster m2 answers its agent"
    stage = Stage(recorded=("gone",))
    assert stage.says("m1", "a") == "", "what is no member answers nobody"


async def test_a_report_asks_no_cluster_that_said_something_else():
    asked: list[ClusterName] = []

    def id_of(name: ClusterName) -> str:
        asked.append(name)
        return f"uid-{name}"

    ids = ClusterIds(id_of)
    for number in range(100):
        ids.says(f"c{number}", f"uid-c{number}")
    assert ids.others("c7", "uid-c7", ()) == set()
    assert asked == ["c7"]


def test_clusters_are_found_by_the_id_on_record():
    found = results.by_id({"m1": {"id": "a"}, "m2": {"id": "b"}, "m3": {"id": "a"}, "m4": {"outcome": "waiting"}})
    assert found == {"a": ["m1", "m3"], "b": ["m2"]}
