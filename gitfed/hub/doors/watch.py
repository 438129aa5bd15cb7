"""A watch of the fleet: one stream for each cluster, and what they tell in one.

It ends when one of them ends, and when a cluster can be asked that could not: the client begins again from the last
version that it was told, where a cluster that is missing begins with everything it has (`watching.beginning`). A
cluster that gives no answer keeps its place in that version; one that the fleet has no more, or not for this caller,
does not: the client lists anew (410), else it would hold what was there for ever.
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlencode

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube.connection.session import Session, give_up
from gitfed.errors import ClusterError
from gitfed.fleet_api import accept, headers, versions, watching
from gitfed.fleet_api.event_text import EventTexts
from gitfed.fleet_api.request import RequestInfo, is_true
from gitfed.fleet_api.watching import Merged
from gitfed.hub import refusal, routes
from gitfed.hub.doors import member_queries, relay, scope
from gitfed.hub.doors.member_sessions import MemberSessions
from gitfed.hub.doors.scope import Scope
from gitfed.hub.server import Hub
from gitfed.text.values import dataclass

log = logging.getLogger(__name__)

_BOOKMARKS = "allowWatchBookmarks"
_SELECTORS = ("labelSelector", "fieldSelector")
_LOOK = 2.0
"""Seconds between two looks at which clusters there are."""
_TOGETHER = 256 << 10
"""Bytes of lines that members may be ahead of what is written to the client, which is written together: one write for
each event would cost more than the event."""
_STALLED = 60.0
"""Seconds that a client may take nothing of what is written to it."""


@dataclass(frozen=True, slots=True)
class _Stream:
    session: Session
    answer: aiohttp.ClientResponse
    first: list[bytes]
    """Events that come before those of the stream."""


class Watch:
    def __init__(self, hub: Hub, reach: MemberSessions) -> None:
        self._hub = hub
        self._reach = reach
        self._texts = EventTexts()
        self._open_now = 0
        self.cut_off = 0
        """Watches whose clients took nothing."""

    async def serve(self, request: web.Request, about: RequestInfo, clusters: Scope) -> web.StreamResponse:
        told = request.query.get("resourceVersion") or ""
        if left := sorted(versions.decode(told).keys() - {*clusters.names, *clusters.away}):
            what = f"the version is one of a fleet with {', '.join(left)}: begin with a list anew"
            return refusal.answer(request, 410, what)
        opened = await asyncio.gather(*(self._open(request, about, session, told) for session in clusters.sessions))
        streams = [stream for stream in opened if isinstance(stream, _Stream)]
        self._open_now += 1
        try:
            failed = {
                session.cluster: answer
                for session, answer in zip(clusters.sessions, opened, strict=True)
                if isinstance(answer, member_queries.MemberAnswer)
            }
            if gone := next((refusing for refusing in failed.values() if refusing.status == 410), None):
                return refusal.answer(request, 410, gone.error)
            clusters.warnings += [refusing.error for refusing in failed.values() if refusing.status != 404]
            if not streams:
                worst = next((refusing for refusing in failed.values() if refusing.status in (403, 404)), None)
                why = "; ".join(refusing.error for refusing in failed.values())
                return refusal.answer(request, worst.status if worst is not None else 503, why)
            answer = web.StreamResponse(headers=CIMultiDict(clusters.headers()))
            answer.headers["Content-Type"] = accept.JSON
            await answer.prepare(request)
            bookmarks = is_true(request.query.get(_BOOKMARKS))
            merged = Merged([stream.session.cluster for stream in streams], told, self._texts, bookmarks=bookmarks)
            unseen = {name for name, refusing in failed.items() if refusing.status == 0}
            held = {*clusters.names, *versions.decode(told)}
            coming = asyncio.create_task(self._others(request, about, set(clusters.names), unseen, held))
            try:
                await _Pouring(merged).follow(answer, streams, coming)
                await answer.write_eof()
            except ConnectionResetError:
                pass  # the client has gone
            except TimeoutError:
                self._cut_off(request)
            finally:
                coming.cancel()
            return answer
        finally:
            for stream in streams:
                give_up(stream.answer)
            self._open_now -= 1
            if not self._open_now:
                self._texts = EventTexts()  # nobody is left for whom they are kept

    def _cut_off(self, request: web.Request) -> None:
        """Where it goes on from, it knows by the last event that it took."""
        self.cut_off += 1
        log.info("a watch was cut off: its client takes nothing", extra={"who": routes.caller(request).name})
        if request.transport is not None:
            request.transport.abort()

    async def _open(
        self, request: web.Request, about: RequestInfo, session: Session, told: str
    ) -> _Stream | member_queries.MemberAnswer:
        own = ("resourceVersion", _BOOKMARKS)
        query = [(name, value) for name, value in request.query.items() if name not in own]
        query.append((_BOOKMARKS, "true"))
        version, first = versions.of_cluster(told, session.cluster), list[bytes]()
        path = about.object or about.collection
        form = accept.in_json(request.headers.get("Accept", ""))
        if not version and not about.object and "sendInitialEvents" not in request.query:
            listed = await self._listed(request, about, session, form or accept.JSON)
            if not listed.good:
                return listed
            version = str((listed.body.get("metadata") or {}).get("resourceVersion") or "")
            first = [orjson.dumps(event) for event in watching.beginning(listed.body)]
        if version:
            query.append(("resourceVersion", version))
        caller = routes.caller(request)
        sent = [("Accept", form), *headers.impersonation(caller.name, caller.groups)]
        try:
            answer = await session.begin("GET", f"{path}?{urlencode(query)}", sent, seconds=member_queries.ANSWER)
        except ClusterError as error:
            return member_queries.MemberAnswer(session.cluster, error=error.message)
        if answer.status == 200:
            return _Stream(session, answer, first)
        try:
            why = relay.why_refused(session, answer)
            return member_queries.MemberAnswer(
                session.cluster,
                0 if why else answer.status,
                error=why or (f"cluster {session.cluster}: {await member_queries.said(answer)}"),
            )
        finally:
            give_up(answer)

    async def _listed(
        self, request: web.Request, about: RequestInfo, session: Session, form: str
    ) -> member_queries.MemberAnswer:
        query = [(name, value) for name, value in request.query.items() if name in _SELECTORS]
        return await member_queries.ask(request, session, f"{about.collection}?{urlencode(query)}", form)

    async def _others(
        self, request: web.Request, about: RequestInfo, watched: set[str], unseen: set[str], held: set[str]
    ) -> None:
        """Until there is a cluster to be asked that was not there, or one of which the client holds objects has left.
        One that did not answer (`unseen`) is asked until it does, else the client would be sent round and round."""
        caller = routes.caller(request)
        while True:
            clusters = scope.of(self._hub, self._reach, self._hub.rights_of(caller), about) or Scope()
            names = set(clusters.names)
            watched -= unseen - names
            if names - watched or held - names - set(clusters.away):
                return
            silent = [session for session in clusters.sessions if session.cluster in unseen]
            answers = await member_queries.ask_all(request, silent, f"{about.collection}?limit=1", accept.JSON)
            if any(answer.status for answer in answers):
                return
            await asyncio.sleep(_LOOK)


class _Pouring:
    """What streams tell, in one, to a client: members are read no faster than the client takes it."""

    def __init__(self, merged: Merged) -> None:
        self._merged = merged
        self._told: list[bytes] = []
        self._taken = 0
        """Bytes of lines that `_told` is made of."""
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()
        self._over = False

    async def follow(self, answer: web.StreamResponse, streams: list[_Stream], ends: asyncio.Task[None]) -> None:
        """Pass on what the streams tell until one of them is over, or `ends` is. Raises TimeoutError when the client
        takes nothing."""
        tasks = [asyncio.create_task(self._read(stream)) for stream in streams]
        ends.add_done_callback(lambda _: self._end())
        try:
            while self._told or not self._over:
                await self._news.wait()
                self._news.clear()
                if told := b"".join(self._told):
                    self._told, self._taken = [], 0
                    self._room.set()
                    async with asyncio.timeout(_STALLED):
                        await answer.write(told)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, stream: _Stream) -> None:
        try:
            if self._tell(stream.session.cluster, stream.first):
                async for lines in stream.session.parts(stream.answer):
                    await self._room.wait()
                    if not self._tell(stream.session.cluster, lines):
                        break
        except ClusterError:
            pass  # its end is the end of all
        finally:
            self._end()

    def _tell(self, cluster: str, lines: list[bytes]) -> bool:
        """Whether the watch goes on."""
        if self._over:
            return False
        goes_on = self._merged.tell(cluster, lines, self._told)
        self._taken += sum(map(len, lines))
        if self._taken >= _TOGETHER:
            self._room.clear()
        self._news.set()
        return goes_on

    def _end(self) -> None:
        self._over = True
        self._news.set()
