"""One request passed on to a member, and its answer passed back: neither is held longer than it takes to send it on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube import translate
from gitfed.edges.kube.session import Session, end
from gitfed.errors import ClusterError, CredentialsError
from gitfed.fleet_api import headers
from gitfed.hub import refusal, routes
from gitfed.hub.doors import tunnel
from gitfed.hub.server import Hub

LARGEST = 64 << 20
"""Bytes of a body. API servers take 3 MiB; a program behind `services/proxy` may take more."""
HEAD = 62.0
"""Seconds until an answer begins: API servers give up after sixty."""
_CSP = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A page of a program in a member is nothing that a browser should run in the hub's name."""


@dataclass(slots=True)
class Relay:
    hub: Hub
    head: float = field(default_factory=lambda: HEAD)

    async def pass_on(
        self, request: web.Request, session: Session, target: str, *, may_wait: bool = False,
        body: bytes | None = None,
    ) -> web.StreamResponse:  # fmt: skip
        """`may_wait`: the answer may begin as late as it likes. `body`: in place of the caller's."""
        caller = routes.caller(request)
        upgrade = upgrade_of(request)
        sent = headers.to_member(request.headers.items(), upgrade=upgrade)
        if body is not None:
            sent = [(name, value) for name, value in sent if name.lower() != "content-length"]
        sent += headers.impersonation(caller.name, caller.groups)
        upload = _Upload(request)
        data = body if body is not None else upload.parts() if request.body_exists and not upgrade else None
        try:
            answer = await session.begin(
                request.method, target, sent, data, seconds=None if may_wait else self.head
            )  # fmt: skip
        except ClusterError as error:
            if upload.too_large:
                return refusal.answer(request, 413, f"the body is larger than {LARGEST >> 20} MiB")
            return no_answer(request, error)
        try:
            if refused := why_refused(session, answer):
                return refusal.answer(request, 502 if answer.status < 400 else 503, refused)
            if answer.status == 101:
                return await tunnel.dig(request, answer)
            return await pass_back(request, answer)
        finally:
            end(answer)


def upgrade_of(request: web.Request) -> str:
    """The protocol that the caller wants to change to; "" for none."""
    wanted = {word.strip().lower() for word in request.headers.get("Connection", "").split(",")}
    return request.headers.get("Upgrade", "") if "upgrade" in wanted else ""


def no_answer(request: web.Request, error: ClusterError) -> web.Response:
    late = error.reason == "Timeout"
    hint = error.hint if isinstance(error, CredentialsError) else ""
    return refusal.answer(request, 504 if late else 503, error.message, hint=hint)


def why_refused(session: Session, answer: aiohttp.ClientResponse) -> str:
    """Why an answer is not passed back; "" when it is."""
    if 300 <= answer.status < 400 and answer.status != 304:
        return f"cluster {session.cluster}: it answers with a redirect (HTTP {answer.status}), which is not followed"
    if answer.status == 401:
        # Passed on, it would tell callers that their own credential is wrong.
        return f"cluster {session.cluster}: it does not accept the credential that gitfed has for it (HTTP 401)"
    return ""


async def pass_back(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    back = web.StreamResponse(
        status=answer.status, headers=CIMultiDict(headers.to_caller(answer.headers.items()))
    )  # fmt: skip
    back.headers["Content-Security-Policy"] = _CSP
    await back.prepare(request)
    try:
        async for part in answer.content.iter_any():
            await back.write(part)
    except translate.NO_ANSWER:
        # Its head is sent: what is missing can only be told by not ending well.
        if request.transport is not None:
            request.transport.abort()
        return back
    await back.write_eof()
    return back


class _Upload:
    def __init__(self, request: web.Request) -> None:
        self._request = request
        self.too_large = False

    async def parts(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._request.content.iter_any():
            size += len(part)
            if size > LARGEST:
                self.too_large = True
                raise ConnectionAbortedError
            yield part
