"""How often an agent tells of one object, and what."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from gitfed.agent.reporter import Reporter
from gitfed.agent_protocol import frames, replica, values
from gitfed.agent_protocol.values import AgentState
from gitfed.model.base import BindingId, ObjectKey
from gitfed.model.fleet import ApplyResult, ClusterLive, InventoryEntry, LiveObject
from gitfed.model.plan import Action
from tests.agent.site import created, expected, rendered, site
from tests.daemon.one_member import until

KEY = ObjectKey("", "ConfigMap", "shop", "web")
ENTRY = InventoryEntry(KEY, "", BindingId("b"), None)
NAMED = replace(ENTRY, uid="u1")
INTENDED = LiveObject(KEY, "m", uid="", resource_version="", ours=False, entry=ENTRY)
MADE = LiveObject(KEY, "m", uid="u1", resource_version="7", ours=True, entry=ENTRY)
STATE = AgentState(live=ClusterLive("m", inventory_read=True))
OBJECT, OVER = values.of(values.OBJECT, KEY), values.of(values.OVER, KEY)


class Place:
    """A reporter, the one object of its cluster, and a hub that hears of it."""

    def __init__(self) -> None:
        self.reporter = Reporter("m")
        self.live: LiveObject | None = None
        self.to_come: InventoryEntry | None = None
        self._hub = replica.Heard()
        self.reporter.told.connect(self._hub.connect())
        self.told()

    def told(self, *, begins: bool = False, everything: bool = False) -> dict[str, Any]:
        """What is news to the hub."""
        view = SimpleNamespace(get=lambda key: self.live, objects=lambda: {KEY: self.live} if self.live else {})
        worker = SimpleNamespace(entry_to_come=lambda key: self.to_come)
        member: Any = SimpleNamespace(view=view, worker=worker, facts=None, asked=False)
        self.reporter.tell(member, STATE, begins=lambda key: begins, everything=everything)
        found: dict[str, Any] = {}
        for part in self.reporter.told.next():
            sent = frames.decode(frames.encode(part))
            assert isinstance(sent, frames.Put)
            change = self._hub.take(sent)
            found |= change.set if change is not None else {}
            self.reporter.told.acknowledged(part.n)
        return found

    def seen(self, live: LiveObject) -> None:
        self.live = live
        self.reporter.changed(KEY)


def test_a_new_object_is_told_once_and_with_its_result() -> None:
    place = Place()
    place.seen(INTENDED)
    assert place.told(begins=True) == {}
    place.seen(MADE)
    assert place.told(begins=True) == {}, "its result is not here yet"
    place.to_come = NAMED
    place.reporter.finished(KEY, 1, Action.CREATE, ApplyResult("m", KEY, "created"))
    said = place.told()
    assert said.keys() == {OBJECT, OVER}
    assert values.OBJECTS.read(said[OBJECT]).entry == NAMED, "as it is written down in a moment"
    place.to_come = None
    place.seen(replace(MADE, entry=NAMED))
    assert place.told() == {}


def test_an_intention_is_told_when_its_change_failed_or_is_not_wanted_any_more() -> None:
    place = Place()
    place.seen(INTENDED)
    assert place.told(begins=True) == {}
    assert place.told(begins=True, everything=True) == {}
    said = place.told(begins=False)
    assert values.OBJECTS.read(said[OBJECT]) == INTENDED


def test_what_the_hub_knows_already_is_told_as_it_changes() -> None:
    place = Place()
    place.seen(replace(MADE, entry=NAMED))
    assert place.told().keys() == {OBJECT}
    place.seen(replace(INTENDED, entry=NAMED))
    said = place.told(begins=True)
    assert values.OBJECTS.read(said[OBJECT]).uid == "", "it is gone, and its repair has begun"


def test_an_entry_that_did_not_get_its_uid_is_told_as_it_is() -> None:
    place = Place()
    place.to_come = NAMED
    place.seen(MADE)
    assert values.OBJECTS.read(place.told()[OBJECT]).entry == NAMED
    place.to_come = None  # its worker is another one, and knows nothing of it
    assert place.told() == {}
    assert values.OBJECTS.read(place.told(everything=True)[OBJECT]).entry == ENTRY


async def test_a_hub_hears_of_each_new_object_once() -> None:
    heard: list[str] = []
    async with site() as place:
        hub = place.hub(changed=lambda cluster, key: heard.append(key.name))
        await place.connect(hub, place.keeper())
        await until(hub.ready.is_set)
        names = [f"a{number}" for number in range(20)]
        manifests = [rendered(name, "1") for name in names]
        changes = [created(manifest) for manifest in manifests]
        hub.follow(expected(*manifests, changes=tuple(changes)))
        assert hub.worker is not None
        hub.worker.submit(changes, [])
        await until(lambda: hub.worker is not None and hub.worker.idle)
        assert sorted(name for name in heard if name in names) == sorted(names)
        assert {one.entry.uid == one.uid for one in hub.view.objects().values() if one.entry is not None} == {True}
