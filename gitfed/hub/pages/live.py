"""Tells a page that something happened, by server-sent events; what, the page finds out by loading itself again.

So there is one place that says what a page shows, and one that says who may see it. What is told is the engine's turn,
which the page repeats when it asks: it is not given what was formed before. A stream ends with its session.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.routes import Route
from gitfed.hub.server import Hub

_TOGETHER = 0.3
"""Seconds in which events become one."""
_BEAT = 15.0
"""Seconds after which a stream says that it is still there, and looks whether its reader may still read."""


def route(hub: Hub, desk: Desk) -> Route:
    pulse = Pulse()
    hub.running.listen(lambda name, value: pulse.beat())

    async def follow(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await answer.prepare(request)
        try:
            await answer.write(b"retry: 2000\n\n")
            seen = pulse.beats
            while _may_read(hub, request):
                if await pulse.after(seen):
                    await asyncio.sleep(_TOGETHER)
                    seen = pulse.beats
                    await answer.write(b"event: changed\ndata: %d\n\n" % desk.turn)
                else:
                    await answer.write(b": still here\n\n")
            await answer.write(b"event: ended\ndata: \n\n")
        except ConnectionError:
            pass  # the reader left
        return answer

    return Route("GET", "/ui/live", follow, needs=Right.VIEW, lasting=True)


class Pulse:
    """Beats with every event of the engine; however many a reader missed, they are one to it."""

    def __init__(self) -> None:
        self.beats = 0
        self._next = asyncio.Event()

    def beat(self) -> None:
        self.beats += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, seen: int) -> bool:
        """Whether it has beaten since, or does within some seconds."""
        if self.beats != seen:
            return True
        try:
            async with asyncio.timeout(_BEAT):
                await self._next.wait()
        except TimeoutError:
            return False
        return True


def _may_read(hub: Hub, request: web.Request) -> bool:
    session = request.get(routes.SESSION)
    if session is not None and not hub.sessions.lives(session):
        return False
    return hub.rights_of(routes.caller(request)).any(Right.VIEW)
