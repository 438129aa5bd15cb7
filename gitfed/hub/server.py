"""★ The hub: one HTTP server around everything that people, forges and machines ask of gitfed.

What happens to a request, in this order:

    listener        connections are few enough, and begin to speak in time
    shape           a plain path, no header twice that may stand once, a body that is not compressed
    route           which capability answers; unknown paths are told only to callers whom we know
    authentication  certificate, token, session; an open route asks for none
    cross-site      a browser that another site sends here writes nothing
    authorisation   the AccessPolicies of the commit in force
    handler         in so much time, with so much body, so many at once for one caller
    audit           one line for every operation, and for every refusal

A capability needs to know nothing of this: see `routes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field
from pathlib import Path

from aiohttp import web

from gitfed.edges.kube.connection.session import Session as ClusterSession
from gitfed.errors import IdentityError, TooBusy
from gitfed.hub import refusal, request_shape
from gitfed.hub.access.authentication import Authentication
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.access.rights import Right, Rights, Rulebook
from gitfed.hub.access.sessions import BrowserSession, LoginTokens, Sessions
from gitfed.hub.agent_streams import AgentStreams
from gitfed.hub.listener import ConnectionLimits, Listener
from gitfed.hub.metric import Metric
from gitfed.hub.options import EVERYWHERE, HubOptions
from gitfed.hub.orders import Orders
from gitfed.hub.routes import CALLER, RIGHTS, SESSION, Capability, Route, Service, audit_target
from gitfed.hub.running import Running
from gitfed.hub.tls import TlsIdentity
from gitfed.model.declared.cluster import Cluster
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")
audit = logging.getLogger("gitfed.audit")

LONGEST = 30.0
"""Seconds for a request that is no stream."""
_MOST_AT_ONCE = 64
"""Requests of one caller."""
_AGAIN = 5.0
"""Seconds until a service that failed is begun again."""
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="gitfed"'}
_USUAL_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NO_AGENTS = "the certificate of an agent opens nothing but what is for agents"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class Hub:
    """What every capability is given."""

    options: HubOptions
    running: Running
    folder: Path
    """Of the data directory, for the hub alone."""
    authentication: Authentication
    login_tokens: LoginTokens = field(default_factory=LoginTokens)
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Answers by route, method and status."""
    metrics: tuple[Metric, ...] = ()
    """Of all capabilities."""
    listener: Listener | None = None
    identity: TlsIdentity | None = None
    """None: the hub has no TLS."""
    open_session: Callable[[Cluster, Counter[tuple[str, str, str]]], ClusterSession] | None = None
    """How doors reach a member; requests are counted by cluster, method and status. None: nobody is reached."""
    streams: AgentStreams = field(init=False)
    """How doors reach a member that only its agent reaches."""
    credentials_dir: Path | None = None
    """Where Secrets that the repository names are mounted."""
    orders: Orders | None = None
    """Who takes what callers order; None: this process never leads."""
    home: str = "/metrics"
    """Where a browser goes after a login: the pages name their own."""
    refusal_page: Callable[[web.Request, int, str], web.Response] | None = None
    """How a person's browser is told what others are told in a line of text: the pages say it."""
    _rules: tuple[object, Rulebook] = (None, Rulebook(None))

    def __post_init__(self) -> None:
        self.streams = AgentStreams(self.running)

    @property
    def sessions(self) -> Sessions:
        return self.authentication.sessions

    @property
    def url(self) -> str:
        """Where it is reached."""
        if self.options.url:
            return self.options.url.rstrip("/")
        port = self.listener.port if self.listener is not None else self.options.port
        host = socket.gethostname() if self.options.host in EVERYWHERE else self.options.host
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.options.secure else 'http'}://{host}:{port}"

    @property
    def browser_url(self) -> str:
        """Where a browser on this machine reaches it."""
        if self.listener is not None and self.listener.plain_port:
            return f"http://127.0.0.1:{self.listener.plain_port}"
        return self.url

    def rights_of(self, caller: Caller) -> Rights:
        """By the commit in force now."""
        repo = self.running.repo
        if self._rules[0] is not repo:
            self._rules = repo, Rulebook(repo)
        return self._rules[1].of(caller)


