"""How a browser gets a session: by a one-time token that stands in a link, or by the OpenID Connect issuer.

`POST /logout` ends it. A session's cookie is `SameSite=Strict`: a browser does not send it with a request that another
site caused, so a browser that comes back from the issuer is first given a page of ours, which leads on.
"""

from __future__ import annotations

import html
import logging

from aiohttp import web

from gitfed.hub.access import authentication
from gitfed.hub.access.authentication import OidcTokens
from gitfed.hub.access.caller import Caller
from gitfed.hub.login.code_flow import CodeFlow, local_path
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub

audit = logging.getLogger("gitfed.audit")


def capability(hub: Hub) -> Capability:
    issuer = next((verifier.issuer for verifier in hub.authentication.tokens if isinstance(verifier, OidcTokens)), None)

    async def log_in(request: web.Request) -> web.StreamResponse:
        caller = hub.login_tokens.redeem(request.query.get("token", ""))
        if caller is None:
            raise web.HTTPUnauthorized(text="this link was used already, or never was one")
        return begin(hub, request, caller, hub.home)

    async def log_out(request: web.Request) -> web.StreamResponse:
        name = authentication.cookie_name(request)
        hub.sessions.end(request.cookies.get(name, ""))
        if "text/html" in request.headers.get("Accept", ""):
            answer = web.Response(status=303, headers={"Location": hub.home})
        else:
            answer = web.Response(status=204)
        answer.del_cookie(name, path="/", secure=authentication.is_secure(request), httponly=True, samesite="Strict")
        return answer

    routes = [Route("GET", "/login/token", log_in, open=True), Route("POST", "/logout", log_out)]
    if issuer is not None:
        flow = CodeFlow(issuer, lambda: f"{hub.url}/login/callback")

        async def call_back(request: web.Request) -> web.StreamResponse:
            caller, target = await flow.finish(request)
            answer = begin(hub, request, caller, target)
            flow.forget(request, answer)
            return answer

        routes += [
            Route("GET", "/login/oidc", flow.start, open=True),
            Route("GET", "/login/callback", call_back, open=True),
        ]
    return Capability(routes=tuple(routes))


def link(hub: Hub, caller: Caller) -> str:
    """An address that logs one browser in, once. For a hub that listens on a loopback address only."""
    assert hub.options.loopback
    return f"{hub.browser_url}/login/token?token={hub.login_tokens.issue(caller)}"


def begin(hub: Hub, request: web.Request, caller: Caller, target: str) -> web.Response:
    """Give the browser a session, and a page that leads on to `target`, a path of ours."""
    audit.info("login", extra={"who": caller.name, "way": caller.way.value, "remote": request.remote})
    shown = html.escape(local_path(target, hub.home))
    answer = web.Response(
        content_type="text/html",
        text=f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed in</title>'
        f'<meta http-equiv="refresh" content="0;url={shown}"><a href="{shown}">Continue to gitfed</a></html>\n',
    )
    answer.set_cookie(
        authentication.cookie_name(request),
        hub.sessions.begin(caller),
        path="/",
        secure=authentication.is_secure(request),
        httponly=True,
        samesite="Strict",
    )
    return answer
