from __future__ import annotations

from dataclasses import replace

from gitfed.daemon.fleet.live_state import Copies
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import InventoryEntry, LiveObject

KEY = ObjectKey("apps", "Deployment", "shop", "web")
M1 = ClusterName("m1")
ENTRY = InventoryEntry(KEY, "u", "b", 2)
OURS = LiveObject(KEY, M1, "u", "7", ours=True, body=None, entry=ENTRY)


def copies(shown: LiveObject | None) -> Copies:
    made = Copies(lambda cluster, key: shown)
    made.changed(M1, KEY)
    made.take_in()
    return made


def test_an_entry_whose_writer_died_before_it_knew_the_uid_is_given_it() -> None:
    found = copies(replace(OURS, entry=replace(ENTRY, uid="")))
    assert found.named(M1) == [ENTRY]
    assert list(found.vacant(M1)) == []


def test_an_entry_that_names_its_object_is_left_alone() -> None:
    found = copies(OURS)
    assert (found.named(M1), list(found.vacant(M1))) == ([], [])


def test_an_entry_is_never_given_the_uid_of_somebody_else_s_object() -> None:
    foreign = replace(OURS, uid="x", ours=False, entry=replace(ENTRY, uid=""), body={"metadata": {}})
    found = copies(foreign)
    assert (found.named(M1), list(found.vacant(M1))) == ([], [KEY])


def test_what_is_gone_from_a_list_read_anew_is_noticed() -> None:
    shown: dict[ObjectKey, LiveObject] = {KEY: OURS}
    found = Copies(lambda cluster, key: shown.get(key))
    found.relisted(M1, [KEY])
    assert found.take_in() == {KEY: {M1: OURS}}
    shown.clear()
    found.relisted(M1, [])
    assert not found.up_to_date
    assert found.take_in() == {}


def test_a_mapping_of_copies_is_replaced_once_for_all_clusters_that_told() -> None:
    shown = {name: replace(OURS, cluster=name) for name in map(ClusterName, ("m1", "m2", "m3"))}
    seen: list[object] = []

    def look(cluster: ClusterName, key: ObjectKey) -> LiveObject:
        seen.append(found.objects.get(key))
        return shown[cluster]

    found = Copies(look)
    for name in shown:
        found.changed(name, KEY)
    assert found.take_in() == {KEY: shown}
    assert seen == [None, None, None], "nobody saw some of it"
    before = found.objects[KEY]
    found.changed(M1, KEY)
    assert found.take_in()[KEY] is not before
