"""The inventory of a cluster, against real ConfigMaps."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import inventory, inventory_format, reflect
from gitfed.edges.kube.connection.session import ServerAnswer, Session
from gitfed.edges.kube.leases.fence import Fence, clock
from gitfed.model.base import ObjectKey
from tests.edges.kube.conftest import Place, entry

_numbers = itertools.count(1)
PATH = "/api/v1/namespaces/gitfed-system/configmaps"


@dataclass
class Ours:
    """A federation of the test's own: several daemons may share it."""

    place: Place
    federation: str

    def open(self, repository: str = "repo-1", session: Session | None = None) -> inventory.Inventory:
        return inventory.Inventory(session or self.place.session, federation=self.federation, repository_id=repository)

    async def shard(self, number: int) -> dict[str, Any]:
        return await self.place.session.json("GET", f"{PATH}/gitfed-inventory-{self.federation}-{number}")

    async def patch(self, number: int, body: dict[str, Any]) -> None:
        await self.place.session.json(
            "PATCH",
            f"{PATH}/gitfed-inventory-{self.federation}-{number}",
            body=body,
            content_type="application/merge-patch+json",
        )


@pytest.fixture
async def ours(place: Place) -> Ours:
    return Ours(place, f"acme-{place.namespace}")


def keys(count: int) -> list[ObjectKey]:
    return [ObjectKey("", "ConfigMap", "shop", f"c{number}") for number in range(count)]


def in_shard(number: int) -> ObjectKey:
    return next(key for key in keys(1000) if inventory_format.shard_of(key) == number)


class Counting(Session):
    """Counts writes."""

    writes = 0

    async def request(self, method: str, path: str, **options: Any) -> ServerAnswer:
        if method != "GET":
            self.writes += 1
        return await super().request(method, path, **options)


async def test_a_new_cluster_has_no_inventory(ours: Ours) -> None:
    snapshot = await ours.open().read()
    assert snapshot == inventory.InventorySnapshot()
    assert not snapshot.present


async def test_entries_survive_a_restart(ours: Ours) -> None:
    first = ours.open()
    await first.read()
    await first.raise_term(1)
    added = [entry(key, uid=f"u{number}", replicas=number) for number, key in enumerate(keys(40))]
    await first.record(added)
    await first.record(remove=[added[0].key])
    await first.record([replace(added[1], orphaned=True, deleting=True)])
    expected = {one.key: one for one in [replace(added[1], orphaned=True, deleting=True), *added[2:]]}
    assert first.entries == expected
    snapshot = await ours.open().read()
    assert snapshot == inventory.InventorySnapshot(expected, "repo-1", 1, present=True)


async def test_300_objects_are_written_down_in_16_writes_however_they_are_recorded(ours: Ours) -> None:
    async with Counting("m1", ours.place.session.connection) as session:
        book = ours.open(session=session)
        await book.read()
        await book.raise_term(1)
        session.writes = 0
        await book.record([entry(key) for key in keys(300)])
        assert session.writes == 16
        session.writes = 0
        await book.record([entry(key) for key in keys(300)])
        assert session.writes == 0
        # Sixteen workers, each on its own: what comes while a write is under way shares the next.
        session.writes = 0
        await asyncio.gather(*(book.record([entry(key, uid="u")]) for key in keys(300)))
        assert session.writes <= 1 + 16
    assert (await ours.open().read()).entries == {key: entry(key, uid="u") for key in keys(300)}


async def test_shards_of_what_comes_first_are_written_before_the_rest(ours: Ours) -> None:
    for foremost in (in_shard(3), in_shard(0)):
        book = ours.open()
        await book.read()
        await book.raise_term(book.snapshot.term + 1)
        written: list[frozenset[ObjectKey]] = []
        book.on_change(written.append)
        added = [entry(key, uid=f"u{book.snapshot.term}") for key in keys(100)]
        await book.record(added, first=[foremost])
        assert foremost in written[0]
        assert {inventory_format.shard_of(key) for key in written[0]} == {inventory_format.shard_of(foremost)}
        assert (await ours.open().read()).entries == {one.key: one for one in added}


async def test_a_shard_that_was_changed_on_its_way_to_the_store_is_read_as_it_is(ours: Ours) -> None:
    class Meddling(Session):
        """Answers as if an admission webhook had dropped an entry."""

        async def json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
            answer = await super().json(method, path, **options)
            if method == "POST" and path == PATH and "schemaVersion" not in answer["data"]:
                answer["data"] = {"count": answer["data"]["count"]}
            return answer

    async with Meddling("m1", ours.place.session.connection) as session:
        book = ours.open(session=session)
        await book.read()
        await book.raise_term(1)
        await book.record([entry(in_shard(4))])
        assert "its count says 1" in book.problem


