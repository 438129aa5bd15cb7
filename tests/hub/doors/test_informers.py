"""Whoever keeps a copy of the fleet by list and watch has what the members have, whatever happened to them meanwhile.

`GITFED_INFORMER_STEPS` says how many writes and disturbances (default: about half a minute of them), and
`GITFED_INFORMER_SEED` which. A watch lasts a second here, five to ten minutes with client-go: so a minute is worth more
than an hour of such traffic.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitfed.hub.doors import watch
from gitfed.model.fleet import ClusterFacts, Reach
from kubesim.fleet import Fleet
from kubesim.server import watch as member_watch
from kubesim.status import ApiError
from tests.hub import stage
from tests.hub.doors import members
from tests.hub.doors.informers import Copy, Official, Reflector
from tests.hub.doors.javascript import JavaScript
from tests.hub.doors.members import ANYTHING, EVERYTHING, fleet_door
from tests.hub.stage import Recorded, Staged
from tests.support import needs, patience

STEPS = int(os.environ.get("GITFED_INFORMER_STEPS", "300"))
SEED = int(os.environ.get("GITFED_INFORMER_SEED", "1"))
CLUSTERS = ("m1", "m2", "m3")
SPACE = "shop"
WRITTEN_HERE = "written=here"
Reader = Reflector | Official | JavaScript


@dataclass
class Members:
    """The truth, and what happens to it."""

    staged: Staged
    fleet: Fleet
    random: random.Random
    shared_names: bool = True
    """Whether several clusters have objects of one name. If not, what a cluster has by itself (kube-root-ca.crt) does
    not count."""
    declared: set[str] = field(default_factory=lambda: set(CLUSTERS))
    away: set[str] = field(default_factory=set)
    happened: list[str] = field(default_factory=list)

    def copy(self) -> Copy:
        return {
            (name, one["metadata"]["name"]): one["metadata"]["resourceVersion"]
            for name in self.declared for one in self.fleet[name].api.list(
                "configmaps", SPACE, labels="" if self.shared_names else WRITTEN_HERE)
        }  # fmt: skip

    async def step(self) -> None:
        deeds = [self.write] * 12 + [self.cut, self.compact, self.go_away, self.come_back, self.leave, self.join]
        await self.random.choice(deeds)()

    async def write(self) -> None:
        cluster = self.random.choice(CLUSTERS)  # also one that is away: its API server alone is not
        api = self.fleet[cluster].api
        name = f"{'' if self.shared_names else f'{cluster}-'}c{self.random.randrange(8)}"
        try:
            if self.random.random() < 0.3:
                api.delete("configmaps", SPACE, name)
            else:
                api.patch("configmaps", SPACE, name, {"data": {"x": str(self.random.random())}})
        except ApiError:
            label, _, value = WRITTEN_HERE.partition("=")
            api.create("configmaps", {"metadata": {"name": name, "namespace": SPACE, "labels": {label: value}}})

    async def cut(self) -> None:
        self.fleet[self._any("cut")].faults.drop_watches()

    async def compact(self) -> None:
        self.fleet[self._any("compacted")].cluster.world.store.forget()

    async def go_away(self) -> None:
        if len(self.away) < 2:
            name = self._any("away")
            await self.fleet[name].faults.down()
            self.away.add(name)
            if self.random.random() < 0.7:  # else the daemon did not notice
                self._noticed(name, Reach.NOT_READY)

    async def come_back(self) -> None:
        for name in sorted(self.away):
            self.happened.append(f"{name} back")
            await self.fleet[name].faults.up()
            self._noticed(name, Reach.READY)
        self.away.clear()

    async def leave(self) -> None:
        if len(self.declared) > 1:
            name = self.random.choice(sorted(self.declared))
            self.happened.append(f"{name} left")
            self._declare(self.declared - {name})

    async def join(self) -> None:
        self.happened.append("all joined")
        self._declare(set(CLUSTERS))

    def _any(self, what: str) -> str:
        name = self.random.choice(CLUSTERS)
        self.happened.append(f"{name} {what}")
        return name

    def _declare(self, names: set[str]) -> None:
        self.declared = names
        members.commit(self.staged, stage.snapshot(ANYTHING, *(stage.cluster(name) for name in sorted(names))))

    def _noticed(self, name: str, reach: Reach) -> None:
        recorded = self.staged.hub.running.recorded
        assert isinstance(recorded, Recorded)
        recorded.facts = {**recorded.facts, name: ClusterFacts(name, reach=reach)}


@contextlib.asynccontextmanager
async def world(folder: Path, seed: int) -> AsyncIterator[Members]:
    async with members.embedded(folder, CLUSTERS, ANYTHING) as (staged, fleet):
        for name in CLUSTERS:
            members.allow(fleet, name, "ann", EVERYTHING)
            fleet[name].api.create("namespaces", {"metadata": {"name": SPACE}})
        yield Members(staged, fleet, random.Random(seed))


async def settled(truth: Members, readers: Mapping[str, Reader]) -> None:
    await truth.come_back()
    end = asyncio.get_running_loop().time() + patience.SECONDS
    while True:
        expected = truth.copy()
        different = {name: one.copy for name, one in readers.items() if one.copy != expected}
        if not different:
            return
        assert asyncio.get_running_loop().time() < end, f"{truth.happened}: {expected} is not {different}"
        await asyncio.sleep(0.02)


async def troubled(truth: Members, readers: Mapping[str, Reader], steps: int) -> None:
    for step in range(steps):
        await truth.step()
        await asyncio.sleep(truth.random.choice((0, 0, 0.01, 0.1)))
        if step % 25 == 24:
            await settled(truth, readers)
            truth.happened.clear()
    await settled(truth, readers)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a minute elsewhere."""
    monkeypatch.setattr(watch, "_LOOK", 0.05)
    monkeypatch.setattr(member_watch, "_BOOKMARK_EVERY", 0.3)
    monkeypatch.setattr(member_watch, "_BOOKMARK_BEFORE_END", 0.3)


