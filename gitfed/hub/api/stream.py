"""`/api/v1/events`: server-sent events (the HTML standard, 9.2), for as long as the caller may see them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from gitfed.hub import refusal, routes
from gitfed.hub.access.rights import Right, Rights
from gitfed.hub.answers.sight import Sight
from gitfed.hub.api import reading
from gitfed.hub.api.feed import Feed, FeedEvent
from gitfed.hub.server import Hub
from gitfed.text.values import dataclass
from gitfed.views import written

CONTENT_TYPE = "text/event-stream"
_TAKEN = ("*/*", "text/*", CONTENT_TYPE)
_PARAMETERS = ("namespace", "cluster")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    heartbeat: float = 15.0
    """Seconds without an event after which a comment is sent, and the credential is looked at again."""
    patience: float = 30.0
    """Seconds that a client may take for what was sent to it."""
    streams: int = 256
    per_caller: int = 16


class Streams:
    def __init__(self, hub: Hub, feed: Feed, limits: StreamLimits | None = None) -> None:
        self.limits = limits or StreamLimits()
        self._hub = hub
        self._feed = feed
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        return self._open.total()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if not reading.takes(request, CONTENT_TYPE, _TAKEN):
            return refusal.answer(request, 406, f"only {CONTENT_TYPE} is answered here")
        unknown = [name for name in request.query if name not in _PARAMETERS]
        if unknown or any(len(request.query.getall(name)) > 1 for name in request.query):
            return refusal.answer(request, 400, f"parameters are {' and '.join(_PARAMETERS)}, once each")
        name = routes.caller(request).name
        if self._open[name] >= self.limits.per_caller:
            return refusal.answer(request, 429, "too many streams of this caller", {"Retry-After": "30"})
        if self._open.total() >= self.limits.streams:
            return refusal.answer(request, 503, "too many streams", {"Retry-After": "30"})
        self._open[name] += 1
        try:
            return await self._stream(request)
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        feed, last_event_id = self._feed, request.headers.get("Last-Event-ID", "")
        answer = web.StreamResponse(
            headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        await answer.prepare(request)
        number = feed.number(last_event_id) if last_event_id else feed.newest
        lost = number is None
        seen = feed.newest if number is None else number
        with contextlib.suppress(ConnectionError, TimeoutError):
            await self._send(answer, b"retry: 3000\n\n")
            if lost:
                await self._send(answer, _event("resync", {}, feed.name(seen)))
            reason = await self._follow(request, answer, seen)
            await self._send(answer, _event("end", {"reason": reason}))
            await answer.write_eof()
            return answer
        if request.transport is not None:
            request.transport.abort()  # it takes nothing any more
        return answer

    async def _follow(self, request: web.Request, answer: web.StreamResponse, seen: int) -> str:
        """Send what happens; why the stream ends."""
        feed, caller = self._feed, routes.caller(request)
        loop = asyncio.get_running_loop()
        looked, rights, sight = loop.time(), None, None
        repo: object = None
        while True:
            if feed.closed:
                return "stopping"
            now = self._hub.rights_of(caller)
            if not now.any(Right.VIEW):
                return "denied"
            if sight is None or now != rights or self._hub.running.repo is not repo:
                rights, repo, sight = now, self._hub.running.repo, self._sight(now)
            entries = feed.after(seen)
            if entries is None:
                return "slow"
            for entry in entries:
                if _is_for(entry, sight, request.query):
                    await self._send(
                        answer,
                        b"event: %b\nid: %b\ndata: %b\n\n"
                        % (entry.name.encode(), feed.name(entry.number).encode(), entry.json),
                    )
                seen = entry.number
            await feed.wait(seen, max(0.0, looked + self.limits.heartbeat - loop.time()))
            if loop.time() - looked >= self.limits.heartbeat:
                looked = loop.time()
                if not await self._hub.authentication.holds(request, request.get(routes.SESSION)):
                    return "expired"
                await self._send(answer, b": still here\n\n")

    def _sight(self, rights: Rights) -> Sight:
        repo = self._hub.running.repo
        return Sight(rights, repo.clusters if repo is not None else ())

    async def _send(self, answer: web.StreamResponse, data: bytes) -> None:
        """Raises TimeoutError when the client does not take it, ConnectionError when it has gone."""
        async with asyncio.timeout(self.limits.patience):
            await answer.write(data)


def _is_for(entry: FeedEvent, sight: Sight, filters: Mapping[str, str]) -> bool:
    """Events about no cluster and no object are for every caller, except sentences about the source."""
    if entry.name == "source" and not sight.everything:
        return False
    if entry.cluster and filters.get("cluster", entry.cluster) != entry.cluster:
        return False
    if entry.namespace is not None:
        if filters.get("namespace", entry.namespace) != entry.namespace:
            return False
        return sight.copy(entry.cluster, entry.namespace)
    return not entry.cluster or sight.cluster(entry.cluster)


def _event(name: str, data: Mapping[str, Any], number: str = "") -> bytes:
    place = f"id: {number}\n" if number else ""
    return f"event: {name}\n{place}data: ".encode() + written.json_bytes(dict(data)) + b"\n\n"
