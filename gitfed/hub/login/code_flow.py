"""The OpenID Connect code flow with PKCE, from a browser that has no session to the name of its person.

What one login has to remember (state, nonce, verifier) is in a cookie of that browser, so that a login begun elsewhere
can be neither finished nor forced on somebody here, and strangers fill no memory of ours. That cookie is
`SameSite=Lax`: the issuer's redirect has to bring it along.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
from collections.abc import Callable
from urllib.parse import quote, unquote

import orjson
from aiohttp import web

from gitfed.edges import oidc
from gitfed.errors import IdentityError
from gitfed.hub.access import authentication
from gitfed.hub.access.caller import AuthenticationMethod, Caller

audit = logging.getLogger("gitfed.audit")
log = logging.getLogger("gitfed.hub")

_LIFE = 600
"""Seconds that a person takes at the issuer's page at most."""
_LOCAL = re.compile(r"/(?:ui(?:[/?][\x21-\x7e]*)?)?")
_LONGEST = 2000


def local_path(text: str, otherwise: str) -> str:
    """A page of ours that somebody wanted to see; no address of anything else."""
    return text if _LOCAL.fullmatch(text) and len(text) <= _LONGEST and "\\" not in text else otherwise


class CodeFlow:
    """`redirect` is where the issuer sends a browser back to, as it is registered there."""

    def __init__(self, issuer: oidc.Issuer, redirect: Callable[[], str]) -> None:
        self._issuer = issuer
        self._redirect = redirect

    async def start(self, request: web.Request) -> web.StreamResponse:
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        try:
            where = await self._issuer.login_url(redirect=self._redirect(), state=state, nonce=nonce, verifier=verifier)
        except IdentityError as error:
            raise _unreachable(error) from error
        answer = web.Response(status=303, headers={"Location": where})
        target = local_path(request.query.get("next", ""), "/ui")
        answer.set_cookie(
            _cookie(request),
            quote(json.dumps([state, nonce, verifier, target])),
            max_age=_LIFE,
            path="/",
            secure=authentication.is_secure(request),
            httponly=True,
            samesite="Lax",
        )
        return answer

    async def finish(self, request: web.Request) -> tuple[Caller, str]:
        """Who logged in, and which page they wanted to see. Raises HTTPException."""
        state, nonce, verifier, target = _begun(request)
        if not state or not hmac.compare_digest(request.query.get("state", "").encode(), state.encode()):
            raise web.HTTPUnauthorized(text="this login was begun elsewhere, or too long ago: try again")
        if error_code := request.query.get("error"):
            audit.info("login refused", extra={"error": error_code[:100], "remote": request.remote})
            raise web.HTTPUnauthorized(text="the issuer did not log you in")
        try:
            identity = await self._issuer.exchange(
                request.query.get("code", ""), redirect=self._redirect(), nonce=nonce, verifier=verifier
            )
        except IdentityError as error:
            if error.retry:
                raise _unreachable(error) from error
            audit.info("login refused", extra={"error": error.message, "remote": request.remote})
            raise web.HTTPUnauthorized(text="the issuer's answer is not accepted: try again") from error
        return Caller(identity.name, identity.groups, AuthenticationMethod.OIDC), target

    def forget(self, request: web.Request, answer: web.Response) -> None:
        """The cookie served its purpose."""
        answer.del_cookie(
            _cookie(request), path="/", secure=authentication.is_secure(request), httponly=True, samesite="Lax"
        )


def _begun(request: web.Request) -> tuple[str, str, str, str]:
    """What `start` wrote down in this browser; empty when there is nothing, or nothing that can be read."""
    try:
        state, nonce, verifier, target = orjson.loads(unquote(request.cookies.get(_cookie(request), "")))
    except (ValueError, TypeError):
        return "", "", "", ""
    parts = (state, nonce, verifier, target)
    return parts if all(isinstance(part, str) for part in parts) else ("", "", "", "")


def _cookie(request: web.Request) -> str:
    return "__Host-gitfed-login" if authentication.is_secure(request) else "gitfed-login"


def _unreachable(error: IdentityError) -> web.HTTPException:
    log.warning("users cannot log in", extra={"error": error.message})
    return web.HTTPServiceUnavailable(text="the issuer cannot be asked now: try again in a moment")
