"""What a capability of the hub offers: routes, and services that run beside them.

A capability is a module or package of `gitfed.hub` with a function `capability(hub) -> Capability`; `capabilities`
lists them all, and they know nothing of each other. A handler is called only for a caller who has the right that its
route needs *somewhere*; it asks `rights(request)` whether they have it for the cluster or namespace in question.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.access.rights import Right, Rights
from gitfed.hub.access.sessions import BrowserSession
from gitfed.hub.metric import Metric
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.text.values import dataclass

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Service = Callable[[], Awaitable[None]]
"""Runs as long as the hub; one that fails is begun again a while later, and the others go on."""

CALLER: web.RequestKey[Caller] = web.RequestKey("caller", Caller)
RIGHTS: web.RequestKey[Rights] = web.RequestKey("rights", Rights)
SESSION: web.RequestKey[BrowserSession] = web.RequestKey("session", BrowserSession)
_TARGET: web.RequestKey[dict[str, Any]] = web.RequestKey("target", dict)


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path (aiohttp's pattern)."""

    method: str
    path: str
    handler: Handler
    needs: Right | None = None
    """None: any caller whom we know."""
    open: bool = False
    """Callers are not authenticated; the handler tells nothing, or checks a signature itself."""
    agents: bool = False
    """For agents alone; all other routes are closed to them. `needs` is not asked."""
    whole_fleet: bool = False
    """`needs` is needed for every cluster and namespace."""
    largest: int = 64 << 10
    """Bytes of a request's body."""
    lasting: bool = False
    """The answer may take for ever: a stream. Others end after `server.LONGEST` seconds."""


@dataclass(frozen=True, slots=True)
class Capability:
    routes: tuple[Route, ...] = ()
    services: tuple[Service, ...] = ()
    metrics: tuple[Metric, ...] = ()
    """What it counts; `/metrics` and the reference page show it."""


def caller(request: web.Request) -> Caller:
    """Who asks; not on open routes."""
    return request[CALLER]


def agent(request: web.Request) -> AgentName:
    """Which agent asks: that of a cluster, or one of a pool; on routes for agents only."""
    asking = request[CALLER]
    agent = agent_identity.agent_of(asking.name, asking.groups)
    assert agent is not None
    assert asking.way is AuthenticationMethod.AGENT
    return agent


def rights(request: web.Request) -> Rights:
    """What they may do."""
    return request[RIGHTS]


def csrf_token(request: web.Request) -> str:
    """What a form of a page has to send back as the field `csrf`; "" for callers without a session."""
    session = request.get(SESSION)
    return session.csrf if session is not None else ""


def audited(request: web.Request, **target: Any) -> None:
    """Name what an operation is about (`cluster=`, `object=`, …) for the line that the audit log gets of it."""
    request[_TARGET] = {**audit_target(request), **target}


def audit_target(request: web.Request) -> dict[str, Any]:
    named: dict[str, Any] = request.get(_TARGET, {})
    return named
