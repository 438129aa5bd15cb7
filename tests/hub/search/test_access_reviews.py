"""What a member says of a caller: asked once a minute, and of a member that is silent not believed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web

from gitfed.fleet_api import request as api_request
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.search import access_reviews
from gitfed.hub.search.access_reviews import AccessReview, AccessReviews
from tests.edges.kube.answering import serving
from tests.support import patience

PODS = api_request.parse("/api/v1/namespaces/shop/pods")
ANN = Caller("ann", ("team", "system:authenticated", "system:masters"), way=AuthenticationMethod.OIDC)


@dataclass
class Member:
    answer: object = True
    asked: list[tuple[dict[str, object], list[str]]] = field(default_factory=list)
    wait: asyncio.Event | None = None

    async def __call__(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        self.asked.append((body["spec"]["resourceAttributes"], request.headers.getall("Impersonate-Group", [])))
        assert request.headers["Impersonate-User"]
        if self.wait is not None:
            await self.wait.wait()
        if isinstance(self.answer, web.Response):
            return self.answer
        return web.Response(body=orjson.dumps({"status": {"allowed": self.answer}}), status=201)


async def test_a_caller_is_asked_about_in_their_name_once_in_a_while() -> None:
    member, now = Member(), [0.0]
    reviews = AccessReviews(clock=lambda: now[0])
    async with serving(member) as server, server.session() as session:
        for _ in range(3):
            assert await reviews.of(session, ANN, PODS, "list") == AccessReview(True)
        assert member.asked == [({"verb": "list", "version": "v1", "resource": "pods", "namespace": "shop"}, ["team"])]
        member.answer = False
        now[0] = 59.0
        assert (await reviews.of(session, ANN, PODS, "list")).allowed
        now[0] = 61.0
        assert not (await reviews.of(session, ANN, PODS, "list")).allowed
        member.answer = True
        now[0] = 70.0
        assert not (await reviews.of(session, ANN, PODS, "list")).allowed
        now[0] = 72.0  # a no is held for ten seconds only
        assert (await reviews.of(session, ANN, PODS, "list")).allowed
        assert len(member.asked) == 3


async def test_other_callers_verbs_and_objects_are_other_questions() -> None:
    member, reviews = Member(), AccessReviews()
    one = api_request.parse("/apis/apps/v1/namespaces/shop/deployments/web")
    async with serving(member) as server, server.session() as session:
        for caller, about, verb in (
            (ANN, PODS, "list"), (Caller("ann", ("other",)), PODS, "list"), (Caller("bob"), PODS, "list"),
            (ANN, PODS, "get"), (ANN, one, "get"),
        ):  # fmt: skip
            await reviews.of(session, caller, about, verb)
    assert len(member.asked) == 5
    assert member.asked[-1][0] == {
        "verb": "get", "group": "apps", "version": "v1", "resource": "deployments", "namespace": "shop", "name": "web"
    }  # fmt: skip


async def test_questions_that_are_alike_and_under_way_are_one() -> None:
    member, reviews = Member(wait=asyncio.Event()), AccessReviews()
    async with serving(member) as server, server.session() as session:
        asking = [asyncio.create_task(reviews.of(session, ANN, PODS, "list")) for _ in range(5)]
        async with asyncio.timeout(patience.SECONDS):
            while not member.asked:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        asking.pop().cancel()  # who leaves does not take the answer along
        assert member.wait is not None
        member.wait.set()
        assert {(await one).allowed for one in asking} == {True}
    assert len(member.asked) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (web.Response(body=b'{"message": "ann cannot be impersonated"}', status=403),
         "cluster m1: ann cannot be impersonated"),
        (web.Response(body=b"null", status=500), "cluster m1: HTTP 500"),
        (web.Response(body=b"so be it", status=201), "cluster m1: its answer is no access review"),
        (web.Response(body=b'{"status": true}', status=201), "cluster m1: its answer is no access review"),
        ("yes", ""),
    ],
)  # fmt: skip
async def test_what_is_no_yes_is_a_no(answer: object, why: str) -> None:
    member = Member(answer)
    async with serving(member) as server, server.session() as session:
        assert await AccessReviews().of(session, ANN, PODS, "list") == AccessReview(False, why)


async def test_a_member_that_hangs_says_no_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_reviews, "ANSWER", 0.2)
    member = Member(wait=asyncio.Event())
    async with serving(member) as server, server.session() as session:
        verdict = await AccessReviews().of(session, ANN, PODS, "list")
        assert verdict == AccessReview(False, "cluster m1: no answer in time")