@pytest.mark.usefixtures("quick")
async def test_copies_of_the_fleet_stay_equal_to_the_members(tmp_path: Path) -> None:
    async with world(tmp_path, SEED) as truth:
        url = f"{truth.staged.url}{fleet_door(f'/api/v1/namespaces/{SPACE}/configmaps')}"
        paging, streaming = Reflector(url, "ann", streams=False), Reflector(url, "ann", streams=True)
        official = Official(truth.staged.url + fleet_door(""), "ann", SPACE)
        tasks = [asyncio.create_task(one.run()) for one in (paging, streaming)]
        await asyncio.to_thread(official.start)
        readers = {"paging": paging, "streaming": streaming, "official": official}
        try:
            await troubled(truth, readers, STEPS)
        finally:
            official.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert paging.wrong == streaming.wrong == []
        for reader in (paging, streaming):
            assert reader.lists > 1
            assert reader.watches > reader.lists
            assert reader.events > STEPS / 4
            assert reader.bookmarks > 0


@needs.program("node", needs.JS_CLIENT)
@pytest.mark.usefixtures("quick")
async def test_the_copy_of_a_javascript_client_stays_equal_to_the_members(tmp_path: Path) -> None:
    async with world(tmp_path, SEED) as truth:
        truth.shared_names = False
        reader = JavaScript(truth.staged.url + fleet_door(""), "ann", SPACE, WRITTEN_HERE)
        await reader.start()
        try:
            await troubled(truth, {"javascript": reader}, STEPS // 2)
        finally:
            await reader.stop()
        assert reader.said["wrong"] == []
        assert reader.said["lists"] > 1
        assert reader.said["watches"] > reader.said["lists"]
        assert reader.said["events"] > STEPS / 8
