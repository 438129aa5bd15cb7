"""What a server may answer to a write, and what becomes of it. (Real conversations are in test_apply.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from gitfed import errors
from gitfed.edges.kube import apply
from gitfed.edges.kube.discovery import Discovery
from gitfed.model.base import Body
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode
from tests.edges.kube.answering import body, serving
from tests.edges.kube.conftest import create, delete, update
from tests.edges.kube.groups import CORE, aggregated

DESIRED: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {}}
LIVE: Body = {**DESIRED, "metadata": {**DESIRED["metadata"], "uid": "u", "resourceVersion": "7"}}


def status(code: int, message: str, reason: str = "", **details: Any) -> Callable[[], web.Response]:
    value = {"kind": "Status", "code": code, "message": message, "reason": reason, "details": details}
    return lambda: body(value, code)


async def done(
    change: Change, *answers: Callable[[], web.Response], redact: Any = None
) -> tuple[ApplyResult, list[str]]:
    """The result, and the methods of the requests after discovery; each write gets the next answer."""
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path in ("/api", "/apis"):
            return body(CORE if request.path == "/api" else aggregated())
        return left.pop(0)()

    async with serving(answer) as server, server.session() as session:
        discovery = Discovery(session)
        await discovery.refresh()
        asked = len(server.asked)
        target = apply.ApplyTarget(session, discovery, "acme", redact=redact, gone_after=(0.0,), served_after=(0.0,))
        result = await apply.carry_out(target, change)
        return result, [request.method for request in server.asked[asked:]]


async def test_a_conflict_names_the_other_manager_and_the_field() -> None:
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.k"}]
    result, _ = await done(
        update(DESIRED, LIVE), status(409, "Apply failed with 1 conflict", "Conflict", causes=causes)
    )
    assert (result.outcome, result.message, result.retry) == (
        "failed",
        'conflict with "kubectl" using v1: .data.k',
        True,
    )


async def test_a_webhook_may_deny_a_deletion() -> None:
    said = 'admission webhook "guard.example.com" denied the request: not today'
    result, _ = await done(delete(LIVE), status(403, said, "Forbidden"))
    assert (result.outcome, result.message, result.retry) == ("failed", said, False)


async def test_a_namespace_that_goes_is_worth_another_try() -> None:
    causes = [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]
    result, _ = await done(create(DESIRED), status(403, "because it is being terminated", "Forbidden", causes=causes))
    assert (result.outcome, result.retry) == ("failed", True)


async def test_a_404_of_a_proxy_deletes_nothing() -> None:
    result, asked = await done(delete(LIVE), lambda: web.Response(status=404, text="default backend - 404"))
    assert (result.outcome, result.message, result.retry) == ("failed", "default backend - 404", True)
    assert asked == ["DELETE", "GET", "GET"]  # and discovery is read again: the path may be gone


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (status(401, "who?"), errors.Unauthorized),
        (status(403, 'x is forbidden: User "u" cannot'), errors.Unauthorized),
        (status(429, "slow down"), errors.ClusterBusy),
        (status(503, "later"), errors.ClusterBusy),
    ],
)
async def test_what_is_wrong_with_the_cluster_is_raised(
    answer: Callable[[], web.Response], expected: type[errors.ClusterError]
) -> None:
    with pytest.raises(expected):
        await done(create(DESIRED), answer)


async def test_a_500_fails_this_change_and_is_worth_another_try() -> None:
    result, _ = await done(create(DESIRED), status(500, "etcdserver: request timed out"))
    assert (result.outcome, result.message, result.retry) == ("failed", "etcdserver: request timed out", True)


@pytest.mark.parametrize("action", [Action.KEEP, Action.SKIP])
async def test_what_is_kept_or_skipped_asks_nothing(action: Action) -> None:
    change = Change(
        "m1", create(DESIRED).key, "v1", action, reason=Reason(ReasonCode.GATE, "deletions", detail="7 of at most 5")
    )
    result, asked = await done(change)
    assert (result.outcome, result.message, asked) == ("skipped", "gate deletions: 7 of at most 5", [])


async def test_the_first_write_names_a_version_that_nothing_has() -> None:
    sent: list[bytes] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path in ("/api", "/apis"):
            return body(CORE if request.path == "/api" else aggregated())
        sent.append(await request.read())
        assert dict(request.query) == {"fieldManager": "gitfed", "force": "true", "fieldValidation": "Ignore"}
        assert request.headers["Content-Type"] == "application/apply-patch+yaml"
        return body(LIVE, 201)

    async with serving(answer) as server, server.session() as session:
        result = await apply.carry_out(apply.ApplyTarget(session, Discovery(session), "acme"), create(DESIRED))
    assert (result.outcome, result.took > 0) == ("created", True)
    assert sent == [
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","resourceVersion":"1"},"data":{}}'
    ]


async def test_texts_are_redacted_by_the_caller_who_knows_the_values() -> None:
    def redact(sent: Body, text: str) -> str:
        assert sent["metadata"]["uid"] == "u"
        return text.replace("hunter2", "•••")

    result, _ = await done(update(DESIRED, LIVE), status(422, "bad value hunter2", "Invalid"), redact=redact)
    assert result.message == "bad value •••"
