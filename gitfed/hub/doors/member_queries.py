"""Questions that a door puts to members in a caller's name, to answer one question of the caller."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session, end
from gitfed.errors import ClusterError
from gitfed.fleet_api import accept as accept_forms
from gitfed.fleet_api import headers
from gitfed.hub import routes
from gitfed.hub.doors import relay
from gitfed.text.values import dataclass

ANSWER = 15.0
"""Seconds until a member begins to answer, and between two parts of its answer: the others wait for it."""
_LARGEST = 256 << 20
_REFUSAL = 64 << 10
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    cluster: str
    status: int = 0
    """0: it did not answer."""
    body: Any = None
    content_type: str = ""
    error: str = ""
    """Why it did not, or what it said in place of an answer."""

    @property
    def good(self) -> bool:
        return self.status in (200, 201) and isinstance(self.body, Mapping)


async def ask(
    request: web.Request, session: Session, target: str, accept: str, document: bytes | None = None
) -> MemberAnswer:
    """GET, or POST of `document`, in the name of who sent `request`. What a member refuses and what it cannot
    answer are answers, too."""
    caller = routes.caller(request)
    sent = [("Accept", accept), *headers.impersonation(caller.name, caller.groups)]
    if agent := request.headers.get("User-Agent"):
        sent.append(("User-Agent", agent))
    if document is not None:
        sent.append(("Content-Type", request.headers.get("Content-Type", accept_forms.JSON)))
    method = "GET" if document is None else "POST"
    try:
        answer = await session.begin(method, target, sent, document, seconds=ANSWER, idle=ANSWER)
    except ClusterError as error:
        return MemberAnswer(session.cluster, error=error.message)
    try:
        if refused := relay.why_refused(session, answer):
            return MemberAnswer(session.cluster, error=refused)
        data = bytearray()
        async for part in answer.content.iter_any():
            data += part
            if len(data) > _LARGEST:
                return MemberAnswer(session.cluster, error=f"cluster {session.cluster}: it answers too much")
        body = _json(data, answer.status)
    except translate.NO_ANSWER as error:
        told = translate.unreachable(session.cluster, error, server=session.connection.server)
        return MemberAnswer(session.cluster, error=told.message)
    except ValueError:
        return MemberAnswer(session.cluster, error=f"cluster {session.cluster}: its answer is no JSON")
    finally:
        end(answer)
    message = "" if answer.status in (200, 201) else f"cluster {session.cluster}: {_message(body, answer.status)}"
    return MemberAnswer(session.cluster, answer.status, body, answer.headers.get("Content-Type", ""), message)


def _json(data: bytes | bytearray, status: int) -> Any:
    """Raises ValueError for an answer that is none; a refusal may be (of a kind that is not served: a line of text)."""
    try:
        return orjson.loads(data)
    except ValueError:
        if status == 200:
            raise
        return None


async def ask_all(
    request: web.Request, sessions: Iterable[Session], target: str, accept: str, document: bytes | None = None
) -> list[MemberAnswer]:
    """In the order of `sessions`."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask_one(session: Session) -> MemberAnswer:
        async with gate:
            return await ask(request, session, target, accept, document)

    return list(await asyncio.gather(*(ask_one(session) for session in sessions)))


async def said(answer: aiohttp.ClientResponse) -> str:
    """Of a refusal, in the member's words."""
    data = b""
    with contextlib.suppress(*translate.NO_ANSWER):
        async with asyncio.timeout(ANSWER):
            data = await answer.content.read(_REFUSAL)
    return _message(_json(data, answer.status), answer.status)


def _message(body: Any, status: int) -> str:
    message = body.get("message") if isinstance(body, Mapping) else None
    return translate.shorten(str(message)) if message else f"HTTP {status}"