class Server:
    """`start` and `stop` it in the daemon's loop."""

    def __init__(self, hub: Hub, capabilities: Iterable[Capability], limits: ConnectionLimits | None = None) -> None:
        """Raises InputError, UsageError when there is no certificate to show."""
        self.hub = hub
        offered = list(capabilities)
        hub.metrics = tuple(metric for capability in offered for metric in capability.metrics)
        self._identity = TlsIdentity(hub.options, hub.folder) if hub.options.secure else None
        hub.identity = self._identity
        self._services: list[Service] = [service for capability in offered for service in capability.services]
        if self._identity is not None:
            self._services.append(self._identity.keep_fresh)
        self._tasks: list[asyncio.Task[None]] = []
        self._at_once: Counter[str] = Counter()
        self._routes: dict[web.AbstractRoute, Route] = {}
        app = web.Application(middlewares=[self._serve])
        app.on_response_prepare.append(_with_usual_headers)
        for capability in offered:
            for route in capability.routes:
                self._routes[app.router.add_route(route.method, route.path, route.handler)] = route
        hub.listener = self._listener = Listener(app, limits)

    @property
    def port(self) -> int:
        return self._listener.port

    async def start(self) -> None:
        """Raises OSError when the address cannot be used."""
        options = self.hub.options
        context = self._identity.context if self._identity is not None else None
        await self._listener.start(options.host, options.port, context, plain_too=options.plain_too)
        self._tasks = [asyncio.create_task(_keep_running(service)) for service in self._services]
        log.info("the hub listens", extra={"url": self.hub.url})

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._listener.stop()
        await self.hub.authentication.close()

    # -- one request --------------------------------------------------------------------------------------------

    @web.middleware
    async def _serve(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        route = self._routes.get(request.match_info.route)
        name = route.path if route is not None else "unknown"
        status = 500
        try:
            answer = await self._answer(request, route, handler)
            status = answer.status
            return answer
        except web.HTTPException as refused:
            status = refused.status
            return self._refusal(request, status, refused.text or refused.reason, dict(refused.headers))
        except TimeoutError:
            status = 503
            return self._refusal(request, status, "this takes too long")
        except TooBusy as error:
            status = 503
            return self._refusal(request, status, error.message, {"Retry-After": "2"})
        finally:
            self.hub.requests[name, request.method if route is not None else "", str(status)] += 1

    async def _answer(
        self, request: web.Request, route: Route | None, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if wrong := request_shape.why_not(request):
            answer = refusal.answer(request, 400, wrong)
            answer.force_close()  # what follows on this connection may be meant in another way, too
            return answer
        if route is not None and route.open:
            request_shape.limit_body(request, route.largest)
            async with asyncio.timeout(None if route.lasting else LONGEST):
                return await handler(request)
        try:
            authenticated = await self.hub.authentication.of(request)
        except IdentityError as error:
            if error.retry:
                log.warning("callers cannot be authenticated", extra={"error": error.message})
                return self._refusal(request, 503, "who you are cannot be found out now", {"Retry-After": "5"})
            audit.info("caller refused", extra={"remote": request.remote, "error": error.message})
            return self._refusal(request, 401, "your credential is not accepted", _CHALLENGE)
        if authenticated is None:
            return self._refusal(request, 401, "no credential", _CHALLENGE)
        caller, session = authenticated
        return await self._for_caller(request, route, handler, caller, session)

    def _refusal(
        self, request: web.Request, status: int, text: str, headers: dict[str, str] | None = None
    ) -> web.Response:
        answer = refusal.answer(request, status, text, headers)
        if self.hub.refusal_page is None or "text/html" not in request.headers.get("Accept", ""):
            return answer
        page = self.hub.refusal_page(request, status, text)
        for name, value in answer.headers.items():
            if name not in ("Content-Type", "Content-Length"):
                page.headers[name] = value
        return page

    async def _for_caller(
        self,
        request: web.Request,
        route: Route | None,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
        caller: Caller,
        session: BrowserSession | None,
    ) -> web.StreamResponse:
        request[CALLER] = caller
        if (caller.way is AuthenticationMethod.AGENT) != (route is not None and route.agents):
            audit.info("caller refused", extra={"remote": request.remote, "error": f"{caller.name}: {request.path}"})
            agents_only = "only agents of pulled clusters are answered here"
            return self._refusal(request, 403, _NO_AGENTS if caller.way is AuthenticationMethod.AGENT else agents_only)
        rights = request[RIGHTS] = self.hub.rights_of(caller)
        if session is not None:
            request[SESSION] = session
        if route is None:
            return await handler(request)  # 404 or 405
        request_shape.limit_body(request, route.largest)
        if _changes(request) and (wrong := await _cross_site(request, session)):
            _note(request, caller, route, f"refused: {wrong}")
            return self._refusal(request, 403, wrong)
        if not _may(route, rights):
            if self.hub.running.repo is None:  # what is not known is not refused for good
                return self._refusal(request, 503, "no commit was read yet", {"Retry-After": "2"})
            _note(request, caller, route, "refused: no right")
            what = f"{route.needs}{' everything' * route.whole_fleet}"
            return self._refusal(request, 403, f"no AccessPolicy lets {caller.name} {what}")
        if self._at_once[caller.name] >= _MOST_AT_ONCE:
            return self._refusal(request, 429, "too many requests at a time", {"Retry-After": "1"})
        self._at_once[caller.name] += 1
        status = 500
        try:
            with self._watched(request, caller):
                async with asyncio.timeout(None if route.lasting else LONGEST):
                    answer = await handler(request)
            status = answer.status
            return answer
        except web.HTTPException as refused:
            status = refused.status
            raise
        finally:
            self._at_once[caller.name] -= 1
            if not self._at_once[caller.name]:
                del self._at_once[caller.name]
            if route.needs in (Right.OPERATE, Right.PROXY) and _changes(request):
                _note(request, caller, route, str(status))

    def _watched(self, request: web.Request, caller: Caller) -> contextlib.AbstractContextManager[None]:
        agents = self.hub.authentication.agents
        if caller.way is not AuthenticationMethod.AGENT or agents is None:
            return contextlib.nullcontext()
        return agents.connected(request, caller)


def _changes(request: web.Request) -> bool:
    """An upgrade counts: what is done then (exec) is no reading, whatever the method says."""
    return request.method not in _SAFE or "Upgrade" in request.headers


def _may(route: Route, rights: Rights) -> bool:
    if route.needs is None:
        return True
    return rights.everywhere(route.needs) if route.whole_fleet else rights.any(route.needs)


async def _cross_site(request: web.Request, session: BrowserSession | None) -> str:
    """Why a browser's write is refused; "" when it is not.

    Certificates and cookies go along with whatever a page of another site makes a browser send. A browser says where
    the page is from; and who has a session repeats its token, which no other site can read.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return "a page of another site sent this"
    origin = request.headers.get("Origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("Host"):
        return "a page of another site sent this"
    if session is None:
        return ""
    repeated = request.headers.get("X-CSRF-Token")
    if repeated is None and request.content_type == "application/x-www-form-urlencoded":
        field = (await request_shape.form(request)).get("csrf")
        repeated = field if isinstance(field, str) else None
    if repeated is None or not hmac.compare_digest(repeated.encode(), session.csrf.encode()):
        return "the form is too old: load the page again"
    return ""


def _note(request: web.Request, caller: Caller, route: Route, result: str) -> None:
    """Who, what, where, result."""
    audit.info(
        "request",
        extra={
            "who": caller.name,
            "way": caller.way.value,
            "what": f"{request.method} {route.path}",
            "where": " ".join(f"{key}={value}" for key, value in audit_target(request).items()) or request.path,
            "result": result,
            "remote": request.remote,
        },
    )


async def _with_usual_headers(request: web.Request, answer: web.StreamResponse) -> None:
    """A page that needs more than nothing says so itself."""
    answer.headers["Server"] = "gitfed"  # and no version of anything
    for name, value in _USUAL_HEADERS.items():
        answer.headers.setdefault(name, value)


async def _keep_running(service: Service) -> None:
    """One that fails must not take the others along, nor stay away for good."""
    while True:
        try:
            await service()
        except Exception:
            log.exception("a service of the hub failed")
        await asyncio.sleep(_AGAIN)
