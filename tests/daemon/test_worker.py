"""When a worker writes what: entries before objects, stage by stage, and what nobody waits for last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager

from gitfed import errors
from gitfed.daemon.fleet.worker import Worker, WorkerCallbacks
from gitfed.model.base import BindingId, ClusterName, Digest, ObjectKey, Origin
from gitfed.model.fleet import ApplyResult, InventoryEntry
from gitfed.model.plan import Action, Change, RenderedManifest, Turn, Write
from gitfed.planning.ordering import order
from tests.support import patience


def change(name: str, *, wave: int = 0) -> Change:
    key = ObjectKey("", "Namespace" if wave == order.NO_WAVE else "ConfigMap", "", name)
    rendered = RenderedManifest(key, BindingId("b"), {}, Digest("d"), ("m1",), None, Origin("a.yaml"))
    return Change("m1", key, "v1", Action.CREATE, write=Write(rendered=rendered), turn=Turn(wave=wave))


class Cluster:
    """An inventory and an API server that write down in which order they are asked, and answer when they may."""

    def __init__(self) -> None:
        self.story: list[str] = []
        self.entries: dict[ObjectKey, InventoryEntry] = {}
        self.rest = asyncio.Event()
        """Set: entries that are not of the first stage are stored."""
        self.rest.set()
        self.answers = asyncio.Event()
        self.answers.set()
        self.worker: Worker | None = None
        self.replaced = False
        """A newer leader writes here."""

    def check_ours(self) -> None:
        if self.replaced:
            raise errors.NotOwned("cluster m1: another gitfed leads there")

    async def record(
        self, add: Iterable[InventoryEntry] = (), remove: Iterable[ObjectKey] = (), *, first: Collection[ObjectKey] = ()
    ) -> None:
        added = list(add)
        for part in ([one for one in added if one.key in first], [one for one in added if one.key not in first]):
            if part and part[0].key not in first:
                await self.rest.wait()
            for one in part:
                self.story.append(f"{'uid' if one.uid else 'entry'} of {one.key.name}")
                self.entries[one.key] = one
                assert self.worker is not None
                self.worker.nudge(one.key)
        for key in remove:
            self.entries.pop(key, None)

    async def carry_out(self, change: Change) -> ApplyResult:
        self.story.append(f"{change.key.name} begins")
        await asyncio.sleep(0)
        await self.answers.wait()
        self.story.append(change.key.name)
        return ApplyResult("m1", change.key, "created", details={"uid": "u", "resourceVersion": "1"})

    async def nothing(self, key: ObjectKey) -> None:
        return None

    async def until(self, *said: str) -> None:
        async with asyncio.timeout(patience.SECONDS):
            while not set(said) <= set(self.story):  # noqa: ASYNC110
                await asyncio.sleep(0.001)


@asynccontextmanager
async def at_work(
    cluster: Cluster, changes: Iterable[Change], *, concurrency: int = 16, rush: set[ClusterName] | None = None
) -> AsyncIterator[Worker]:
    finished: dict[ObjectKey, ApplyResult] = {}
    known: Mapping[ObjectKey, None] = {}
    callbacks = WorkerCallbacks(
        cluster.carry_out, known.get, cluster.nothing, lambda change, result: finished.update({change.key: result})
    )
    worker = Worker("m1", cluster, callbacks, concurrency=concurrency, rush=rush)
    cluster.worker = worker
    running = asyncio.create_task(worker.run())
    worker.submit(changes, ())
    try:
        yield worker
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_nothing_is_made_before_its_entry_nor_a_later_stage_before_the_first() -> None:
    cluster = Cluster()
    cluster.rest.clear()
    async with at_work(cluster, [change("web"), change("shop", wave=order.NO_WAVE)]):
        await cluster.until("shop")
        assert cluster.story == ["entry of shop", "shop begins", "shop"]
        cluster.rest.set()
        await cluster.until("web")
    assert cluster.story[3:6] == ["entry of web", "web begins", "web"]


async def test_entries_that_were_there_already_make_nobody_wait() -> None:
    cluster = Cluster()
    one = change("web")
    cluster.entries[one.key] = InventoryEntry(one.key, "u", BindingId("b"))
    async with at_work(cluster, [one]):
        await cluster.until("web")
    assert cluster.story == ["web begins", "web"]


async def test_uids_are_written_down_when_everything_is_made() -> None:
    cluster = Cluster()
    async with at_work(cluster, [change("a"), change("b"), change("c")], concurrency=1):
        await cluster.until("uid of a", "uid of b", "uid of c")
    made = [said for said in cluster.story if " " not in said]
    assert made == ["a", "b", "c"]
    assert cluster.story.index("uid of a") > cluster.story.index("c")


async def test_uids_wait_for_other_clusters_too() -> None:
    cluster = Cluster()
    rush: set[ClusterName] = {"m2"}
    async with at_work(cluster, [change("a")], rush=rush) as worker:
        await cluster.until("a")
        for _ in range(20):
            await asyncio.sleep(0)
        assert "uid of a" not in cluster.story
        assert not worker.idle
        rush.clear()
        await cluster.until("uid of a")
    assert not rush


async def test_a_cluster_is_in_a_rush_while_more_is_to_be_done_than_may_be_under_way() -> None:
    rush: set[ClusterName] = set()
    cluster = Cluster()
    cluster.answers.clear()
    async with at_work(cluster, [change("a"), change("b")], concurrency=1, rush=rush):
        await cluster.until("a begins")
        await asyncio.sleep(0)
        assert rush == {"m1"}
        cluster.answers.set()
        await cluster.until("uid of a", "uid of b")
        assert not rush
    few = Cluster()
    few.answers.clear()
    async with at_work(few, [change("a"), change("b")], concurrency=2, rush=rush):
        await few.until("a begins", "b begins")
        await asyncio.sleep(0)
        assert not rush


async def test_a_change_whose_turn_comes_after_a_newer_leader_is_not_carried_out() -> None:
    """It was taken from the queue before that; between the two somebody else's term was seen."""
    cluster = Cluster()
    async with at_work(cluster, []) as worker:
        await asyncio.sleep(0)
        one = change("web")
        cluster.entries[one.key] = InventoryEntry(one.key, "u", BindingId("b"))
        begun = asyncio.create_task(worker._one(one))
        cluster.replaced = True
        await begun
        assert worker.stopped == "cluster m1: another gitfed leads there"
    assert cluster.story == []