async def test_the_inventory_of_another_repository_is_not_touched(ours: Ours) -> None:
    theirs = ours.open("repo-2")
    await theirs.read()
    await theirs.raise_term(3)
    book = ours.open()
    snapshot = await book.read()
    assert (snapshot.repository_id, snapshot.term) == ("repo-2", 3)
    said = re.escape("cluster m1: its inventory belongs to repository repo-2 (gitfed apply --adopt m1 takes it over)")
    with pytest.raises(errors.NotOwned, match=f"^{said}$"):
        await book.raise_term(4)
    with pytest.raises(errors.NotOwned, match=f"^{said}$"):
        await book.record([entry(keys(1)[0])])
    assert (await ours.open().read()).entries == {}
    await book.adopt(4)
    await book.record([entry(keys(1)[0])])
    snapshot = await ours.open().read()
    assert (snapshot.repository_id, snapshot.term, len(snapshot.entries)) == ("repo-1", 4, 1)


async def test_the_leader_with_the_lower_term_stops(ours: Ours) -> None:
    old, new = ours.open(), ours.open()
    await old.read()
    await old.raise_term(1)
    await new.read()
    await new.raise_term(2)
    # It has not noticed yet; the entry falls into shard 0, where the term stands.
    with pytest.raises(errors.NotOwned, match=r"another gitfed of this repository leads there \(term 2, ours is 1\)$"):
        await old.record([entry(in_shard(0))])
    await new.record([entry(in_shard(5))])
    assert set((await ours.open().read()).entries) == {in_shard(5)}


async def test_an_entry_of_an_earlier_leader_that_arrives_late_is_refused_in_every_shard(ours: Ours) -> None:
    """It was decided on before the new leader came, and on its way since: bound to a version that is old by now."""
    fence = Fence(5)
    fence.extend(clock() + 3600)
    old = ours.open()
    await old.read()
    await old.raise_term(1)
    await old.record([entry(key) for key in keys(100)])
    async with Session("m1", ours.place.session.connection, fence=fence) as session:
        new = ours.open(session=session)
        await new.read()
        await new.raise_term(2)
        for number in range(inventory_format.SHARDS):
            keys_of_shard = (
                key
                for key in (ObjectKey("", "Secret", "shop", str(name)) for name in range(1000))
                if inventory_format.shard_of(key) == number
            )
            late = next(keys_of_shard)
            with pytest.raises(errors.NotOwned, match=r"\(term 2, ours is 1\)$"):
                await old.record([entry(late)])
        await new.record([entry(in_shard(5), uid="u")])
    assert set((await ours.open().read()).entries) == set(keys(100)) | {in_shard(5)}


async def test_of_two_that_raise_the_same_term_one_wins(ours: Ours) -> None:
    one, other = ours.open(), ours.open()
    await one.read()
    await other.read()
    await one.raise_term(1)
    await one.raise_term(1)  # ours already: nothing to do
    with pytest.raises(errors.NotOwned, match=r"^cluster m1: term 1 is taken by another gitfed, ours would be 1$"):
        await other.raise_term(1)


class Deaf(Session):
    """The answer to its first write is lost: nobody knows whether it was carried out."""

    lost = False

    async def json(self, method: str, path: str, **more: Any) -> Any:
        answer = await super().json(method, path, **more)
        if method != "GET" and path.startswith(PATH) and not self.lost:
            self.lost = True
            raise errors.ClusterUnreachable("cluster m1: cut the connection", cluster=self.cluster)
        return answer


async def test_who_raised_a_term_knows_it_again_when_the_answer_was_lost(ours: Ours) -> None:
    async with Deaf("m1", ours.place.session.connection) as session:
        book, other = ours.open(session=session), ours.open()
        await book.read()
        await other.read()
        with pytest.raises(errors.ClusterUnreachable):
            await book.raise_term(1)
        await book.read()
        await book.raise_term(1)
        await book.record([entry(in_shard(0))])
        with pytest.raises(errors.NotOwned):
            await other.raise_term(1)


async def test_what_somebody_else_wrote_meanwhile_is_kept(ours: Ours) -> None:
    book = ours.open()
    await book.read()
    await book.raise_term(1)
    await book.record([entry(in_shard(5))])
    shard = await ours.shard(5)
    other = entry(next(key for key in keys(1000) if inventory_format.shard_of(key) == 5 and key != in_shard(5)))
    name, value = inventory_format.encode(other)
    await ours.patch(5, {"data": {**shard["data"], name: value, "count": "2"}})
    third = next(key for key in reversed(keys(1000)) if inventory_format.shard_of(key) == 5)
    await book.record([entry(third)])
    assert set((await ours.open().read()).entries) == {in_shard(5), other.key, third}


