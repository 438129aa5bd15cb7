"""The hub's way into this cluster: connections that are dialled when it asks for one, on which it sends requests.

Each request goes to the API server with the agent's own credential, and acts there as the user whom the hub
names in `Impersonate-*`, and never as the agent itself. So the agent's account needs the right to impersonate
them (`gitfed rbac` prints it), and what they may do is the cluster's RBAC to say.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session, end, give_up
from gitfed.errors import ClusterError, LinkError
from gitfed.fleet_api import headers, status
from gitfed.http_relay import passing, tunnel
from gitfed.http_relay.reverse import KEY, MOST, PROTOCOL, Answering
from gitfed.model.declared.access import MASTERS

log = logging.getLogger("gitfed.agent")

ASKED = "stream"
"""What the hub asks for."""
PATH = "/agents/v1/stream"
_DIAL = 8.0
"""Seconds to reach the hub: it waits a little longer."""
_AGAIN = 0.2
"""Seconds until another replica of the hub may answer at the same address."""
_LONGEST_KEY = 200
_ENDS = 2.0


class Streams:
    """`dial_back` when asked; `drop` ends all that are open, `close` for good."""

    def __init__(self, hub: HubEndpoint, open_session: Callable[[], Session]) -> None:
        """`open_session`: into this cluster; its bodies stay as sent."""
        self._hub = hub
        self._open_session = open_session
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.opened = 0
        """Streams that there were."""

    @property
    def open(self) -> int:
        return len(self._tasks)

    def dial_back(self, key: Any) -> None:
        """Raises LinkError."""
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY or not key.isascii() or not key.isprintable():
            raise LinkError("a stream without a key")
        if len(self._tasks) >= MOST:
            raise LinkError(f"{MOST} streams are open, and no more may be")
        task = asyncio.create_task(self._carry(key), name="stream")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.drop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_ENDS)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    # -- one stream ---------------------------------------------------------------------------------------------------

    async def _carry(self, key: str) -> None:
        try:
            context: ssl.SSLContext | bool = True
            if self._hub.url.startswith("https://"):
                context = await asyncio.to_thread(self._hub.context)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_DIAL)
            async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as http:
                await self._serve(http, context, key)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            log.warning("no stream to the hub", extra={"hub": self._hub.url, "error": type(error).__name__})

    async def _serve(self, http: aiohttp.ClientSession, context: ssl.SSLContext | bool, key: str) -> None:
        answer = await asyncio.wait_for(self._dialled(http, context, key), _DIAL)
        if answer is None:
            return
        try:
            transport = answer.connection.transport if answer.connection is not None else None
            if transport is None:
                return
            self.opened += 1
            await Answering(self._answer).take(transport, tunnel.taken_early(answer))
        finally:
            give_up(answer)

    async def _dialled(
        self, http: aiohttp.ClientSession, context: ssl.SSLContext | bool, key: str
    ) -> aiohttp.ClientResponse | None:
        """None: the hub does not want it (any more)."""
        sent = {"Connection": "Upgrade", "Upgrade": PROTOCOL, KEY: key}
        while True:
            answer = await http.get(f"{self._hub.url.rstrip('/')}{PATH}", headers=sent, ssl=context)
            if answer.status == 101:
                return answer
            give_up(answer)
            if answer.status != 503:
                log.warning("the hub refuses a stream", extra={"hub": self._hub.url, "status": answer.status})
                return None
            await asyncio.sleep(_AGAIN)  # a replica that stands by: the next connection may reach the one that asked

    # -- one request --------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if why := _why_not(request):
            return _refusal(403, why)
        upgrade = passing.upgrade_of(request)
        sent = headers.by_agent(request.headers.items(), upgrade=upgrade)
        data = passing.Upload(request).parts() if request.body_exists and not upgrade else None
        try:
            session = self._into_cluster()
            answer = await session.begin(request.method, request.raw_path, sent, data, seconds=None)
        except ClusterError as error:
            return _refusal(503, f"{error.message} (asked by its agent)")
        try:
            if answer.status == 101:
                return await tunnel.dig(request, answer)
            return await passing.pass_back(request, answer)
        finally:
            end(answer)

    def _into_cluster(self) -> Session:
        """Raises CredentialsError."""
        if self._session is None:
            self._session = self._open_session()
        credentials.check_acts_as_itself(self._session.connection)
        return self._session


def _why_not(request: web.BaseRequest) -> str:
    """Why a request is not carried out; "" when it is. No request is carried out with the agent's own rights."""
    if not request.headers.get("Impersonate-User"):
        return "the agent asks its cluster only for callers of the hub, and the request names none"
    if MASTERS in request.headers.getall("Impersonate-Group", ()):
        return f"the agent acts for no caller as {MASTERS}"
    return ""


def _refusal(code: int, message: str) -> web.Response:
    return web.Response(
        status=code, body=orjson.dumps(status.failure(code, message)), headers={"Content-Type": "application/json"}
    )
