"""Members of a pool with real Leases: they share, one dies, one is cut off, one comes back. A Lease counts 2 s here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitfed import errors
from gitfed.agent.pool.membership import Membership, Timing
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.leases.fence import Fence
from gitfed.edges.kube.leases.shared_leases import LeaseRecord, SharedLeases
from gitfed.model.agent_presence import Holding
from gitfed.model.base import ClusterName
from gitfed.model.keys import POOL
from gitfed.model.leader import Lead
from kubesim import cluster as sim
from kubesim.fleet import ClusterSpec, Fleet
from tests.daemon.one_member import until
from tests.docs.pages import ROOT
from tests.edges.kube.answering import connection

FOLDER = "/apis/coordination.k8s.io/v1/namespaces/gitfed-system/leases"
MANIFEST = Path("deploy/kubernetes/pool.yaml")
VERBS = {"GET": "list", "POST": "create", "PUT": "update", "DELETE": "delete"}
CLUSTERS = frozenset(f"c{number}" for number in range(6))


class Leases(SharedLeases):
    """What can be cut off from the API server."""

    cut = False
    lists = 0

    def _check(self) -> None:
        if self.cut:
            raise errors.ClusterUnreachable("cluster host: no route to it")

    async def list(self) -> dict[str, LeaseRecord]:
        self._check()
        self.lists += 1
        return await super().list()

    async def write(
        self, name: str, lead: Lead, before: LeaseRecord | None, annotations: Mapping[str, str] | None = None
    ) -> LeaseRecord | None:
        self._check()
        return await super().write(name, lead, before, annotations)

    async def delete(self, record: LeaseRecord) -> None:
        self._check()
        await super().delete(record)


@dataclass
class Kept:
    """What a member keeps, as the hub would see it."""

    cluster: ClusterName
    holding: Holding
    fence: Fence
    finish: asyncio.Event
    connected: bool = True
    failed: bool = False
    ended: bool = False

    async def end(self) -> None:
        await self.finish.wait()
        self.ended = True

    @property
    def writes(self) -> bool:
        return not self.ended and self.fence.left > 0


@dataclass
class Member:
    name: str
    leases: Leases
    sharing: Membership = field(init=False)
    kept: dict[ClusterName, Kept] = field(default_factory=dict)
    finish: asyncio.Event = field(default_factory=asyncio.Event)
    connected: bool = True
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.finish.set()
        self.sharing = Membership(self.leases, "east", self.name, self._hold, Timing(2))
        self.sharing.clusters = CLUSTERS

    def _hold(self, cluster: ClusterName, holding: Holding, fence: Fence) -> Kept:
        made = self.kept[cluster] = Kept(cluster, holding, fence, self.finish, self.connected)
        return made

    def die(self) -> None:
        """As kill -9: nothing is given back."""
        assert self.task is not None
        self.task.cancel()

    @property
    def writes(self) -> set[ClusterName]:
        return {name for name, one in self.kept.items() if one.writes}


@dataclass
class Pool:
    fleet: Fleet
    members: list[Member] = field(default_factory=list)
    twice: set[ClusterName] = field(default_factory=set)
    """What two members could write at a time, whenever it was looked."""

    def _session(self) -> Session:
        way = connection(self.fleet["m1"].url, headers={"Authorization": f"Bearer {sim.TOKEN}"})
        return Session("host", way)

    def begin(self, name: str, *, connected: bool = True) -> Member:
        leases = Leases(self._session(), namespace="gitfed-system", label=(POOL, "east"), seconds=1.0)
        made = Member(name, leases, connected=connected)
        made.task = asyncio.create_task(made.sharing.run())
        self.members.append(made)
        return made

    def look(self) -> dict[str, int]:
        seen: set[ClusterName] = set()
        for one in self.members:
            self.twice |= seen & one.writes
            seen |= one.writes
        return {one.name: len(one.writes) for one in self.members if one.writes}

    async def settles(self, **counts: int) -> None:
        def settled() -> bool:
            shared: set[ClusterName] = set().union(*(one.writes for one in self.members))
            return self.look() == counts and len(shared) == sum(counts.values())

        await until(settled)
        assert not self.twice

    async def close(self) -> None:
        for one in self.members:
            one.finish.set()
            if one.task is not None:
                one.task.cancel()
                await asyncio.gather(one.task, return_exceptions=True)
            await one.leases.close()

    async def names(self) -> list[str]:
        session = self._session()
        try:
            found: dict[str, Any] = await session.json("GET", FOLDER)
        finally:
            await session.close()
        return sorted(one["metadata"]["name"] for one in found["items"])


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    fleet = Fleet([ClusterSpec(name="m1", nodes=0)])
    await fleet.start()
    made = Pool(fleet)
    try:
        yield made
    finally:
        await made.close()
        await fleet.stop()


async def test_who_begins_together_shares_and_nothing_moves_afterwards(pool: Pool) -> None:
    pool.begin("a"), pool.begin("b"), pool.begin("c")
    await pool.settles(a=2, b=2, c=2)
    taken = [one.sharing.taken for one in pool.members]
    looks = [one.leases.lists for one in pool.members]
    await until(lambda: all(one.leases.lists > n + 10 for one, n in zip(pool.members, looks, strict=True)))
    assert [one.sharing.taken for one in pool.members] == taken
    assert sum(taken) == len(CLUSTERS)


async def test_who_comes_later_gets_a_share_and_who_goes_gives_its_back(pool: Pool) -> None:
    first = pool.begin("a")
    await pool.settles(a=6)
    pool.begin("b")
    await pool.settles(a=3, b=3)
    assert sum(one.ended for one in first.kept.values()) == 3
    assert first.task is not None
    first.task.cancel()
    await first.sharing.leave()
    assert not [name for name in await pool.names() if name.endswith(".member.a")]
    await pool.settles(b=6)


async def test_what_a_dead_member_held_is_taken_over_with_a_higher_number(pool: Pool) -> None:
    dead, other = pool.begin("a"), pool.begin("b")
    await pool.settles(a=3, b=3)
    lost = set(dead.writes)
    dead.die()
    await pool.settles(b=6)
    for name in lost:
        assert other.kept[name].holding.number > dead.kept[name].holding.number


async def test_who_cannot_renew_writes_nothing_before_another_one_does(pool: Pool) -> None:
    cut, other = pool.begin("a"), pool.begin("b")
    await pool.settles(a=3, b=3)
    cut.leases.cut = True
    await pool.settles(b=6)
    assert cut.sharing.error == "cluster host: no route to it"
    assert not any(one.ended for one in cut.kept.values()), "it looks and tells as long as it knows of nobody else"
    cut.leases.cut = False
    await until(lambda: all(one.ended for one in list(cut.kept.values())) or cut.writes)
    await pool.settles(a=3, b=3)
    assert len(other.writes) == 3


async def test_who_could_not_renew_for_a_while_writes_again_what_nobody_took(pool: Pool) -> None:
    alone = pool.begin("a")
    await pool.settles(a=6)
    alone.leases.cut = True
    await until(lambda: not alone.writes)
    with pytest.raises(errors.ClusterUnreachable) as caught:
        await alone.kept["c1"].fence.within(asyncio.sleep(0), cluster="c1")
    message = "cluster c1: not written: this member of the pool could not renew its Lease"
    assert (caught.value.message, caught.value.retry) == (message, True)
    alone.leases.cut = False
    await pool.settles(a=6)
    assert (alone.sharing.taken, [one.ended for one in alone.kept.values()]) == (6, [False] * 6)


async def test_nobody_takes_what_is_still_being_finished(pool: Pool) -> None:
    first = pool.begin("a")
    await pool.settles(a=6)
    first.finish.clear()
    second = pool.begin("b")
    await until(lambda: second.leases.lists > 20)
    assert not second.kept
    assert len(first.writes) == 6, "what is being given back is renewed meanwhile"
    first.finish.set()
    await pool.settles(a=3, b=3)


async def test_the_role_of_the_deployment_allows_what_members_ask_for_and_no_more(pool: Pool) -> None:
    role = next(one for one in yaml.safe_load_all((ROOT / MANIFEST).read_text()) if one["kind"] == "Role")
    allowed = next(set(rule["verbs"]) for rule in role["rules"] if rule["resources"] == ["leases"])
    dead, other = pool.begin("a"), pool.begin("b")
    await pool.settles(a=3, b=3)
    dead.die()
    await pool.settles(b=6)
    assert other.task is not None
    other.task.cancel()
    await other.sharing.leave()
    asked = {method for one in pool.members for _, method, _ in one.leases._session.tally}
    assert {VERBS[method] for method in asked} == allowed


async def test_a_cluster_that_leaves_the_pool_is_given_back(pool: Pool) -> None:
    alone = pool.begin("a")
    await pool.settles(a=6)
    alone.sharing.clusters = CLUSTERS - {"c1"}
    await pool.settles(a=5)
    assert alone.kept["c1"].ended


async def test_what_ended_by_itself_is_begun_anew(pool: Pool) -> None:
    alone = pool.begin("a")
    await pool.settles(a=6)
    before = alone.kept["c1"]
    before.failed = True
    await until(lambda: alone.kept["c1"] is not before)
    await pool.settles(a=6)


async def test_a_member_that_does_not_reach_the_hub_leaves_its_share_to_those_who_do(pool: Pool) -> None:
    astray = pool.begin("a", connected=False)
    await pool.settles(a=6)
    looks = astray.leases.lists
    await until(lambda: astray.leases.lists > looks + 15)
    assert len(astray.writes) == 6, "nobody else reaches the hub either"
    pool.begin("b")
    await pool.settles(b=6)
