"""What one member believes of its cluster, and of the room in it, while the cluster comes and goes."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.fleet.member import Member
from gitfed.edges.kube.connection.session import Session
from gitfed.errors import CredentialsError
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterCondition, ClusterFacts, NodeFacts, Reach
from gitfed.placement.recorded_facts import Thresholds
from kubesim import cluster as sim
from kubesim.fleet import ClusterSpec, Fleet
from tests.daemon.one_member import NOW, QUICK, serving, until
from tests.edges.kube.answering import connection

PATIENT = Timing(probe=0.02, thresholds=Thresholds(failure=3600.0, success=3600.0))


def of(condition: str, member: Member) -> ClusterCondition | None:
    return next((one for one in member.facts.conditions if one.type == condition), None)


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet([ClusterSpec(name="m1", nodes=2, cpu="4")]) as fleet:
        yield fleet


def opening(fleet: Fleet) -> Callable[[Cluster], Session]:
    address = fleet["m1"].url

    def open_session(cluster: Cluster) -> Session:
        return Session("m1", connection(address, headers={"Authorization": f"Bearer {sim.TOKEN}"}))

    return open_session


async def test_room_is_known_with_the_first_look_and_follows_the_pods(fleet: Fleet) -> None:
    async with serving(opening(fleet), timing=QUICK, capacity=True) as member:
        assert member.facts.reach is Reach.READY
        assert (member.facts.resource_summary or {})["allocatable"]["cpu"] == "8"
        assert [node.name for node in member.facts.nodes] == ["m1-node-1", "m1-node-2"]
        assert of("CapacityKnown", member) == ClusterCondition("CapacityKnown", "True", "Read", "", NOW)
        fleet["m1"].api.create("pods", pod("a", "3"))
        await until(lambda: used(member) == "3")


def pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]},
    }


def used(member: Member) -> str:
    return str((member.facts.resource_summary or {}).get("allocated", {}).get("cpu", "0"))


async def test_only_a_change_of_room_that_would_be_written_wakes_the_daemon(fleet: Fleet) -> None:
    woken: list[str] = []
    async with serving(opening(fleet), timing=QUICK, capacity=True, woken=woken) as member:
        await member.ready.wait()
        woken.clear()
        fleet["m1"].api.create("pods", pod("small", "10m"))
        await until(lambda: used(member) == "10m")
        assert woken == []
        fleet["m1"].api.create("pods", pod("large", "2"))
        await until(lambda: used(member) == "2010m")
        assert set(woken) == {"m1"}


def state(member: Member) -> tuple[bool, bool, bool]:
    """Is the room being read; is it known; do the facts say so?"""
    known = member.facts.resource_summary is not None
    return member.measuring, known, of("CapacityKnown", member) is not None


async def test_room_is_read_once_it_is_wanted_and_forgotten_when_it_is_not(fleet: Fleet) -> None:
    async with serving(opening(fleet), timing=QUICK) as member:
        assert state(member) == (False, False, False)
        member.want_capacity(True)
        assert state(member) == (True, False, False)
        await member.measured()
        assert state(member) == (False, True, True)
        member.want_capacity(False)
        assert state(member) == (False, False, False)
        member.want_capacity(True)
        await until(lambda: member.facts.resource_summary is not None)


async def test_a_cluster_that_goes_away_keeps_its_facts_and_comes_back(fleet: Fleet) -> None:
    async with serving(opening(fleet), timing=QUICK, capacity=True) as member:
        before, port = member.facts, int(fleet["m1"].url.rpartition(":")[2])
        await fleet["m1"].cluster.stop()
        await until(lambda: member.facts.reach is Reach.UNKNOWN)
        assert member.facts.nodes == before.nodes
        assert member.facts.resource_summary == before.resource_summary
        assert (member.facts.kubernetes_version, member.facts.apis) == (before.kubernetes_version, before.apis)
        await fleet["m1"].cluster.start(port)
        await until(lambda: member.facts.reach is Reach.READY)


async def test_a_failure_that_does_not_last_is_not_believed(fleet: Fleet) -> None:
    async with serving(opening(fleet), timing=PATIENT) as member:
        await member.ready.wait()
        await fleet["m1"].cluster.stop()
        await until(lambda: member._vitals.in_doubt)
        assert member.facts.reach is Reach.READY


KNOWN = ClusterFacts(
    "m1",
    kubernetes_version="v1.2.3",
    conditions=(ClusterCondition("Ready", "True", "ClusterReady", "", NOW),),
    resource_summary={"allocatable": {"cpu": "4"}},
    nodes=(NodeFacts("n1", {"cpu": "4"}, {}, {}),),
)


async def test_what_an_earlier_process_knew_of_a_cluster_that_does_not_answer_stays() -> None:
    def nobody(cluster: Cluster) -> Session:
        return Session("m1", connection("http://127.0.0.1:1"))

    async with serving(nobody, timing=PATIENT, capacity=True, remembered_facts=KNOWN) as member:
        assert member.facts.reach is Reach.UNKNOWN
        assert member.facts.nodes == KNOWN.nodes
        assert member.facts.resource_summary == KNOWN.resource_summary
        assert member.facts.kubernetes_version == "v1.2.3"
        ready = of("Ready", member)
        assert ready is not None
        assert (ready.status, ready.reason, ready.last_transition) == ("False", "ClusterNotReachable", NOW)


async def test_that_there_are_no_credentials_is_no_fact_about_the_cluster() -> None:
    def refused(cluster: Cluster) -> Session:
        raise CredentialsError("cluster m1: no context m1", cluster="m1")

    async with serving(refused, timing=QUICK, remembered_facts=KNOWN) as member:
        assert not member.asked
        assert member.facts.conditions == KNOWN.conditions
        assert member.live().error == "no context m1"


async def test_that_a_cluster_cannot_be_used_is_said_once_and_so_is_that_it_can_again(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gitfed.member")
    tries = itertools.count(1)

    def at_last(cluster: Cluster) -> Session:
        if next(tries) < 4:
            raise CredentialsError("cluster m1: no context m1", cluster="m1")
        return opening(fleet)(cluster)

    async with serving(at_last, timing=QUICK) as member:
        while not member.ready.is_set():
            await member.look_anew()
            await asyncio.sleep(0.01)
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("WARNING", "cluster cannot be used"),
        ("INFO", "cluster can be used again"),
    ]