async def test_a_lost_shard_is_an_error_and_nothing_is_recorded(ours: Ours) -> None:
    book = ours.open()
    await book.read()
    await book.raise_term(1)
    await book.record([entry(key) for key in keys(40)])
    await ours.place.session.json("DELETE", f"{PATH}/gitfed-inventory-{ours.federation}-5")
    said = re.escape(
        f"cluster m1: inventory in gitfed-system cannot be relied on: gitfed-inventory-{ours.federation}-5 is missing"
    )
    with pytest.raises(errors.ClusterError, match=f"^{said} "):
        await ours.open().read()
    with pytest.raises(errors.ClusterError, match=f"^{said} "):
        await book.record([entry(in_shard(5), uid="new")])
    repaired = ours.open()
    await repaired.adopt(2)
    assert {inventory_format.shard_of(key) for key in (await ours.open().read()).entries} == set(range(16)) - {5}


async def test_an_inventory_is_begun_anew_by_a_write_that_meets_a_cluster_made_anew(ours: Ours) -> None:
    book = ours.open()
    await book.read()
    await book.raise_term(1)
    # The cluster is made anew while a write is on its way: its first shard is created in the new one.
    await ours.place.session.json("DELETE", f"{PATH}/gitfed-inventory-{ours.federation}-0")
    await book.record([entry(in_shard(5))])
    assert set((await ours.open().read()).entries) == {in_shard(5)}


async def test_an_inventory_that_shrank_to_less_than_half_is_an_error(ours: Ours) -> None:
    book = ours.open()
    await book.read()
    await book.raise_term(1)
    await book.record([entry(key) for key in keys(19)])
    with pytest.raises(errors.ClusterError, match="cannot be relied on: shrank from 40 to 19 entries "):
        await ours.open().read(expected=40)
    assert len((await ours.open().read(expected=38)).entries) == 19
    assert len((await ours.open().read(expected=0)).entries) == 19


async def test_entries_that_were_cut_off_are_an_error(ours: Ours) -> None:
    book = ours.open()
    await book.read()
    await book.raise_term(1)
    await book.record([entry(in_shard(5))])
    await ours.patch(5, {"data": {inventory_format.data_key(in_shard(5)): None}})
    reopened = ours.open()
    with pytest.raises(errors.ClusterError, match="-5: holds 0 entries, its count says 1 "):
        await reopened.read()
    assert not reopened.readable


async def test_nothing_is_recorded_before_the_inventory_was_read(ours: Ours) -> None:
    with pytest.raises(errors.ClusterError, match=r"^cluster m1: inventory not read yet$"):
        await ours.open().record([entry(keys(1)[0])])


async def test_a_watch_shows_another_leader_and_damage(ours: Ours) -> None:
    book, other = ours.open(), ours.open()
    await book.read()
    await book.raise_term(1)
    await other.read()
    told: asyncio.Queue[frozenset[ObjectKey]] = asyncio.Queue()
    book.on_change(told.put_nowait)
    watching = asyncio.create_task(book.follow(wake=reflect.Wake(), backoff=Backoff((0.01,))))
    assert await told.get() == frozenset()  # listed
    await other.raise_term(2)
    await told.get()
    with pytest.raises(errors.NotOwned, match=r"\(term 2, ours is 1\)$"):
        book.check_ours()
    await other.record([entry(in_shard(5), uid="u")])
    while (await told.get()) != {in_shard(5)}:
        pass
    assert book.entries[in_shard(5)].uid == "u"
    shard = await ours.shard(5)
    await ours.place.session.json("DELETE", f"{PATH}/gitfed-inventory-{ours.federation}-5")
    while book.readable:
        await told.get()
    assert book.problem.endswith(f"gitfed-inventory-{ours.federation}-5 is missing")
    # Nothing is forgotten meanwhile, and when the ConfigMap is back, all is well.
    assert book.entries[in_shard(5)].uid == "u"
    metadata = {"name": f"gitfed-inventory-{ours.federation}-5", "labels": shard["metadata"]["labels"]}
    restored = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": shard["data"]}
    await ours.place.session.json("POST", PATH, body=restored)
    while not book.readable:
        await told.get()
    assert book.entries[in_shard(5)].uid == "u"
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
