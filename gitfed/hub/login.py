"""How a browser gets a session: by a one-time token that stands in a link, and `POST /logout`."""

from __future__ import annotations

import logging

from aiohttp import web

from gitfed.hub.access import authentication
from gitfed.hub.access.caller import Caller
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub

audit = logging.getLogger("gitfed.audit")


def capability(hub: Hub) -> Capability:
    async def log_in(request: web.Request) -> web.StreamResponse:
        caller = hub.login_tokens.redeem(request.query.get("token", ""))
        if caller is None:
            return web.Response(status=401, text="this link was used already, or never was one\n")
        answer = web.Response(status=303, headers={"Location": hub.home})
        begin(hub, request, answer, caller)
        return answer

    async def log_out(request: web.Request) -> web.StreamResponse:
        name = authentication.cookie_name(request)
        hub.sessions.end(request.cookies.get(name, ""))
        answer = web.Response(status=204)
        answer.del_cookie(name, path="/", secure=authentication.is_secure(request), httponly=True, samesite="Strict")
        return answer

    return Capability(
        routes=(Route("GET", "/login/token", log_in, open=True), Route("POST", "/logout", log_out)),
    )


def link(hub: Hub, caller: Caller) -> str:
    """An address that logs one browser in, once. For a hub that listens on a loopback address only."""
    assert hub.options.loopback
    return f"{hub.url}/login/token?token={hub.login_tokens.issue(caller)}"


def begin(hub: Hub, request: web.Request, answer: web.StreamResponse, caller: Caller) -> None:
    """Give the browser that gets `answer` a session."""
    audit.info("login", extra={"who": caller.name, "way": caller.way.value, "remote": request.remote})
    answer.set_cookie(
        authentication.cookie_name(request), hub.sessions.begin(caller),
        path="/", secure=authentication.is_secure(request), httponly=True, samesite="Strict",
    )  # fmt: skip
