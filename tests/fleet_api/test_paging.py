"""Pages of a list of the fleet, held against clusters that page as API servers do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.fleet_api import paging, versions
from gitfed.model.keys import CACHED_FROM_CLUSTER

Objects = dict[str, list[str]]


def member(names: list[str], version: int, ask: paging.Ask) -> dict[str, Any]:
    begin = int(ask.token) if ask.token else 0
    end = len(names) if not ask.limit else begin + ask.limit
    metadata = {"resourceVersion": str(version)}
    if end < len(names):
        metadata["continue"] = str(end)
    items = [{"metadata": {"name": name, "resourceVersion": "7"}} for name in names[begin:end]]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}


def one_page(
    objects: Objects, limit: int, token: str = "", version: str = ""
) -> tuple[dict[str, Any], list[paging.Ask]]:
    place = versions.decode_continue(token) if token else None
    page, asked = paging.Page(sorted(objects), limit, version, place), []
    while (ask := page.ask()) is not None:
        asked.append(ask)
        page.answered(ask, member(objects[ask.cluster], 100 + len(ask.cluster), ask))
    for name in page.unseen():
        page.seen(name, str(100 + len(name)))
    return page.made(), asked


def where(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["metadata"]["annotations"][CACHED_FROM_CLUSTER], one["metadata"]["name"]) for one in body["items"]]


TWO = {"m1": ["a", "b", "c"], "m2": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    ("limit", "pages"),
    [
        (5, [("m1 m1 m1 m2 m2", ("m2", "2")), ("m2 m2", None)]),
        (3, [("m1 m1 m1", ("m2", "")), ("m2 m2 m2", ("m2", "3")), ("m2", None)]),
        (0, [("m1 m1 m1 m2 m2 m2 m2", None)]),
        (7, [("m1 m1 m1 m2 m2 m2 m2", None)]),
    ],
)
def test_pages_go_on_from_cluster_to_cluster(limit: int, pages: list[tuple[str, tuple[str, str] | None]]) -> None:
    token = ""
    for clusters, place in pages:
        body, asked = one_page(TWO, limit, token)
        assert " ".join(cluster for cluster, _ in where(body)) == clusters
        token = body["metadata"].get("continue", "")
        found = versions.decode_continue(token)
        assert (found and (found.cluster, found.token)) == place
        assert versions.decode(body["metadata"]["resourceVersion"]) == {"m1": "102", "m2": "102"}
        assert all(not (ask.token and ask.version) for ask in asked), "either its token or its version"


def test_a_page_that_begins_in_a_cluster_reads_it_as_it_was() -> None:
    token = one_page(TWO, 3)[0]["metadata"]["continue"]
    assert one_page(TWO, 3, token)[1] == [paging.Ask("m2", 3, version="102")]


def test_a_version_of_the_client_is_each_clusters_own() -> None:
    told = versions.encode({"m1": "5"})
    assert one_page(TWO, 0, version=told)[1] == [paging.Ask("m1", version="5"), paging.Ask("m2")]
    assert one_page(TWO, 0, version="0")[1] == [paging.Ask("m1", version="0"), paging.Ask("m2", version="0")]


def test_a_cluster_that_has_left_is_passed_over() -> None:
    token = one_page({**TWO, "m15": ["x", "y"]}, 4)[0]["metadata"]["continue"]
    assert versions.decode_continue(token) == versions.Continue({"m1": "102", "m15": "103", "m2": "102"}, "m15", "1")
    assert where(one_page(TWO, 0, token)[0]) == [("m2", name) for name in "abcd"]


def test_what_does_not_answer_has_no_version_and_begins_anew_in_a_watch() -> None:
    page = paging.Page(["m1", "m2"])
    first = page.ask()
    assert first is not None
    page.left_out(first)
    second = page.ask()
    assert second is not None
    page.answered(second, member(["a"], 9, second))
    assert versions.decode(page.made()["metadata"]["resourceVersion"]) == {"m2": "9"}


NAMES = st.integers(0, 9).map(lambda count: list("abcdefghi"[:count]))


@given(st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m10"]), NAMES, min_size=1), st.integers(1, 12))
def test_all_pages_together_are_the_list(objects: Objects, limit: int) -> None:
    whole = where(one_page(objects, 0)[0])
    found, token = [], ""
    for _ in range(50):
        body, _asked = one_page(objects, limit, token)
        assert len(body["items"]) <= limit
        found += where(body)
        token = body["metadata"].get("continue", "")
        if not token:
            break
    assert found == whole == [(cluster, name) for cluster in sorted(objects) for name in objects[cluster]]
