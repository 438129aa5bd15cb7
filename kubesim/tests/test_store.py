"""Versions, history and watchers of the store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.store import QUEUE_LIMIT, VIEWS_KEPT, Event, Store, VersionGone


def body(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


def test_every_write_of_any_collection_gets_a_version_of_its_own() -> None:
    store = Store()
    one, two = store.put("a", "x", body("x")), store.put("b", "x", body("x"))
    assert (one.version, two.version) == (2, 3)
    assert two.body["metadata"]["resourceVersion"] == "3"
    gone = store.delete("a", "x")
    assert gone.version == store.version == 4
    assert gone.body["metadata"]["resourceVersion"] == "4"


def test_keys_are_ordered_as_text_so_that_a_dash_comes_before_a_slash() -> None:
    store = Store()
    for key in ("a/x", "a-b/x", "a/m-1", "a/m"):
        store.put("c", key, body("x"))
    assert [record.key for record in store.collection("c").between("")] == ["a-b/x", "a/m", "a/m-1", "a/x"]
    assert [record.key for record in store.collection("c").between("a/")] == ["a/m", "a/m-1", "a/x"]
    assert [record.key for record in store.collection("c").between("a/", "a/m")] == ["a/m-1", "a/x"]


_STEPS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), max_size=30)


@given(_STEPS)
def test_a_list_at_an_earlier_version_is_what_a_list_was_then(steps: list[tuple[str, int]]) -> None:
    store = Store()
    seen: dict[int, list[tuple[str, Any]]] = {}
    for key, action in steps:
        if action == 0 and store.get("c", key):
            store.delete("c", key)
        else:
            store.put("c", key, body(key, value=action))
        seen[store.version] = [(record.key, record.body["value"]) for record in store.collection("c").between("")]
    for version, then in seen.items():
        assert [(record.key, record.body["value"]) for record in store.collection("c").at(version, "")] == then


def test_forgotten_history_is_gone_but_the_present_stays() -> None:
    store = Store()
    store.put("c", "x", body("x"))
    before = store.version
    store.put("c", "x", body("x", value=2))
    store.forget()
    with pytest.raises(VersionGone, match="history begins at 3"):
        store.collection("c").at(before, "")
    assert len(store.collection("c").at(store.version, "")) == 1
    with pytest.raises(VersionGone):
        store.subscribe("made later", before, lambda event: event)


async def test_a_watcher_gets_what_happened_since_its_version_and_then_what_happens() -> None:
    store = Store()
    store.put("c", "x", body("x"))
    since = store.version
    store.put("c", "y", body("y"))
    subscription = store.subscribe("c", since, lambda event: event.key)
    assert subscription.take() == ["y"]
    waiting = asyncio.create_task(subscription.wait(5))
    await asyncio.sleep(0)
    store.delete("c", "x")
    assert await waiting
    assert subscription.take() == ["x"]
    subscription.close()
    store.put("c", "z", body("z"))
    assert subscription.take() == []


async def test_a_watcher_that_chooses_nothing_is_not_woken() -> None:
    store = Store()
    subscription = store.subscribe("c", None, lambda event: None)
    store.put("c", "x", body("x"))
    assert not await subscription.wait(0.01)


def test_a_watcher_that_falls_too_far_behind_is_cut_off() -> None:
    store = Store()
    subscription = store.subscribe("c", None, lambda event: event)
    event = Event(1, None, store.put("d", "x", body("x")))
    for _ in range(QUEUE_LIMIT + 1):
        subscription.offer(event)
    assert subscription.closed


def test_observers_hear_of_every_write_with_the_collection() -> None:
    store = Store()
    heard: list[tuple[str, str, bool]] = []
    store.observers.append(lambda name, event: heard.append((name, event.key, event.new is None)))
    store.put("c", "x", body("x"))
    store.delete("c", "x")
    assert heard == [("c", "x", False), ("c", "x", True)]


def test_a_dropped_collection_closes_its_watches_and_is_empty() -> None:
    store = Store()
    store.put("c", "x", body("x"))
    subscription = store.subscribe("c", None, lambda event: event)
    store.drop("c")
    assert subscription.closed
    assert store.get("c", "x") is None


def test_superseded_records_give_up_their_encodings_after_a_while() -> None:
    store = Store()
    first, kept = store.put("c", "x", body("x")), store.put("c", "y", body("y"))
    first.views["json"] = kept.views["json"] = b"{}"
    store.put("c", "x", body("x", value=2))
    assert first.views
    for value in range(VIEWS_KEPT + 1):
        store.put("c", "z", body("z", value=value))
    assert not first.views
    assert kept.views
