"""Who sends a request: the ways in order, the first that applies decides.

    certificate     a client certificate that our own authority signed (TLS has checked it already)
    bearer token    of the OIDC issuer, if it says that it is from there; else of the host cluster (TokenReview)
    cookie          of a session that a page's login began

A credential that does not hold is refused, it does not fall through to the next way: a caller with a
wrong one is told so. Nothing is read of `X-Forwarded-*`, `X-Remote-*` or `Impersonate-*`: any client can send those.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aiohttp import web

from gitfed.edges import oidc
from gitfed.edges.kube import token_review
from gitfed.edges.kube.connection.session import Session as ClusterSession
from gitfed.errors import IdentityError
from gitfed.hub.access.agents import Agents, subject_of
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.access.sessions import BrowserSession, Sessions
from gitfed.model import agent_identity
from gitfed.text.values import dataclass

_REMEMBERED = 10.0
"""Seconds that an answer about a token holds: a revoked one works no longer than that."""
_MOST_REMEMBERED = 1000
_MOST_REVIEWS = 4
"""At a time: strangers must not keep the host cluster's API server busy."""
_LONGEST_TOKEN = 16 << 10


class Tokens(Protocol):
    """Knows whose a bearer token is."""

    def may_be_ours(self, token: str) -> bool: ...

    async def caller(self, token: str) -> Caller:
        """Raises IdentityError, IdentityUnreachable."""

    async def close(self) -> None: ...


class OidcTokens:
    def __init__(self, issuer: oidc.Issuer) -> None:
        self.issuer = issuer

    def may_be_ours(self, token: str) -> bool:
        return self.issuer.may_be_ours(token)

    async def caller(self, token: str) -> Caller:
        identity = await self.issuer.identity(token)
        return Caller(identity.name, identity.groups, AuthenticationMethod.OIDC)

    async def close(self) -> None:
        """Nothing is held open."""


class ReviewedTokens:
    """Asks the host cluster, and remembers its answers for some seconds."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._slots = asyncio.Semaphore(_MOST_REVIEWS)
        self._answers: OrderedDict[bytes, tuple[float, Caller | IdentityError]] = OrderedDict()

    def may_be_ours(self, token: str) -> bool:
        return True

    async def caller(self, token: str) -> Caller:
        name = hashlib.sha256(token.encode()).digest()
        until, answer = self._answers.get(name, (0.0, None))
        if answer is None or time.monotonic() >= until:
            async with self._slots:
                answer = await self._ask(token)
            self._answers[name] = (time.monotonic() + _REMEMBERED, answer)
            self._answers.move_to_end(name)
            while len(self._answers) > _MOST_REMEMBERED:
                self._answers.popitem(last=False)
        if isinstance(answer, IdentityError):
            raise IdentityError(answer.message)
        return answer

    async def _ask(self, token: str) -> Caller | IdentityError:
        try:
            user, groups = await token_review.review(self._session, token)
        except IdentityError as error:
            if error.retry:
                raise
            return error
        return Caller(user, groups, AuthenticationMethod.TOKEN_REVIEW)

    async def close(self) -> None:
        await self._session.close()


@dataclass(frozen=True, slots=True)
class Authentication:
    sessions: Sessions
    tokens: Sequence[Tokens] = ()
    agents: Agents | None = None
    """None: this hub knows no agents."""

    async def of(self, request: web.Request) -> tuple[Caller, BrowserSession | None] | None:
        """None: no credential at all. Raises IdentityError, IdentityUnreachable."""
        certificate = request.get_extra_info("peercert")
        if certificate:
            return await self._of_certificate(certificate), None
        header = request.headers.get("Authorization")
        if header is not None:
            return await self._of_header(header), None
        cookie = request.cookies.get(cookie_name(request))
        if cookie is None:
            return None
        session = self.sessions.find(cookie)
        return (session.caller, session) if session is not None else None

    async def holds(self, request: web.Request, session: BrowserSession | None) -> bool:
        """Whether the credential of a request that was let in holds still: for answers that take long."""
        certificate = request.get_extra_info("peercert")
        if certificate:
            if agent_identity.claims(*subject_of(certificate)):
                return self.agents is not None and self.agents.holds(request)
            return time.time() < ssl.cert_time_to_seconds(certificate["notAfter"])
        header = request.headers.get("Authorization")
        if header is None:
            return session is not None and self.sessions.lives(session)
        try:
            await self._of_header(header)
        except IdentityError as error:
            return error.retry  # the issuer gives no answer: its last one counts
        return True

    async def _of_certificate(self, certificate: Mapping[str, Any]) -> Caller:
        name, groups = subject_of(certificate)
        if not name:
            raise IdentityError("the client certificate names no user")
        if not agent_identity.claims(name, groups):
            return Caller(name, groups, AuthenticationMethod.CERTIFICATE)
        if self.agents is None:
            raise IdentityError("this hub knows no agents")
        return await self.agents.caller(certificate, name, groups)

    async def _of_header(self, header: str) -> Caller:
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii() or len(token) > _LONGEST_TOKEN:
            raise IdentityError("the Authorization header is no bearer token")
        for tokens in self.tokens:
            if tokens.may_be_ours(token):
                return await tokens.caller(token)
        raise IdentityError("this hub accepts no such tokens")

    async def close(self) -> None:
        for tokens in self.tokens:
            await tokens.close()
        if self.agents is not None:
            await self.agents.ledger.close()


def cookie_name(request: web.Request) -> str:
    """With TLS the prefix has a browser make sure that this host set it; without, we are on a loopback address."""
    return "__Host-gitfed" if is_secure(request) else "gitfed-session"


def is_secure(request: web.Request) -> bool:
    """Whether this very connection has TLS; what a proxy says of its own is not asked."""
    return request.get_extra_info("sslcontext") is not None
