"""Events of several clusters in one stream: written once for all who are told, and for each as if for them alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.fleet_api import event_text, merge, versions, watching
from gitfed.fleet_api.event_text import EventTexts
from gitfed.fleet_api.watching import Merged
from gitfed.model.keys import CACHED_FROM_CLUSTER
from tests.fleet_api.lists import names, pod, table


class Told:
    """What one client is told."""

    def __init__(
        self, clusters: list[str], version: str = "", texts: EventTexts | None = None, *, bookmarks: bool = True
    ) -> None:
        texts = EventTexts() if texts is None else texts
        self._merged = Merged(clusters, version, texts, bookmarks=bookmarks)
        self.goes_on = True

    def text(self, cluster: str, *lines: bytes) -> bytes:
        told: list[bytes] = []
        self.goes_on = self._merged.tell(cluster, lines, told)
        return b"".join(told)

    def event(self, cluster: str, event: Mapping[str, Any]) -> dict[str, Any] | None:
        text = self.text(cluster, orjson.dumps(event))
        assert not text or text.endswith(b"\n")
        found: dict[str, Any] | None = orjson.loads(text) if text else None
        return found


def test_an_event_moves_its_clusters_version_on() -> None:
    merged = Told(["m1", "m2"], versions.encode({"m1": "1", "m2": "2", "m3": "3"}))
    seen = [
        merged.event(cluster, {"type": kind, "object": pod("a", version)})
        for cluster, kind, version in (("m1", "ADDED", "10"), ("m2", "BOOKMARK", "20"), ("m1", "DELETED", "11"))
    ]
    told = [versions.decode(one["object"]["metadata"]["resourceVersion"]) for one in seen if one]
    assert told == [  # m3 gives no answer, and keeps its place
        {"m1": "10", "m2": "2", "m3": "3"}, {"m1": "10", "m2": "20", "m3": "3"}, {"m1": "11", "m2": "20", "m3": "3"}
    ]  # fmt: skip
    assert [one["object"]["metadata"]["annotations"][CACHED_FROM_CLUSTER] for one in seen if one] == ["m1", "m2", "m1"]


def test_who_asks_for_no_bookmarks_finds_their_versions_in_other_events() -> None:
    texts, begin = EventTexts(), versions.encode({"m1": "1"})
    bookmark, added = {"type": "BOOKMARK", "object": pod("", "20")}, {"type": "ADDED", "object": pod("a", "10")}
    asks, asks_not = (Told(["m1", "m2"], begin, texts, bookmarks=asked) for asked in (True, False))
    assert asks.event("m2", bookmark) is not None
    assert asks_not.event("m2", bookmark) is None
    for client in (asks, asks_not):
        told = client.event("m1", added)
        assert told is not None
        assert versions.decode(told["object"]["metadata"]["resourceVersion"]) == {"m1": "10", "m2": "20"}


def test_what_is_there_at_the_beginning_comes_in_the_order_of_versions() -> None:
    def named(name: str, version: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "resourceVersion": version}}

    listed = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "12"},
              "items": [named("a", "9"), named("b", "10"), named("c", "3")]}  # fmt: skip
    events = watching.beginning(listed)
    told = [(one["type"], one["object"]["kind"], one["object"]["metadata"]["resourceVersion"]) for one in events]
    assert told == [("ADDED", "ConfigMap", "3"), ("ADDED", "ConfigMap", "9"), ("ADDED", "ConfigMap", "10"),
                    ("BOOKMARK", "ConfigMap", "12")]  # fmt: skip
    rows = [{"cells": [one["metadata"]["name"]], "object": one} for one in listed["items"]]  # type: ignore[index]
    table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [{"name": "Name"}], "rows": rows}
    assert [one["object"]["rows"][0]["cells"] for one in watching.beginning(table)] == [
        ["c"],
        ["a"],
        ["b"],
    ]


def test_the_beginning_is_over_when_it_is_in_every_cluster() -> None:
    merged = Told(["m1", "m2"])
    end = {"type": "BOOKMARK", "object": pod("", "5", **{"k8s.io/initial-events-end": "true"})}
    assert merged.event("m1", end) is None
    assert merged.event("m1", {"type": "ADDED", "object": pod("a")}) is not None
    last = merged.event("m2", end)
    assert last is not None
    assert last["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


def test_tables_of_events_keep_the_columns_that_came_first() -> None:
    merged = Told(["m1", "m2"])
    first = merged.event("m1", {"type": "ADDED", "object": table("Name Age", ("a", ["a", "1d"]))})
    other = merged.event("m2", {"type": "ADDED", "object": table("Name Data", ("a", ["a", 3]))})
    later = merged.event("m1", {"type": "MODIFIED", "object": table("", ("a", ["a", "2d"]))})
    assert first is not None
    assert other is not None
    assert later is not None
    assert names(first["object"]) == names(later["object"]) == ["Name", "Cluster", "Age"]
    assert names(other["object"]) == ["Name", "Cluster", "Data"]
    assert later["object"]["rows"][0]["cells"] == ["a", "m1", "2d"]
    assert versions.decode(later["object"]["metadata"]["resourceVersion"]) == {"m1": "9", "m2": "9"}


def test_an_error_is_passed_on_as_it_is() -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
    client = Told(["m1"])
    assert client.event("m1", gone) == gone
    assert not client.goes_on


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[]", b'{"object":{"metadata":5}}', b'{"object":{"metadata":{"annotations":5}}}']
)
def test_what_is_no_event_ends_the_watch_after_what_came_before(line: bytes) -> None:
    client = Told(["m1"])
    before = orjson.dumps({"type": "ADDED", "object": pod("a")})
    assert orjson.loads(client.text("m1", before, line, before))["object"]["metadata"]["name"] == "a"
    assert not client.goes_on


# -- written once for all ---------------------------------------------------------------------------------------------


def separately(known: dict[str, str], shown: dict[str, Any], cluster: str, event: dict[str, Any]) -> bytes:
    """An event read and written for one client alone. `known` and `shown`: where they are, which it moves on."""
    body = event["object"]
    if version := event_text.version_of(body):
        known[cluster] = version

    def stamp(own: str) -> str:
        return versions.encode({**known, cluster: own})

    if not merge.is_table(body):
        return orjson.dumps({**event, "object": merge.marked(body, cluster, stamp)}) + b"\n"
    shown[cluster] = body.get("columnDefinitions") or shown.get(cluster, ())
    told = merge.table_event(body, cluster, shown[cluster], stamp)
    if version:
        told["metadata"] = {**(body.get("metadata") or {}), "resourceVersion": stamp(version)}
    return orjson.dumps({**event, "object": told}) + b"\n"


CLUSTERS = ["m1", "m2", "m-3"]
WORDS = st.text(max_size=6) | st.sampled_from(['"', "resourceVersion", "\\", "\u2028", '"resourceVersion":"7"'])
VERSION = st.integers(0, 10**12).map(str) | st.text('ab>?~ü"', max_size=4)
METADATA = st.fixed_dictionaries(
    {"name": WORDS},
    optional={"resourceVersion": VERSION, "annotations": st.none() | st.dictionaries(WORDS, WORDS, max_size=2)},
)
OBJECT = st.fixed_dictionaries({"kind": st.just("Pod"), "metadata": METADATA}, optional={"spec": WORDS})
ROW = st.fixed_dictionaries({"cells": st.lists(WORDS, max_size=2)}, optional={"object": st.none() | OBJECT})
TABLE = st.fixed_dictionaries(
    {"kind": st.just("Table"), "apiVersion": st.just("meta.k8s.io/v1")},
    optional={
        "metadata": METADATA,
        "columnDefinitions": st.lists(st.fixed_dictionaries({"name": WORDS}), max_size=2),
        "rows": st.lists(ROW, max_size=2),
    },
).flatmap(lambda made: st.permutations(list(made.items())).map(dict))
EVENT = st.fixed_dictionaries({"type": st.sampled_from(["ADDED", "MODIFIED", "BOOKMARK"]), "object": OBJECT | TABLE})


@given(
    st.lists(st.tuples(st.sampled_from(CLUSTERS), EVENT), max_size=8),
    st.lists(st.dictionaries(st.sampled_from([*CLUSTERS, "away"]), VERSION), min_size=1, max_size=3),
    st.sampled_from([0, 100, 1 << 20]),
)
def test_what_is_written_once_for_all_is_what_each_would_be_told_alone(
    events: list[tuple[str, dict[str, Any]]], begins: list[dict[str, str]], limit: int
) -> None:
    texts = EventTexts(limit)
    clients = [Told(CLUSTERS, versions.encode(begin), texts) for begin in begins]
    alone: list[tuple[dict[str, str], dict[str, Any]]] = [(dict(begin), {}) for begin in begins]
    for cluster, event in events:
        line = orjson.dumps(event)
        for client, (known, shown) in zip(clients, alone, strict=True):
            assert client.text(cluster, line) == separately(known, shown, cluster, event)


def test_an_event_is_written_once_for_all_who_are_told() -> None:
    texts = EventTexts()
    clients = [Told(["m1", "m2"], versions.encode({"m1": "1", "m2": str(one)}), texts) for one in range(5)]
    lines = [orjson.dumps({"type": "ADDED", "object": pod("a", str(version))}) for version in range(10, 20)]
    assert len({client.text("m1", *lines) for client in clients}) == 5  # each says how far that client is
    assert texts.written == 10
    clients[0].text("m2", *lines)  # the same words of another cluster are something else
    assert texts.written == 20


def test_tables_of_clients_who_were_told_other_columns_are_not_mixed_up() -> None:
    texts = EventTexts()
    one, two = Told(["m1"], texts=texts), Told(["m1"], texts=texts)
    one.event("m1", {"type": "ADDED", "object": table("Name Age", ("a", ["a", "1d"]))})
    two.event("m1", {"type": "ADDED", "object": table("Name Data", ("a", ["a", 3]))})
    later = {"type": "MODIFIED", "object": table("", ("a", ["a", "x"]))}
    found = [names(made["object"]) for client in (one, two) if (made := client.event("m1", later)) is not None]
    assert found == [["Name", "Cluster", "Age"], ["Name", "Cluster", "Data"]]


def test_what_was_written_is_forgotten_after_a_while() -> None:
    texts = EventTexts(limit=1000)
    client = Told(["m1"], texts=texts)
    for version in range(1, 200):
        client.event("m1", {"type": "ADDED", "object": pod("a", str(version))})
        held = sum(len(line) for found in texts._sources.values() for line in {**found.young, **found.old})
        assert held <= 2000
