"""What one look tells about a cluster's health."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from gitfed.edges.kube import facts
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.model.fleet import ApiEnablements, ClusterCondition, ClusterFacts, Reach
from tests.edges.kube.answering import body, by_path, connection, serving
from tests.edges.kube.conftest import Place
from tests.edges.kube.groups import APPS, CORE, aggregated, group

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
COMPLETE = ClusterCondition("CompleteAPIEnablements", "True", "Complete", "", NOW)
READY = ClusterCondition("Ready", "True", "ClusterReady", "cluster is healthy and ready to accept workloads", NOW)
KINDS = frozenset({("v1", "ConfigMap"), ("apps/v1", "Deployment")})
HEALTHY = {
    "/readyz": lambda: web.Response(text="ok"),
    "/version": lambda: body({"gitVersion": "v1.36.2"}),
    "/api": lambda: body(CORE),
    "/apis": lambda: body(aggregated(APPS)),
}
KNOWN = ClusterFacts(
    "m1",
    conditions=(COMPLETE, READY),
    apis=ApiEnablements(KINDS),
    kubernetes_version="v1.36.2",
)


async def look(answers: dict[str, Any], previous: ClusterFacts | None = None, now: datetime = NOW) -> ClusterFacts:
    async with serving(by_path(answers)) as server, server.session() as session:
        return await facts.probe(session, Discovery(session), now=now, previous=previous)


async def test_a_healthy_cluster() -> None:
    assert await look(HEALTHY) == KNOWN


async def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    assert await look(HEALTHY, KNOWN, LATER) == KNOWN
    down = await look({}, KNOWN, LATER)
    assert {condition.type: condition.last_transition for condition in down.conditions} == {
        "CompleteAPIEnablements": NOW,
        "Ready": LATER,
    }


@pytest.mark.parametrize(
    ("answers", "reach", "condition"),
    [
        pytest.param(
            {"/readyz": lambda: web.Response(status=202)},
            Reach.NOT_READY,
            ClusterCondition(
                "Ready",
                "False",
                "ClusterNotReady",
                "cluster is reachable but health endpoint responded without ok",
                NOW,
            ),
            id="another 2xx",
        ),
        pytest.param(
            {"/readyz": lambda: web.Response(status=500, text="[-]etcd failed")},
            Reach.NOT_READY,
            ClusterCondition("Ready", "False", "ClusterNotReachable", "[-]etcd failed", NOW),
            id="an error",
        ),
        pytest.param(
            {"/readyz": lambda: web.Response(status=503)},
            Reach.NOT_READY,
            ClusterCondition("Ready", "False", "ClusterNotReachable", "HTTP 503", NOW),
            id="a busy server",
        ),
        pytest.param(
            {"/readyz": lambda: web.Response(status=401, text="who?")},
            Reach.NOT_READY,
            ClusterCondition("Ready", "False", "ClusterNotReachable", "who?", NOW),
            id="refused credentials",
        ),
        pytest.param(
            {"/healthz": lambda: web.Response(status=500, text="sick")},
            Reach.NOT_READY,
            ClusterCondition("Ready", "False", "ClusterNotReachable", "sick", NOW),
            id="an error of an old server",
        ),
    ],
)
async def test_a_cluster_that_is_not_ready_keeps_its_last_facts(
    answers: dict[str, Any], reach: Reach, condition: ClusterCondition
) -> None:
    found = await look(answers, KNOWN)
    assert found == replace(KNOWN, reach=reach, conditions=(COMPLETE, condition))


async def test_an_old_server_without_readyz_is_asked_for_healthz() -> None:
    answers = {**HEALTHY, "/healthz": HEALTHY["/readyz"]}
    del answers["/readyz"]
    assert (await look(answers)).reach is Reach.READY


async def test_a_cluster_that_gives_no_answer_is_unknown() -> None:
    async with Session("m1", connection("http://127.0.0.1:1")) as session:
        found = await facts.probe(session, Discovery(session), now=NOW, previous=KNOWN)
    assert (found.reach, found.kubernetes_version, found.apis) == (Reach.UNKNOWN, "v1.36.2", KNOWN.apis)
    (ready,) = [condition for condition in found.conditions if condition.type == "Ready"]
    assert (ready.status, ready.reason) == ("False", "ClusterNotReachable")


async def hanging(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError


async def test_a_network_that_is_cut_while_kinds_are_read_is_noticed_by_the_look_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request that nobody answers ends after half a minute; a look does not wait for that."""
    monkeypatch.setattr(facts, "LONGEST", 0.2)
    monkeypatch.setattr(facts, "_PULSE", 0.05)
    whole = by_path(HEALTHY)
    cut = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/apis":
            cut.set()
        return await (hanging if cut.is_set() else whole)(request)

    async with serving(answer) as server, server.session() as session:
        async with asyncio.timeout(20):
            found = await facts.probe(session, Discovery(session), now=LATER, previous=KNOWN)
    assert (found.reach, found.apis, found.kubernetes_version) == (Reach.UNKNOWN, KNOWN.apis, "v1.36.2")
    assert {one.type: (one.status, one.reason) for one in found.conditions} == {
        "CompleteAPIEnablements": ("True", "Complete"),
        "Ready": ("False", "ClusterNotReachable"),
    }


