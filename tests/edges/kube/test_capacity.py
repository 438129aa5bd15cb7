"""The room of a cluster, watched: an embedded one, a real one, and servers that answer what a test tells them to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import capacity
from gitfed.edges.kube.capacity import CapacityReading, Watch
from gitfed.edges.kube.connection.session import Session
from gitfed.model.declared.cluster import usual_models
from gitfed.model.fleet import ClusterCondition, ClusterFacts, QuotaFacts
from tests.edges.kube.answering import body, serving
from tests.edges.kube.conftest import Place
from tests.support import patience

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTHING = CapacityReading()


@asynccontextmanager
async def watching(session: Session) -> AsyncIterator[Watch]:
    watch = Watch(session, backoff=Backoff((0.01,)))
    work = asyncio.create_task(watch.run())
    try:
        async with asyncio.timeout(patience.SECONDS):
            await watch.settled()
        yield watch
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience.SECONDS):
        while not claim():  # noqa: ASYNC110 - the watch has no event for "this very thing was seen"
            await asyncio.sleep(0.01)


def pod(name: str, namespace: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], **spec},
    }


async def test_nodes_and_pods_of_a_cluster_are_followed(place: Place) -> None:
    session, node = place.session, f"{place.namespace}-node"

    async def make_node() -> None:
        await session.json("POST", "/api/v1/nodes", body={"metadata": {"name": node, "labels": {"disk": "ssd"}}})
        allocatable = {"cpu": "8", "memory": "64Gi", "pods": "10"}
        await session.json(
            "PATCH", f"/api/v1/nodes/{node}/status", content_type="application/merge-patch+json",
            body={"status": {"capacity": allocatable, "allocatable": allocatable}},
        )  # fmt: skip

    async with watching(session) as watch:

        def mine() -> Any:
            return next((one for one in watch.tally.nodes() if one.name == node), None)

        def used() -> Any:
            return mine().requested

        assert watch.room(usual_models(), NOTHING).summary is not None
        await make_node()
        await until(lambda: mine() is not None and mine().allocatable.get("cpu") == "8")
        assert mine().labels["disk"] == "ssd"
        await place.post(pod("a", place.namespace, nodeName=node))
        await place.post(pod("b", place.namespace, "250m", nodeName=node))
        await until(lambda: used() == {"cpu": "750m", "pods": "2"})
        summary = watch.room(usual_models(), NOTHING).summary or {}
        assert sum(item["count"] for item in summary["allocatableModelings"]) >= 1
        await session.request(
            "DELETE", f"/api/v1/namespaces/{place.namespace}/pods/a", query={"gracePeriodSeconds": "0"}
        )
        await until(lambda: used() == {"cpu": "250m", "pods": "1"})
        await session.json(
            "PATCH", f"/api/v1/namespaces/{place.namespace}/pods/b/status", body={"status": {"phase": "Succeeded"}},
            content_type="application/merge-patch+json",
        )  # fmt: skip
        await until(lambda: used() == {})
        await session.request("DELETE", f"/api/v1/nodes/{node}")
        await until(lambda: mine() is None)


async def test_what_was_there_before_is_listed(place: Place) -> None:
    node = f"{place.namespace}-node"
    await place.session.json("POST", "/api/v1/nodes", body={"metadata": {"name": node}})
    await place.post(pod("a", place.namespace, nodeName=node))
    try:
        async with watching(place.session) as watch:
            (found,) = [one for one in watch.room((), NOTHING).nodes if one.name == node]
            assert found.requested == {"cpu": "500m", "pods": "1"}
            assert watch.problem == ""
    finally:
        await place.session.request("DELETE", f"/api/v1/nodes/{node}")


NODES = [{"metadata": {"name": f"n{number}"}, "status": {"allocatable": {"cpu": "4"}}} for number in range(450)]


def collections(answers: dict[str, Any]) -> Callable[[web.Request], Any]:
    """Lists in pages of the asked size; a watch that stays open; or what stands for a collection instead."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = answers.get(request.path.rpartition("/")[2], [])
        if isinstance(found, tuple):
            return body(found[1], found[0])
        if request.query.get("watch"):
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.Event().wait()
        start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        more = {"continue": str(start + limit)} if start + limit < len(found) else {}
        return body(
            {"kind": "List", "metadata": {"resourceVersion": "7", **more}, "items": found[start : start + limit]}
        )

    return answer


@asynccontextmanager
async def watching_server(answers: dict[str, Any]) -> AsyncIterator[Watch]:
    async with serving(collections(answers)) as server, server.session() as session, watching(session) as watch:
        yield watch


