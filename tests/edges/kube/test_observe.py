"""What is seen of a cluster, and what is concluded from what is not seen."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import apply, object_cache, observe
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import ServerAnswer, Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.inventory import Inventory
from gitfed.model.base import Body, Digest, Kind, ObjectKey, key_of
from gitfed.model.fleet import Health, LiveObject
from tests.edges.kube.conftest import FEDERATION, Place, create, delete, entry
from tests.edges.kube.wire import cable
from tests.support import patience

CONFIG_MAP = Kind("", "ConfigMap")
SECRET = Kind("", "Secret")
SERVICE = Kind("", "Service")


class Requests(Session):
    """Remembers what was asked; watches do not count."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.asked: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, **options: Any) -> ServerAnswer:
        self.asked.append((method, path))
        return await super().request(method, path, **options)


@dataclasses.dataclass
class Seen:
    observer: observe.Observer
    inventory: Inventory
    session: Requests
    changes: list[ObjectKey]
    uids: list[str | None] = dataclasses.field(default_factory=list)
    """What `get` answered at each change."""
    _moved: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def changed(self, cluster: str, key: ObjectKey | None = None) -> None:
        if key is not None:
            self.changes.append(key)
            live = self.observer.get(key)
            self.uids.append(live.uid if live else None)
        self._moved.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for news until it holds; the limit only ends a test that would hang."""
        async with asyncio.timeout(patience.SECONDS):
            while not holds():
                self._moved.clear()
                await self._moved.wait()


def assess(cluster: str, key: ObjectKey, body: Body) -> observe.Assessment:
    """As the daemon would: equal to what was rendered if the data says so, and then without body."""
    as_rendered = body.get("data", {}).get("k") == "rendered"
    return observe.Assessment(
        matches=Digest("d") if as_rendered else None,
        health=Health.CURRENT,
        message="fine",
        keep_body=not as_rendered,
    )


@asynccontextmanager
async def seeing(
    place: Place,
    *kinds: Kind,
    session: Requests | None = None,
    federation: str | None = None,
    can_wait: Callable[[ObjectKey], bool] = lambda key: False,
) -> AsyncIterator[Seen]:
    """An observer of one federation, with its inventory read and everything settled."""
    federation = federation or f"{FEDERATION}-{place.namespace}"
    session = session or Requests("m1", place.session.connection)
    discovery = Discovery(session)
    inventory = Inventory(session, federation=federation, repository_id="repo-1")
    seen = Seen.__new__(Seen)
    callbacks = observe.ObserverCallbacks(
        assess,
        changed=lambda cluster, key: seen.changed(cluster, key),
        cluster_changed=lambda cluster: seen.changed(cluster),
        can_wait=can_wait,
    )
    observer = observe.Observer(session, discovery, inventory, callbacks, Backoff((0.01, 0.05)))
    seen.__init__(observer, inventory, session, [])  # type: ignore[misc]
    observer.want(kinds or (CONFIG_MAP,))
    running = asyncio.create_task(observer.run())
    try:
        async with asyncio.timeout(patience.SECONDS):
            await observer.settled()
        yield seen
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await session.close()


def labelled(place: Place, name: str, data: dict[str, str], **metadata: Any) -> Body:
    body = place.config_map(name, data, **metadata)
    labels = {"gitfed.io/federation": f"{FEDERATION}-{place.namespace}"}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


async def own(place: Place, *bodies: Body) -> Inventory:
    """What an earlier life left behind: entries with uids, and their objects."""
    book = Inventory(place.session, federation=f"{FEDERATION}-{place.namespace}", repository_id="repo-1")
    await book.read()
    await book.raise_term(book.snapshot.term + 1)
    stored = [await place.post(body) for body in bodies]
    await book.record([entry(key_of(body), uid=body["metadata"]["uid"]) for body in stored])
    return book


async def test_objects_with_our_label_are_seen_and_others_are_not(place: Place) -> None:
    mine = await place.post(labelled(place, "mine", {"k": "x"}))
    await place.post(place.config_map("theirs", {"k": "x"}))
    async with seeing(place) as seen:
        key = key_of(mine)
        assert dict(seen.observer.objects()) == {
            key: LiveObject(
                key=key,
                cluster="m1",
                uid=mine["metadata"]["uid"],
                resource_version=mine["metadata"]["resourceVersion"],
                ours=False,
                body=mine,
                health=Health.CURRENT,
                health_message="fine",
            )
        }
        live = seen.observer.live()
        assert (live.inventory_read, live.unread, live.error) == (True, frozenset(), "")


async def test_ours_needs_the_label_and_the_entry_with_that_uid(place: Place) -> None:
    book = await own(place, labelled(place, "a", {"k": "x"}))
    other = await place.post(labelled(place, "b", {"k": "x"}))
    await book.record([entry(key_of(other), uid="another")])
    async with seeing(place) as seen:
        got = {live.key.name: live.ours for live in seen.observer.objects().values()}
        assert got == {"a": True, "b": False}


async def test_a_body_that_is_as_rendered_is_not_kept(place: Place) -> None:
    await own(place, labelled(place, "a", {"k": "rendered"}))
    async with seeing(place) as seen:
        (live,) = seen.observer.objects().values()
        assert (live.ours, live.body, live.matches) == (True, None, "d")


async def test_changes_are_told_and_a_status_that_changes_nothing_for_us_is_not(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    key = key_of(body)
    async with seeing(place) as seen:
        seen.changes.clear()
        await place.merge(body, {"data": {"other": "1"}})
        drifted = await place.merge(body, {"data": {"k": "drift"}})
        await seen.until(lambda: seen.observer.objects()[key].body is not None)
        assert seen.observer.objects()[key].body == drifted
        assert seen.changes == [key]


async def test_nothing_is_asked_while_nothing_changes_but_what_changed_is_seen(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    async with seeing(place, CONFIG_MAP, SECRET) as seen:
        seen.session.asked.clear()
        for number in range(20):
            await place.merge(body, {"data": {"k": f"drift {number}"}})
        last = await place.merge(body, {"data": {"k": "rendered"}})
        version = last["metadata"]["resourceVersion"]
        await seen.until(lambda: seen.observer.objects()[key_of(body)].resource_version == version)
        assert seen.session.asked == []


async def test_a_stripped_label_is_not_a_deletion(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    key = key_of(body)
    async with seeing(place) as seen:
        seen.session.asked.clear()
        seen.uids.clear()
        bare = await place.merge(body, {"metadata": {"labels": None}})
        await seen.until(lambda: not seen.observer.objects()[key].ours and bool(seen.observer.objects()[key].uid))
        live = seen.observer.objects()[key]
        assert (live.uid, live.body, live.entry is not None) == (bare["metadata"]["uid"], bare, True)
        assert seen.session.asked == [("GET", f"/api/v1/namespaces/{place.namespace}/configmaps/a")]
        # Not for a moment did it look deleted: its entry would have been dropped.
        assert set(seen.uids) == {bare["metadata"]["uid"]}
        # Relabelled, it is ours again.
        await place.merge(body, {"metadata": {"labels": body["metadata"]["labels"]}})
        await seen.until(lambda: seen.observer.objects()[key].ours)


async def test_a_label_that_was_stripped_while_we_were_away_is_found_at_the_start(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    bare = await place.merge(body, {"metadata": {"labels": None}})
    async with seeing(place) as seen:
        live = seen.observer.get(key_of(body))
        assert live is not None
        assert (live.ours, live.body) == (False, bare)


async def test_an_entry_without_an_object_is_shown_with_an_empty_uid(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    key = key_of(body)
    async with seeing(place) as seen:
        await place.session.json("DELETE", f"/api/v1/namespaces/{place.namespace}/configmaps/a")
        await seen.until(lambda: seen.observer.get(key) is not None and not seen.observer.get(key).uid)  # type: ignore[union-attr]
        live = seen.observer.get(key)
        assert live == LiveObject(key, "m1", "", "", ours=False, entry=seen.inventory.entries[key])
        await seen.inventory.raise_term(seen.inventory.snapshot.term + 1)
        await seen.inventory.record(remove=[key])
        assert seen.observer.get(key) is None


async def test_our_own_writes_are_known_before_the_watch_tells_them(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    key = key_of(body)
    async with seeing(place) as seen:
        await seen.inventory.raise_term(1)
        await seen.inventory.record([entry(key)])
        target = dataclasses.replace(
            place.target(observed=seen.observer.observed), federation=seen.inventory.federation
        )
        made = await apply.carry_out(target, create(body))
        live = seen.observer.get(key)
        assert live is not None
        assert (live.uid, live.ours, live.matches) == (made.details["uid"], True, "d")
        gone = await apply.carry_out(target, delete(await place.get(body)))
        assert gone.outcome == "deleted"
        live = seen.observer.get(key)
        assert live is not None
        assert live.uid == ""
        # The watch tells both as well, later; an old answer brings nothing back.
        marker = await place.post(labelled(place, "z", {}))
        await seen.until(lambda: key_of(marker) in seen.observer.objects())
        live = seen.observer.get(key)
        assert live is not None
        assert live.uid == ""


async def test_an_older_answer_does_not_overwrite_a_newer_state(place: Place) -> None:
    body = labelled(place, "a", {"k": "1"})
    old = await place.post(body)
    new = await place.merge(body, {"data": {"k": "2"}})
    async with seeing(place) as seen:
        seen.observer.observed(key_of(body), old["metadata"]["uid"], old)
        assert seen.observer.objects()[key_of(body)].body == new


async def test_what_happened_while_the_cable_was_cut_is_seen_afterwards(place: Place) -> None:
    a, b = labelled(place, "a", {"k": "1"}), labelled(place, "b", {"k": "1"})
    await own(place, a, b)
    async with cable(place.session.connection.server) as between:
        connection = dataclasses.replace(place.session.connection, server=between.url)
        async with seeing(place, session=Requests("m1", connection)) as seen:
            between.cut()
            await seen.until(lambda: CONFIG_MAP in seen.observer.live().unread)
            assert set(seen.observer.objects()) == {key_of(a), key_of(b)}
            changed = await place.merge(a, {"data": {"k": "2"}})
            await place.session.json("DELETE", f"/api/v1/namespaces/{place.namespace}/configmaps/b")
            between.mend()
            seen.observer.wake()
            await seen.until(
                lambda: (
                    seen.observer.objects()[key_of(a)].body == changed and not seen.observer.objects()[key_of(b)].uid
                )
            )
            await seen.until(lambda: not seen.observer.live().unread)


async def test_kinds_that_are_wanted_together_count_as_read_together(place: Place) -> None:
    """A plan that knows of no namespace yet, and of no Deployment, would put the one before the other."""

    class Slow(Requests):
        answers = asyncio.Event()

        async def request(self, method: str, path: str, **options: Any) -> ServerAnswer:
            if path == "/api/v1/secrets":
                await self.answers.wait()
            return await super().request(method, path, **options)

    body = labelled(place, "a", {"k": "1"})
    await place.post(body)
    session = Slow("m1", place.session.connection)
    async with seeing(place, SERVICE, session=session) as seen:
        seen.observer.want([SERVICE, CONFIG_MAP, SECRET])
        await seen.until(lambda: key_of(body) in seen.observer.objects())
        assert seen.observer.live().unread == {CONFIG_MAP, SECRET}
        session.answers.set()
        await seen.until(lambda: not seen.observer.live().unread)


async def test_kinds_that_are_no_longer_wanted_are_forgotten_and_new_ones_are_read(place: Place) -> None:
    await place.post(labelled(place, "a", {"k": "1"}))
    secret = {**labelled(place, "s", {}), "kind": "Secret"}
    await place.post(secret)
    async with seeing(place) as seen:
        assert [key.name for key in seen.observer.objects()] == ["a"]
        seen.observer.want([SECRET])
        assert seen.observer.live().unread == {SECRET}
        async with asyncio.timeout(patience.SECONDS):
            await seen.observer.settled()
        assert [key.name for key in seen.observer.objects()] == ["s"]


async def test_a_kind_is_seen_in_the_version_that_was_asked_for(place: Place) -> None:
    scaler = {
        **labelled(place, "h", {}),
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }
    del scaler["data"]
    key = key_of(await place.post(scaler))
    kind = Kind("autoscaling", "HorizontalPodAutoscaler")
    async with seeing(place, kind) as seen:
        for version in ("autoscaling/v1", "autoscaling/v2"):
            seen.observer.want([kind], {kind: version})
            await seen.until(lambda: _api_version(seen, key) == version)  # noqa: B023


def _api_version(seen: Seen, key: ObjectKey) -> str:
    live = seen.observer.get(key)
    return live.body["apiVersion"] if live and live.body else ""


async def test_a_kind_that_is_not_served_has_no_objects_and_is_not_unread(place: Place) -> None:
    nope = Kind("nope.example.com", "Nope")
    async with seeing(place, nope) as seen:
        assert seen.observer.live().unread == frozenset()
        assert dict(seen.observer.objects()) == {}


async def test_a_crash_between_any_two_steps_leaves_the_object_ours(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    key = key_of(body)
    async with seeing(place) as before:  # the entry is written, then nothing more
        await before.inventory.raise_term(1)
        await before.inventory.record([entry(key)])
    async with seeing(place) as seen:
        live = seen.observer.get(key)
        assert live is not None
        assert (live.uid, live.entry) == ("", entry(key))
        # Now the object as well, and not its uid.
        target = dataclasses.replace(place.target(), federation=seen.inventory.federation)
        made = await apply.carry_out(target, create(body))
    async with seeing(place) as seen:
        live = seen.observer.get(key)
        assert live is not None
        assert (live.uid, live.ours) == (made.details["uid"], True)


async def test_a_404_that_discovery_does_not_confirm_removes_nothing(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)

    class LosesItsWay(Requests):
        lost = False

        async def request(self, method: str, path: str, **options: Any) -> ServerAnswer:
            if self.lost and path == "/api/v1/configmaps":
                raise translate.failure("m1", 404, b"default backend - 404")
            return await super().request(method, path, **options)

    async with cable(place.session.connection.server) as between:
        session = LosesItsWay("m1", dataclasses.replace(place.session.connection, server=between.url))
        async with seeing(place, session=session) as seen:
            seen.observer.want([SECRET])
            session.lost = True
            seen.observer.want([SECRET, CONFIG_MAP])
            await seen.until(lambda: "default backend - 404" in seen.observer.live().error)
            assert seen.observer.live().unread == {CONFIG_MAP}
            session.lost = False
            seen.observer.wake()
            await seen.until(lambda: not seen.observer.live().unread)
            assert seen.observer.objects()[key_of(body)].ours


class Silent(Requests):
    """A server that fails for single objects."""

    fails = True

    async def request(self, method: str, path: str, **options: Any) -> ServerAnswer:
        if self.fails and path.endswith("/configmaps/a"):
            raise translate.failure("m1", 503, b"the server is busy")
        return await super().request(method, path, **options)


async def test_an_object_that_cannot_be_looked_up_is_unknown_until_it_can(place: Place) -> None:
    foreign, free = place.config_map("a", {"k": "theirs"}), key_of(place.config_map("b", {}))
    await place.post(foreign)
    session = Silent("m1", place.session.connection)
    async with seeing(place, session=session) as seen:
        assert await seen.observer.look(free) is None
        with pytest.raises(errors.ClusterBusy):
            await seen.observer.look(key_of(foreign))
        live = seen.observer.live()
        assert (live.unread, live.unlooked) == (frozenset(), {key_of(foreign)})
        assert [live.is_unread(key) for key in (key_of(foreign), free)] == [True, False]
        session.fails = False
        await seen.until(lambda: not seen.observer.live().unlooked)
        found = seen.observer.get(key_of(foreign))
        assert found is not None
        assert (bool(found.uid), found.ours) == (True, False)


async def test_an_object_that_proves_absent_later_is_known_to_be(place: Place) -> None:
    key = key_of(place.config_map("a", {}))
    session = Silent("m1", place.session.connection)
    async with seeing(place, session=session) as seen:
        with pytest.raises(errors.ClusterBusy):
            await seen.observer.look(key)
        assert seen.observer.live().unlooked == {key}
        session.fails = False
        await seen.until(lambda: not seen.observer.live().unlooked)
        assert seen.observer.get(key) is None


async def test_an_object_of_a_kind_that_is_not_served_is_absent(place: Place) -> None:
    kind = Kind("x.io", "Foot")
    key = ObjectKey(*kind, "default", "a")
    async with seeing(place, kind) as seen:
        with pytest.raises(errors.KindUnknown):
            await seen.observer.look(key)
        assert not seen.observer.live().is_unread(key)


async def test_what_nobody_wants_to_know_of_any_more_is_not_looked_up_again(place: Place) -> None:
    key = key_of(place.config_map("a", {}))
    session = Silent("m1", place.session.connection)
    async with seeing(place, session=session) as seen:
        with pytest.raises(errors.ClusterBusy):
            await seen.observer.look(key)
        seen.observer.want([SECRET])
        assert not seen.observer.live().unlooked


async def test_a_kind_is_followed_as_soon_as_its_definition_is_served(place: Place) -> None:
    group = f"{place.namespace}.example.com"
    federation = f"{FEDERATION}-{place.namespace}"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}", "labels": {"gitfed.io/federation": federation}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    widget = {**labelled(place, "w", {}), "apiVersion": f"{group}/v1", "kind": "Widget"}
    del widget["data"]
    async with seeing(place, Kind("apiextensions.k8s.io", "CustomResourceDefinition"), Kind(group, "Widget")) as seen:
        target = dataclasses.replace(place.target(), federation=federation)
        assert (await apply.carry_out(target, create(definition))).outcome == "created"
        assert (await apply.carry_out(target, create(widget))).outcome == "created"
        await seen.until(lambda: key_of(widget) in seen.observer.objects())


async def test_looking_at_one_object_brings_its_body(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    await own(place, body)
    async with seeing(place) as seen:
        live = await seen.observer.look(key_of(body))
        assert live is not None
        assert live.body == await place.get(body)
        assert await seen.observer.look(ObjectKey("", "ConfigMap", place.namespace, "nope")) is None


async def test_an_inventory_that_cannot_be_read_makes_nothing_ours(place: Place) -> None:
    body = labelled(place, "a", {"k": "rendered"})
    book = await own(place, body)
    shard = next(iter(book._shards.known.keys() - {0}), 0)
    path = f"/api/v1/namespaces/gitfed-system/configmaps/gitfed-inventory-{book.federation}-{shard}"
    await place.session.json("PATCH", path, body={"data": {"count": "9"}}, content_type="application/merge-patch+json")
    async with seeing(place) as seen:
        assert not seen.observer.live().inventory_read
        assert "its count says 9" in seen.observer.live().error
        assert [live.ours for live in seen.observer.objects().values()] == [False]


@pytest.mark.parametrize("page", [1, 2])
async def test_long_lists_are_read_in_pages(place: Place, page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitfed.edges.kube import reflect

    for number in range(4):
        await place.post(labelled(place, f"c{number}", {}))
    selector = f"gitfed.io/federation={FEDERATION}-{place.namespace}"
    items, version = await reflect.read(place.session, "/api/v1/configmaps", selector, page=page)
    assert [item["metadata"]["name"] for item in items] == ["c0", "c1", "c2", "c3"]
    assert {item["kind"] for item in items} == {"ConfigMap"}
    assert version.isdecimal()


async def test_what_is_seen_in_a_rush_is_judged_when_it_is_over_though_nobody_asks(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_LATEST", 3600.0)
    in_a_rush = True
    async with seeing(place, can_wait=lambda key: in_a_rush) as seen:
        stored = await place.post(labelled(place, "mine", {"k": "x"}))
        async with asyncio.timeout(patience.SECONDS):
            while not seen.observer.behind:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert key_of(stored) not in seen.changes
        in_a_rush = False
        await seen.until(lambda: key_of(stored) in seen.changes)
        assert not seen.observer.behind


async def test_what_is_seen_in_a_rush_that_does_not_end_is_judged_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_LATEST", 0.01)
    async with seeing(place, can_wait=lambda key: True) as seen:
        stored = await place.post(labelled(place, "mine", {"k": "x"}))
        await seen.until(lambda: key_of(stored) in seen.changes)
