"""Liveness and readiness: what asks nobody who they are, so it tells nothing but yes or no.

`/livez` fails when the loop has not turned for several minutes: a restart helps. `/readyz` fails until a commit was
read and every cluster was looked at once. `/healthz` is `/livez` under its older name. They answer on a listener of
their own (`--health-address`), plain HTTP for a kubelet, and on the hub.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from gitfed.hub.listener import ConnectionLimits, Listener
from gitfed.hub.recorded import RecordedFleet
from gitfed.hub.routes import Capability, Route
from gitfed.hub.running import Running
from gitfed.hub.server import Hub

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_STUCK = 300.0
"""Seconds without a finished cycle after which the process counts as dead. Polls end a sleep long before."""
_MOST_CONNECTIONS = 64
"""A kubelet and some load balancers; there is nothing else to see."""


def capability(hub: Hub) -> Capability:
    return Capability(routes=tuple(Route("GET", path, handle, open=True) for path, handle in _handlers(hub.running)))


class HealthServer:
    """The listener of their own."""

    def __init__(self, running: Running) -> None:
        app = web.Application()
        for path, handle in _handlers(running):
            app.router.add_get(path, handle)
        self._listener = Listener(app, ConnectionLimits(connections=_MOST_CONNECTIONS))

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def open(self) -> int:
        """Connections."""
        return self._listener.open

    async def start(self, host: str, port: int) -> None:
        """Raises OSError when the address cannot be used. Port 0 chooses one; see `port`."""
        await self._listener.start(host, port)

    async def stop(self) -> None:
        await self._listener.stop()


def why_not_live(running: Running) -> str:
    """ "" while the engine turns."""
    if running.engine is None:
        return ""
    silent = time.monotonic() - max(running.began, running.engine.last_cycle)
    return f"no cycle for {silent:.0f} s" if silent > _STUCK else ""


def why_not_ready(running: Running) -> str:
    """ "" when the fleet is followed, or somebody else does and we could take over."""
    engine = running.engine
    if running.standing_by and isinstance(running.recorded, RecordedFleet) and running.recorded.alone:
        return running.recorded.error
    if running.standing_by:
        return ""  # ready to take over: a roll-out of several replicas must not wait for it
    if engine is not None and engine.trouble is not None:
        return f"nothing new is done: {engine.trouble}"
    if engine is None or engine.plan is None:
        return (engine.commits.error if engine is not None else "") or "no commit was planned yet"
    if lost := engine.fleet.roster.lost():
        return f"clusters that the daemon no longer looks at: {', '.join(lost)}"
    if superseded := engine.fleet.roster.superseded():
        return f"another gitfed leads, nothing is written: {', '.join(superseded)}"
    waiting = sorted(name for name, member in engine.fleet.members.items() if not member.looked.is_set())
    return f"clusters not looked at yet: {', '.join(waiting)}" if waiting else ""


def _handlers(running: Running) -> tuple[tuple[str, Handler], ...]:
    live, ready = _answer(lambda: why_not_live(running)), _answer(lambda: why_not_ready(running))
    return ("/livez", live), ("/healthz", live), ("/readyz", ready)


def _answer(question: Callable[[], str]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        reason = question()
        answer = web.Response(status=503 if reason else 200, text=f"{reason or 'ok'}\n")
        answer.force_close()  # a connection that rests takes the room of the next probe
        return answer

    return handle