FORBIDDEN = (403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods is forbidden"})


async def test_long_lists_are_read_in_pages() -> None:
    async with serving(collections({"nodes": NODES, "pods": []})) as server, server.session() as session:
        async with watching(session) as watch:
            assert watch.room((), NOTHING).summary == {"allocatable": {"cpu": "1800"}}
        assert [one.query.get("continue") for one in server.asked if one.path.endswith("nodes")][:3] == [
            None,
            "200",
            "400",
        ]


async def test_pods_that_may_not_be_listed_keep_the_last_room_and_say_why() -> None:
    known = CapacityReading({"allocatable": {"cpu": "9"}})
    async with watching_server({"nodes": NODES, "pods": FORBIDDEN}) as watch:
        assert watch.room((), known) == CapacityReading(known.summary, (), "pods: pods is forbidden")


async def test_a_path_that_is_not_there_is_a_reason_too() -> None:
    gone = (404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such thing"})
    async with watching_server({"nodes": gone, "pods": []}) as watch:
        assert watch.problem == "nodes: no such thing"


async def test_when_it_can_be_read_again_the_room_is_up_to_date() -> None:
    answers: dict[str, Any] = {"nodes": NODES[:1], "pods": FORBIDDEN}
    async with watching_server(answers) as watch:
        answers["pods"] = []
        await until(lambda: watch.problem == "")
        assert watch.room((), NOTHING) == CapacityReading({"allocatable": {"cpu": "4"}}, watch.tally.nodes())


QUOTA = {
    "metadata": {"name": "q", "namespace": "shop"},
    "spec": {"hard": {"requests.cpu": "10", "pods": "5"}},
    "status": {"hard": {"requests.cpu": "10", "pods": "5"}, "used": {"requests.cpu": "4", "pods": "2"}},
}
LIMIT = QuotaFacts("shop", "q", {"cpu": "10"}, {"cpu": "4"})


async def test_quotas_of_a_cluster_are_followed(place: Place) -> None:
    session, path = place.session, f"/api/v1/namespaces/{place.namespace}/resourcequotas"

    def found(watch: Watch) -> list[QuotaFacts]:
        return [one for one in watch.room((), NOTHING).quotas if one.namespace == place.namespace]

    async with watching(session) as watch:
        await session.json("POST", path, body={"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "10"}}})
        await until(lambda: bool(found(watch)))
        assert [(one.name, dict(one.hard)) for one in found(watch)] == [("q", {"cpu": "10"})]
        await session.json("POST", path, body={"metadata": {"name": "r"}, "spec": {"hard": {"configmaps": "10"}}})
        await session.json("POST", path, body={"metadata": {"name": "s"}, "spec": {"hard": {"memory": "1Gi"}}})
        await until(lambda: len(found(watch)) == 2)
        await session.request("DELETE", f"{path}/q")
        await until(lambda: [one.name for one in found(watch)] == ["s"])


async def test_what_is_used_of_a_quota_is_told() -> None:
    async with watching_server({"nodes": NODES[:1], "pods": [], "resourcequotas": [QUOTA]}) as watch:
        room = watch.room((), NOTHING)
        assert room.quotas == (LIMIT,)
        found = capacity.told(BEFORE, room, before=BEFORE, now=NOW)
        assert found.quotas == (LIMIT,)
        assert condition(found) == ClusterCondition("CapacityKnown", "True", "Read", "", NOW)


async def test_quotas_that_nobody_asks_for_are_not_read() -> None:
    async with serving(collections({"nodes": NODES[:1], "pods": []})) as server, server.session() as session:
        watch = Watch(session, quotas=False)
        work = asyncio.create_task(watch.run())
        async with asyncio.timeout(patience.SECONDS):
            await watch.settled()
        assert watch.room((), NOTHING) == CapacityReading({"allocatable": {"cpu": "4"}}, watch.tally.nodes())
        assert not [one for one in server.asked if one.path.endswith("resourcequotas")]
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_quotas_that_may_not_be_listed_hold_nothing_up_and_are_said_to_be_unread() -> None:
    known = CapacityReading({"allocatable": {"cpu": "9"}}, quotas=(LIMIT,))
    async with watching_server({"nodes": NODES[:1], "pods": [], "resourcequotas": FORBIDDEN}) as watch:
        room = watch.room((), known)
        assert (room.summary, room.quotas, room.problem) == ({"allocatable": {"cpu": "4"}}, (LIMIT,), "")
        assert condition(capacity.told(BEFORE, room, before=BEFORE, now=NOW)) == ClusterCondition(
            "CapacityKnown", "True", "QuotasNotReadable", "resourcequotas: pods is forbidden", NOW
        )


# -- as facts

BEFORE = ClusterFacts("m1", conditions=(ClusterCondition("Ready", "True", "ClusterReady"),))
ROOM = CapacityReading({"allocatable": {"cpu": "4"}})


def condition(found: ClusterFacts) -> ClusterCondition | None:
    return next((one for one in found.conditions if one.type == capacity.KNOWN), None)


def test_room_that_was_read_says_so_with_the_time_since_when() -> None:
    first = capacity.told(BEFORE, ROOM, before=BEFORE, now=NOW)
    assert first.resource_summary == ROOM.summary
    assert condition(first) == ClusterCondition("CapacityKnown", "True", "Read", "", NOW)
    later = capacity.told(BEFORE, ROOM, before=first, now=NOW + timedelta(minutes=1))
    assert later == first


def test_room_that_cannot_be_read_any_more_stays_and_is_marked() -> None:
    first = capacity.told(BEFORE, ROOM, before=BEFORE, now=NOW)
    lost = CapacityReading(ROOM.summary, (), "pods: forbidden")
    found = capacity.told(BEFORE, lost, before=first, now=NOW + timedelta(minutes=1))
    assert found.resource_summary == ROOM.summary
    assert condition(found) == ClusterCondition(
        "CapacityKnown", "False", "NotReadable", "pods: forbidden", NOW + timedelta(minutes=1)
    )


def test_before_the_first_look_nothing_is_said() -> None:
    assert capacity.told(BEFORE, CapacityReading(problem=capacity.NOT_READ), before=BEFORE, now=NOW) == BEFORE


def test_room_that_nobody_asks_for_is_forgotten() -> None:
    assert capacity.untold(capacity.told(BEFORE, ROOM, before=BEFORE, now=NOW)) == BEFORE


@pytest.mark.parametrize("event", ["ADDED", "MODIFIED", "DELETED"])
def test_an_object_that_makes_no_sense_breaks_nothing(event: str) -> None:
    watch = Watch(None)  # type: ignore[arg-type]
    for follower in (capacity._Nodes(watch), capacity._Pods(watch), capacity._Quotas(watch)):
        follower.event(event, {})
        follower.event(event, {"metadata": None, "spec": None, "status": {"allocatable": {"cpu": True}}})
