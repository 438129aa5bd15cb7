"""One kind of one cluster in memory: how it is kept, found again, counted and limited."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gitfed import errors
from gitfed.fleet_api import merge
from gitfed.hub.search import stored_object
from gitfed.hub.search.collection import Budget, Collection, Filter
from gitfed.text import selector
from tests.hub.search.pods import listed, pod

PLENTY = 1 << 30
EVERYTHING = Filter()


class Told:
    def __init__(self) -> None:
        self.news: list[str] = []

    def changed(self, collection: Collection, key: str) -> None:
        self.news.append(f"+{key}")

    def gone(self, kind: str, uid: str) -> None:
        self.news.append(f"-{kind}/{uid}")


def collection(limit: int = PLENTY, copy: Told | None = None) -> Collection:
    return Collection("m1", "v1", "Pod", Budget(limit), copy)


def names(made: Collection, wanted: Filter = EVERYTHING) -> list[str]:
    return [stored_object.value(one, made.head)["metadata"]["name"] for one in made.find(wanted)]


OWNED = [{"kind": "ReplicaSet", "name": "web", "uid": "1"}]


@pytest.mark.parametrize(
    "body",
    [
        pod("a", "123"),
        pod("a", 'odd "version"', labels={"b": "1", "a": "ü"}, annotations={"note": "x"}),
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "a", "ownerReferences": OWNED}, "data": {"x": "1"}},
        {"metadata": {"name": "a", "ownerReferences": OWNED}, "spec": {}},
        {"metadata": {"name": "a", "ownerReferences": OWNED}, "spec": {"nodeName": "n"}, "status": {"x": 1}},
        {"metadata": {"name": "a", "ownerReferences": OWNED}, "spec": {"priority": 0}, "status": {}},
        {
            "metadata": {"name": "a", "namespace": "b", "labels": {"c": "d"}, "ownerReferences": OWNED},
            "spec": {"volumes": [], "priority": 0, "nodeName": "n", "tolerations": []},
            "status": {"phase": "Running"},
        },
        {"metadata": {"name": "a", "labels": None, "annotations": None, "resourceVersion": ""}, "data": {}},
    ],
)
def test_what_is_written_out_is_the_object_marked_with_its_cluster(body: dict[str, Any]) -> None:
    one = stored_object.stored(body, "m-1", lambda labels: labels)
    head = stored_object.head("v1", "Pod")
    whole = {**body, "apiVersion": "v1", "kind": "Pod", "metadata": {**body["metadata"]}}
    whole["metadata"].pop("managedFields", None)
    expected = merge.marked(whole, "m-1")
    version = str(body["metadata"].get("resourceVersion") or "")
    assert orjson.loads(stored_object.text(one, head)) == {
        **expected, "metadata": {**expected["metadata"], "resourceVersion": version}
    }  # fmt: skip
    if version:  # with one of the fleet it is what the door of the fleet makes of it
        assert orjson.loads(stored_object.text(one, head, "m-1")) == expected
        assert orjson.loads(b"[" + stored_object.texts([one, one], head, "m-1") + b"]") == [expected, expected]
    assert stored_object.texts([], head) == b""


def test_objects_are_found_by_namespace_name_and_labels_in_order() -> None:
    made = collection()
    listed(
        made, pod("b", labels={"app": "web"}), pod("a"), pod("a", namespace="shop-2"), pod("c", namespace="a"),
        pod("d", namespace="shop", labels={"app": "db"}),
    )  # fmt: skip
    assert names(made) == ["c", "a", "a", "b", "d"]  # a/c, shop-2/a, shop/…: an API server orders so
    assert names(made, Filter("shop")) == ["a", "b", "d"]
    assert names(made, Filter("shop", "b")) == ["b"]
    assert names(made, Filter("shop", "x")) == []
    assert names(made, Filter("", "a")) == ["a", "a"]
    assert names(made, Filter("none")) == []
    assert names(made, Filter("shop", labels=selector.from_text("app"))) == ["b", "d"]
    assert names(made, Filter("shop", "b", selector.from_text("app=db"))) == []


def test_events_change_what_is_found_and_what_it_weighs() -> None:
    made = collection()
    assert not made.is_current
    listed(made, pod("a"), pod("b"))
    assert made.is_current
    made.event("ADDED", pod("c", "11"))
    made.event("MODIFIED", pod("a", "12", labels={"long": "x" * 60}))
    made.event("DELETED", pod("b", "13"))
    made.event("DELETED", pod("never", "14"))
    assert (names(made), made.version) == (["a", "c"], "14")
    again = collection()
    listed(again, pod("a", "12", labels={"long": "x" * 60}), pod("c", "11"))
    assert (made.size, made._budget.used) == (again.size, made.size)
    made.clear()
    assert (made.size, made._budget.used, len(made)) == (0, 0, 0)


def test_a_collection_that_gives_no_answer_stays_as_it_was() -> None:
    made = collection()
    listed(made, pod("a"))
    made.lost(errors.ClusterUnreachable("cluster m1: no answer in time", cluster="m1"))
    since = made.lost_since
    made.lost(errors.ClusterUnreachable("cluster m1: refused", cluster="m1"))
    assert since is not None
    assert (made.lost_since, since.message, names(made), made.is_current) == (
        since, "cluster m1: no answer in time", ["a"], False
    )  # fmt: skip
    made.resumed()
    assert made.is_current


def test_what_does_not_fit_is_not_held_in_part() -> None:
    size = stored_object.stored(pod("a"), "m1", lambda labels: labels).size
    labels = len(b"{}") + stored_object.SHARED_OVERHEAD
    made = collection(3 * size + labels + 10)
    listed(made, pod("a"), pod("b"))
    made.event("ADDED", pod("c", "11"))
    assert (made.full, len(made)) == (False, 3)
    made.event("MODIFIED", pod("c", "12"))  # in its own place it still fits
    assert (made.full, len(made)) == (False, 3)
    made.event("ADDED", pod("d", "13"))
    assert (made.full, len(made), made._budget.used, made.is_current) == (True, 0, 0, False)
    made.event("ADDED", pod("e", "14"))
    assert len(made) == 0

    at_once = collection(2 * size + labels)
    listed(at_once, pod("a"), pod("b"), pod("c"))
    assert (at_once.full, len(at_once), at_once._budget.used) == (True, 0, 0)


def test_equal_labels_are_one_value() -> None:
    made = collection()
    listed(made, *(pod(f"p{i}", labels={"app": "web"}) for i in range(3)))
    made.event("ADDED", pod("q", "11", labels={"app": "web"}))
    assert len({id(one.labels) for one in made.find(Filter())}) == 1


def test_what_pods_of_one_workload_have_in_common_is_kept_once() -> None:
    def owned(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": OWNED}
        return {"metadata": {**metadata, "resourceVersion": version},
                "spec": {"tolerations": ["x" * 5000], **spec}}  # fmt: skip

    made = collection()
    listed(made, *(owned(f"p{number}", nodeName=f"n{number}") for number in range(3)))
    assert len({id(one.common) for one in made.find(Filter())}) == 1
    assert made.size < 10_000
    listed(made, owned("p", "20"), version="20")
    alone = made.size
    for version in range(21, 2000):  # each with another text, of which only the last is still somebody's
        made.event("MODIFIED", owned("p", str(version), priority=version))
    assert made.size - alone < 1100 * 6000
    assert made.size == made._budget.used
    made.clear()
    assert (made.size, made._budget.used) == (0, 0)


def test_a_copy_is_told_of_what_changed_also_while_nobody_watched() -> None:
    told = Told()
    made = collection(copy=told)
    listed(made, pod("a"), pod("b"), pod("c"))
    assert told.news == ["+shop/a", "+shop/b", "+shop/c"]
    told.news.clear()
    listed(made, pod("a"), pod("b", "2", uid="another"), pod("d"))
    assert sorted(told.news) == ["+shop/b", "+shop/d", "-Pod/uid-b", "-Pod/uid-c"]
    told.news.clear()
    made.event("MODIFIED", pod("a", "20"))
    made.event("ADDED", pod("a", "21", uid="new"))
    made.event("DELETED", pod("d", "22"))
    assert told.news == ["+shop/a", "-Pod/uid-a", "+shop/a", "-Pod/uid-d"]
