"""One request passed on to a member and its answer passed back, each sent on as it arrives."""

from __future__ import annotations

from dataclasses import field

import aiohttp
from aiohttp import web

from gitfed.edges.kube.connection.session import Session, end
from gitfed.errors import ClusterError, CredentialsError
from gitfed.fleet_api import headers
from gitfed.http_relay import passing, tunnel
from gitfed.hub import refusal, routes
from gitfed.hub.server import Hub
from gitfed.text.values import dataclass

LARGEST = passing.LARGEST
HEAD = 62.0
"""Seconds until an answer begins: API servers give up after sixty."""


@dataclass(slots=True)
class Relay:
    hub: Hub
    head: float = field(default_factory=lambda: HEAD)

    async def pass_on(
        self, request: web.Request, session: Session, target: str, *, may_wait: bool = False, body: bytes | None = None
    ) -> web.StreamResponse:
        """`may_wait`: the answer may begin as late as it likes. `body`: in place of the caller's."""
        caller = routes.caller(request)
        upgrade = passing.upgrade_of(request)
        sent = headers.to_member(request.headers.items(), upgrade=upgrade)
        if body is not None:
            sent = [(name, value) for name, value in sent if name.lower() != "content-length"]
        sent += headers.impersonation(caller.name, caller.groups)
        upload = passing.Upload(request, LARGEST)
        data = body if body is not None else upload.parts() if request.body_exists and not upgrade else None
        try:
            answer = await session.begin(request.method, target, sent, data, seconds=None if may_wait else self.head)
        except ClusterError as error:
            if upload.too_large:
                return refusal.answer(request, 413, f"the body is larger than {LARGEST >> 20} MiB")
            return no_answer(request, error)
        try:
            if refused := why_refused(session, answer):
                return refusal.answer(request, 502 if answer.status < 400 else 503, refused)
            if answer.status == 101:
                return await tunnel.dig(request, answer)
            return await passing.pass_back(request, answer)
        finally:
            end(answer)


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
