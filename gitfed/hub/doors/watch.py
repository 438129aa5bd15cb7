"""A watch of the fleet: one stream for each cluster, and what they tell in one.

It ends when one of them ends, and when a cluster can be asked that could not: the client begins again from the last
version that it was told, where a cluster that is missing begins with everything it has (`watching.beginning`). A
cluster that gives no answer keeps its place in that version; one that the fleet has no more, or not for this caller,
does not: the client lists anew (410), else it would hold what was there for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube.session import Session, give_up
from gitfed.errors import ClusterError
from gitfed.fleet_api import accept, headers, versions, watching
from gitfed.fleet_api.request import Request, is_true
from gitfed.fleet_api.watching import Merged
from gitfed.hub import refusal, routes
from gitfed.hub.doors import asking, relay, scope
from gitfed.hub.doors.reach import Reach
from gitfed.hub.doors.scope import Scope
from gitfed.hub.server import Hub

_SELECTORS = ("labelSelector", "fieldSelector")
_LOOK = 2.0
"""Seconds between two looks at which clusters there are."""
_BEHIND = 16
"""Parts of watches that members may be ahead of the client, each of one event or of as many as came together."""
_TOGETHER = 256 << 10
"""Bytes of lines from which on what was told is written: one write for each event would cost more than the event."""


@dataclass(frozen=True, slots=True)
class _Stream:
    session: Session
    answer: aiohttp.ClientResponse
    first: list[bytes]
    """Events that come before those of the stream."""


class Watch:
    def __init__(self, hub: Hub, reach: Reach) -> None:
        self._hub = hub
        self._reach = reach

    async def serve(self, request: web.Request, about: Request, found: Scope) -> web.StreamResponse:
        told = request.query.get("resourceVersion") or ""
        if left := sorted(versions.decode(told).keys() - {*found.names, *found.away}):
            what = f"the version is one of a fleet with {', '.join(left)}: begin with a list anew"
            return refusal.answer(request, 410, what)
        opened = await asyncio.gather(*(self._open(request, about, one, told) for one in found.sessions))
        streams = [one for one in opened if isinstance(one, _Stream)]
        try:
            failed = {
                session.cluster: one
                for session, one in zip(found.sessions, opened, strict=True)
                if isinstance(one, asking.Answered)
            }
            if gone := next((one for one in failed.values() if one.status == 410), None):
                return refusal.answer(request, 410, gone.error)
            found.warnings += [one.error for one in failed.values() if one.status != 404]
            if not streams:
                worst = next((one for one in failed.values() if one.status in (403, 404)), None)
                why = "; ".join(one.error for one in failed.values())
                return refusal.answer(request, worst.status if worst is not None else 503, why)
            answer = web.StreamResponse(headers=CIMultiDict(found.headers()))
            answer.headers["Content-Type"] = accept.JSON
            await answer.prepare(request)
            merged = Merged([one.session.cluster for one in streams], told)
            unseen = {name for name, one in failed.items() if one.status == 0}
            held = {*found.names, *versions.decode(told)}
            coming = asyncio.create_task(self._others(request, about, set(found.names), unseen, held))
            try:
                await _follow(answer, streams, merged, coming)
                await answer.write_eof()
            except ConnectionResetError:
                pass  # the client has gone
            finally:
                coming.cancel()
            return answer
        finally:
            for one in streams:
                give_up(one.answer)

    async def _open(
        self, request: web.Request, about: Request, session: Session, told: str
    ) -> _Stream | asking.Answered:
        query = [(name, value) for name, value in request.query.items() if name != "resourceVersion"]
        version, first = versions.of_cluster(told, session.cluster), list[bytes]()
        path = about.object or about.collection
        form = accept.in_json(request.headers.get("Accept", ""))
        if not version and not about.object and "sendInitialEvents" not in request.query:
            listed = await self._listed(request, about, session, form or accept.JSON)
            if not listed.good:
                return listed
            version = str((listed.body.get("metadata") or {}).get("resourceVersion") or "")
            bookmark = is_true(request.query.get("allowWatchBookmarks"))
            first = [orjson.dumps(event) for event in watching.beginning(listed.body, bookmark=bookmark)]
        if version:
            query.append(("resourceVersion", version))
        caller = routes.caller(request)
        sent = [("Accept", form), *headers.impersonation(caller.name, caller.groups)]
        try:
            answer = await session.begin("GET", f"{path}?{urlencode(query)}", sent, seconds=asking.ANSWER)
        except ClusterError as error:
            return asking.Answered(session.cluster, error=error.message)
        if answer.status == 200:
            return _Stream(session, answer, first)
        try:
            why = relay.why_refused(session, answer)
            return asking.Answered(
                session.cluster,
                0 if why else answer.status,
                error=why or (f"cluster {session.cluster}: {await asking.said(answer)}"),
            )
        finally:
            give_up(answer)

    async def _listed(self, request: web.Request, about: Request, session: Session, form: str) -> asking.Answered:
        query = [(name, value) for name, value in request.query.items() if name in _SELECTORS]
        return await asking.ask(request, session, f"{about.collection}?{urlencode(query)}", form)

    async def _others(
        self, request: web.Request, about: Request, known: set[str], unseen: set[str], held: set[str]
    ) -> None:
        """Until there is a cluster to be asked that was not there, or one of which the client holds objects has left.
        One that did not answer (`unseen`) is asked until it does, else the client would be sent round and round."""
        caller = routes.caller(request)
        while True:
            found = scope.of(self._hub, self._reach, self._hub.rights_of(caller), about) or Scope()
            names = set(found.names)
            known -= unseen - names
            if names - known or held - names - set(found.away):
                return
            silent = [session for session in found.sessions if session.cluster in unseen]
            answers = await asking.ask_all(request, silent, f"{about.collection}?limit=1", accept.JSON)
            if any(answer.status for answer in answers):
                return
            await asyncio.sleep(_LOOK)


async def _follow(
    answer: web.StreamResponse,
    streams: list[_Stream],
    merged: Merged,
    ends: asyncio.Task[None],
) -> None:
    """Pass on what the streams tell until one of them is over, or `ends` is."""
    events: asyncio.Queue[tuple[str, list[bytes]] | None] = asyncio.Queue(_BEHIND)

    async def read(stream: _Stream) -> None:
        session = stream.session
        if stream.first:
            await events.put((session.cluster, stream.first))
        with contextlib.suppress(ClusterError):
            async for lines in session.parts(stream.answer):
                await events.put((session.cluster, lines))
        await events.put(None)

    async def wait() -> None:
        await asyncio.wait({ends})
        await events.put(None)

    tasks = [asyncio.create_task(read(stream)) for stream in streams]
    tasks.append(asyncio.create_task(wait()))
    try:
        goes_on = True
        while goes_on:
            told: list[bytes] = []
            taken = 0
            while goes_on and (not taken or (taken < _TOGETHER and not events.empty())):
                item = await events.get()
                goes_on = item is not None and _tell(merged, *item, told)
                taken += sum(map(len, item[1])) if item is not None else 0
            if told:
                await answer.write(b"".join(told))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _tell(merged: Merged, cluster: str, lines: list[bytes], told: list[bytes]) -> bool:
    """Add to `told` what the client is told of these lines; whether the watch goes on."""
    for line in lines:
        try:
            event = merged.event(cluster, orjson.loads(line))
        except (ValueError, TypeError, AttributeError):
            return False  # it speaks another language than it was asked for
        if event is None:
            continue
        told += (orjson.dumps(event), b"\n")
        if event.get("type") == "ERROR":
            return False
    return True
