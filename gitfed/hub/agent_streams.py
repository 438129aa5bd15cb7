"""Ways into pulled clusters: connections that their agents dial when they are asked for one.

The hub asks over the connection that an agent keeps open, with a key of one use; the agent dials `PATH` with its
certificate and that key, and the connection is the hub's to send requests on (`http_relay.reverse`). A key counts for
the agent of one cluster, once, and for some seconds. A stream ends with its agent: when that is not heard for a lease,
or is another process by then, the right process is not at the other end.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from functools import partial

import aiohttp
from aiohttp import web

from gitfed.agent_protocol import frames
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.errors import ClusterUnreachable, LinkError
from gitfed.http_relay import passing, tunnel
from gitfed.http_relay.reverse import KEY, MOST, PROTOCOL, Connector, Stream
from gitfed.hub.running import Running
from gitfed.model.base import ClusterName

log = logging.getLogger("gitfed.hub")

DIAL = 10.0
"""Seconds that an agent has to dial back."""
_ANSWER = 10.0
"""Seconds that it has to say that it will."""
_LOOK = 1.0
"""Seconds between two looks whether a stream's agent is the one that dialled it."""
_AGREED = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n".encode()


class AgentStreams:
    def __init__(self, running: Running) -> None:
        self._running = running
        self._awaited: dict[str, tuple[ClusterName, asyncio.Future[Stream]]] = {}
        self._count: Counter[ClusterName] = Counter()

    def connector(self, cluster: ClusterName, *, spares: int = 0) -> aiohttp.BaseConnector:
        """`spares`: how many of the connections that may be open it leaves to others."""
        return Connector(partial(self._dial, cluster, MOST - spares))

    def count(self) -> dict[ClusterName, int]:
        """Streams that are open or awaited."""
        return dict(self._count)

    # -- the side that wants a connection -----------------------------------------------------------------------------

    async def _dial(self, cluster: ClusterName, most: int) -> Stream:
        """Raises ClusterUnreachable, with a sentence for the caller of that cluster."""
        member = self._member(cluster)
        if self._count[cluster] >= most:
            raise _unreachable(cluster, f"{most} connections to it through its agent are open, and no more may be")
        key = secrets.token_urlsafe(32)
        awaited: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        self._awaited[key] = cluster, awaited
        self._count[cluster] += 1
        try:
            await self._ask(member, key)
            done, _ = await asyncio.wait({awaited}, timeout=DIAL)
            if not done:
                raise _unreachable(cluster, f"its agent did not dial back in {DIAL:g} s", "Timeout")
            stream = awaited.result()
        except BaseException:
            self._count[cluster] -= 1
            if awaited.done():  # it came just after the time was over
                awaited.result().give_up()
            raise
        finally:
            self._awaited.pop(key, None)
        stream.over.add_done_callback(lambda _: self._count.subtract([cluster]))
        return stream

    async def _ask(self, member: PulledMember, key: str) -> None:
        try:
            await member.agent.ask_for_stream(key, _ANSWER)
        except LinkError as error:
            raise _unreachable(member.name, f"its agent opens no connection: {error.message}") from error

    def _member(self, cluster: ClusterName) -> PulledMember:
        engine = self._running.engine
        if engine is None or engine.abandoned:
            raise _unreachable(cluster, "it is pulled, and its agent talks to the daemon that leads: this one does not")
        member = engine.fleet.members.get(cluster)
        if not isinstance(member, PulledMember):
            raise _unreachable(cluster, "it is pulled, and the daemon has just begun: try again")
        if not member.agent.connected:
            raise _unreachable(cluster, "it is pulled, and its agent is not connected")
        if member.agent.version < frames.STREAMS:
            raise _unreachable(
                cluster,
                f"its agent is too old for this: it speaks version {member.agent.version} of the protocol, "
                f"and {frames.STREAMS} is needed (install a newer agent)",
            )
        return member

    # -- the side on which agents knock -------------------------------------------------------------------------------

    async def take(self, request: web.Request, cluster: ClusterName) -> web.StreamResponse:
        """An agent of this cluster dialled back. Ends with the stream."""
        if passing.upgrade_of(request) != PROTOCOL or request.transport is None:
            return web.Response(status=426, text=f"this is for an upgrade to {PROTOCOL}\n")
        try:
            member = self._member(cluster)
        except ClusterUnreachable as error:
            return web.Response(status=503, text=f"{error.message}\n")
        owner, awaited = self._awaited.get(request.headers.get(KEY, ""), (None, None))
        if awaited is None or owner != cluster or awaited.done():
            # Of another cluster's key the right agent has still to make use.
            log.warning("a stream that the hub did not request", extra={"cluster": cluster, "remote": request.remote})
            return web.Response(status=403, text="the hub did not request this stream from this agent\n")
        del self._awaited[request.headers[KEY]]
        return await self._carry(request.transport, member, awaited)

    async def _carry(
        self, transport: asyncio.Transport, member: PulledMember, awaited: asyncio.Future[Stream]
    ) -> web.StreamResponse:
        stream = Stream(transport)
        try:
            transport.write(_AGREED)
            transport.resume_reading()
            awaited.set_result(stream)
            instance = member.agent.instance
            while not stream.over.done():
                await asyncio.wait({stream.over}, timeout=_LOOK)
                if not member.is_followed or member.agent.instance != instance:
                    break
        finally:
            transport.abort()
        return tunnel.Tunnelled()


def _unreachable(cluster: ClusterName, why: str, reason: str = "") -> ClusterUnreachable:
    return ClusterUnreachable(f"cluster {cluster}: {why}", cluster=cluster, reason=reason)