async def test_a_cluster_that_takes_its_time_to_tell_its_kinds_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "_PULSE", 0.01)
    whole = by_path(HEALTHY)
    beats = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal beats
        beats += request.path == "/readyz"
        while request.path == "/apis" and beats < 5:  # noqa: ASYNC110 - a server that waits for its client
            await asyncio.sleep(0.01)
        return await whole(request)

    async with serving(answer) as server, server.session() as session:
        found = await facts.probe(session, Discovery(session), now=NOW)
    assert found == KNOWN
    assert beats >= 5


async def test_connections_that_break_while_kinds_are_read_are_a_cluster_that_is_away() -> None:
    whole = by_path(HEALTHY)
    gone = False

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal gone
        gone = gone or request.path == "/apis"
        if gone:
            assert request.transport is not None
            request.transport.abort()
        return await whole(request)

    async with serving(answer) as server, server.session() as session:
        found = await facts.probe(session, Discovery(session), now=NOW, previous=KNOWN)
    assert (found.reach, found.apis) == (Reach.UNKNOWN, KNOWN.apis)


async def test_a_look_does_not_queue_behind_requests_that_nobody_answers() -> None:
    whole = by_path(HEALTHY)

    async def answer(request: web.Request) -> web.StreamResponse:
        return await (hanging if request.method == "PATCH" else whole)(request)

    async with serving(answer) as server, server.session(concurrency=2) as session:
        stuck = [asyncio.ensure_future(session.request("PATCH", "/x", body={})) for _ in range(5)]
        while len(server.asked) < 2:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            reach, _ = await facts._ready(session)
        for one in stuck:
            one.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
    assert reach is Reach.READY


async def test_credentials_that_cannot_be_used_are_no_fact_about_the_cluster() -> None:
    from gitfed import errors

    async def refuse() -> Any:
        raise errors.CredentialsError("cluster m1: its program gave no credential", cluster="m1")

    way = credentials.ClusterConnection("m1", "https://127.0.0.1:1", "a test", refuse)
    async with Session("m1", way) as session:
        with pytest.raises(errors.CredentialsError):
            await facts.probe(session, Discovery(session), now=NOW)


@pytest.mark.parametrize("status", [403, 503])
async def test_a_door_that_does_not_open_is_no_fact_about_the_cluster(status: int) -> None:
    from gitfed import errors
    from gitfed.fleet_api import status as refusals

    said = refusals.failure(status, "cluster m1: its agent is not connected")
    answers: dict[str, Any] = {"/readyz": lambda: web.json_response(said, status=status)}
    async with serving(by_path(answers)) as server:
        door = replace(connection(server.url), is_door=True)
        async with Session("m1", door) as session:
            with pytest.raises(errors.CredentialsError) as refused:
                await facts.probe(session, Discovery(session), now=NOW)
    assert refused.value.message == "cluster m1: its agent is not connected"


@pytest.mark.parametrize(
    ("apis", "status", "reason", "kinds"),
    [
        (
            lambda: body(aggregated(APPS, group("metrics.k8s.io", ("v1", "Stale", [])))),
            "False",
            "Partial",
            KINDS,
        ),
        (lambda: web.Response(status=500, text="oops"), "False", "Empty", frozenset()),
    ],
)
async def test_kinds_that_could_not_be_read_are_not_absent(
    apis: Any, status: str, reason: str, kinds: frozenset[tuple[str, str]]
) -> None:
    found = await look({**HEALTHY, "/apis": apis})
    assert found.reach is Reach.READY
    assert found.apis == ApiEnablements(kinds, complete=False)
    (complete,) = [condition for condition in found.conditions if condition.type == "CompleteAPIEnablements"]
    assert (complete.status, complete.reason) == (status, reason)
    again = await look({**HEALTHY, "/apis": lambda: web.Response(status=500)}, KNOWN)
    assert again.apis == ApiEnablements(KINDS, complete=False)


async def test_a_version_that_could_not_be_read_is_the_last_one() -> None:
    found = await look({**HEALTHY, "/version": lambda: web.Response(status=500)}, KNOWN)
    assert found.kubernetes_version == "v1.36.2"


async def test_a_real_server_is_ready(place: Place) -> None:
    found = await facts.probe(place.session, place.discovery, now=NOW)
    assert found.reach is Reach.READY
    assert found.kubernetes_version.startswith("v1.")
    assert found.apis is not None
    assert found.apis.complete
