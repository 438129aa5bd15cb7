"""A cluster that is made anew at the same address, restored from a backup, or another one: noticed before a write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from gitfed.daemon.fleet.member import Member
from gitfed.edges.kube import identity
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Kind, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import InventoryEntry
from gitfed.model.plan import Action, Change
from kubesim import cluster as sim
from kubesim.fleet import ClusterSpec, Fleet
from tests.daemon.one_member import QUICK, serving, until
from tests.edges.kube.answering import connection

KEY = ObjectKey("", "ConfigMap", "default", "ours")
MAPS = "/api/v1/namespaces/default/configmaps"


class Address:
    """One address, and the clusters that answer there one after the other."""

    def __init__(self) -> None:
        self.port = 0
        self.now = Fleet([])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def becomes(self, name: str = "m1") -> None:
        await self.now.stop()
        self.now = Fleet([ClusterSpec(name=name, nodes=1, controllers=False, port=self.port)])
        await self.now.start()
        self.port = int(self.now[name].url.rpartition(":")[2])

    def open(self, cluster: Cluster) -> Session:
        return Session("m1", connection(self.url, headers={"Authorization": f"Bearer {sim.TOKEN}"}))


@pytest.fixture
async def address() -> AsyncIterator[Address]:
    found = Address()
    await found.becomes()
    yield found
    await found.now.stop()


async def uid(address: Address) -> str:
    session = address.open(None)  # type: ignore[arg-type]
    try:
        found = await identity.read(session)
        assert found is not None
        return found.uid
    finally:
        await session.close()


async def own(member: Member) -> None:
    """An entry in the inventory, as of an object that was written."""
    await until(member.ready.is_set)
    assert member.view.inventory is not None
    await member.view.inventory.record(add=[InventoryEntry(KEY, "u1", "b", None)])
    member.view.want(frozenset({Kind("", "ConfigMap")}))


async def test_a_cluster_made_anew_is_noticed_and_nothing_of_the_old_one_is_believed(address: Address) -> None:
    async with serving(address.open, timing=QUICK) as member:
        await own(member)
        before = member.id
        await address.becomes()
        await until(lambda: member.ready.is_set() and member.id not in ("", before))
        assert member.id == await uid(address)
        assert (dict(member.view.entries()), member.live().error) == ({}, "")
        assert member.view.get(KEY) is None
        assert member.view.inventory is not None
        await member.view.inventory.record(add=[InventoryEntry(KEY, "u2", "b", None)])
        assert member.view.entries()[KEY].uid == "u2"


async def test_a_cluster_made_anew_while_nobody_looked_is_no_damaged_inventory(address: Address) -> None:
    async with serving(address.open, timing=QUICK, expected=lambda: 50, recorded_id=lambda: "another") as member:
        await until(member.ready.is_set)
    async with serving(address.open, timing=QUICK, expected=lambda: 50, recorded_id=lambda: member.id) as same:
        await until(lambda: "50" in same.live().error)
        assert not same.ready.is_set()


async def test_another_cluster_of_the_fleet_at_the_address_is_not_written(address: Address) -> None:
    options = {"recorded_id": lambda: "another", "elsewhere": lambda uid: "m2"}
    async with serving(address.open, timing=QUICK, **options) as member:
        await until(lambda: "answers" in member.live().error)
        assert member.live().error == "the cluster m2 answers at its address"
        assert not member.ready.is_set()


async def test_a_cluster_of_another_repository_at_the_address_is_not_written(address: Address) -> None:
    async with serving(address.open, timing=QUICK) as member:
        await own(member)
    await address.becomes()
    async with serving(address.open, timing=QUICK, federation="acme", repository_id=lambda: "theirs") as theirs:
        await own(theirs)
    async with serving(address.open, timing=QUICK, recorded_id=lambda: member.id) as ours:
        await until(lambda: "belongs" in ours.live().error)
        assert ours.live().error == (
            "its inventory belongs to repository theirs (gitfed apply --adopt m1 takes it over)"
        )
        assert not ours.ready.is_set()


async def test_before_a_write_it_is_asked_whether_it_is_still_that_cluster(address: Address) -> None:
    """The next probe is far away: the write itself has to ask."""
    async with serving(address.open, timing=replace(QUICK, probe=3600.0)) as member:
        await own(member)
        worker = member.worker
        assert worker is not None
        await address.becomes()
        member._confirmed_at = 0.0
        worker.submit([Change("m1", KEY, "v1", Action.DELETE)], ())
        await until(lambda: member.worker is not worker and member.ready.is_set())
        assert member.id == await uid(address)


async def test_a_store_that_goes_back_in_time_is_read_anew(address: Address) -> None:
    async with serving(address.open, timing=QUICK) as member:
        await own(member)
        known = member._same._identity
        assert known is not None
        member._same._identity = identity.ClusterIdentity(known.uid, str(int(known.version) + 100_000))
        before = member.view.observer
        await until(lambda: member.view.observer not in (None, before) and member.ready.is_set())
        assert member.view.entries()[KEY].uid == "u1"
