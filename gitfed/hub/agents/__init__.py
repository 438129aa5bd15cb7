"""The door for agents: `GET /agents/v1/connection`, a WebSocket over mutual TLS, and `GET /agents/v1/stream`, by which
they dial back when the hub asked them to (`agent_streams`).

Who connects is who the certificate names, and nobody else: an agent has one cluster, and what it says is taken for that
one. A member of a pool has one connection for each cluster that it holds, and says which (`calling`). A certificate
that stops to count ends a connection that is open (`access.agents`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

from aiohttp import web

from gitfed.agent_protocol import frames, link
from gitfed.agent_protocol.socket import WebSocket
from gitfed.daemon.cycle import Engine
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.errors import LinkCut, LinkError
from gitfed.hub import listener, refusal, routes
from gitfed.hub.agents import calling
from gitfed.hub.agents.calling import Calling
from gitfed.hub.routes import Capability, Route
from gitfed.hub.running import Running
from gitfed.hub.server import Hub
from gitfed.model import agent_identity
from gitfed.model.base import ClusterName
from gitfed.model.keys import POOL

log = logging.getLogger("gitfed.hub")

PATH = "/agents/v1/connection"
STREAM = "/agents/v1/stream"
_GREETING = 10.0
_AT_A_TIME = 8
"""Connections of a cluster's agent: one that counts, one that is half open, and a few that were broken off before their
greeting. What is more comes of no honest one, and would take the places of others."""
_BEGINNING, _LOOK = 10.0, 0.1
"""Seconds that an agent waits at most for a hub that begins (it waits 15 itself), and between two looks."""


def capability(hub: Hub) -> Capability:
    if hub.authentication.agents is not None:
        hub.running.certificates = hub.authentication.agents.certificate_ends
    door = _Door(hub)
    return Capability(
        routes=(
            Route("GET", PATH, door.open, agents=True, lasting=True),
            Route("GET", STREAM, door.stream, agents=True, lasting=True),
        ),
    )


class _Door:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._here: Counter[ClusterName] = Counter()
        """How many connections of a cluster's agent are let in, or wait for it."""

    async def open(self, request: web.Request) -> web.StreamResponse:
        calls = calling.of(routes.agent(request), request.query)
        if isinstance(calls, str):
            return refusal.answer(request, 400, calls)
        name = calls.cluster
        routes.audited(request, cluster=name)
        if self._here[name] >= _AT_A_TIME:
            return refusal.answer(request, 429, f"{_AT_A_TIME} connections of the agent of {name} are open already")
        answer = web.WebSocketResponse(max_msg_size=frames.LARGEST, compress=False, autoping=False, timeout=2.0)
        first = not self._here[name]
        self._here[name] += 1
        if first:
            listener.is_no_stranger(request)
        socket = WebSocket(answer)
        try:
            await answer.prepare(request)
            hello = await link.greeted(socket, _GREETING)
            await self._serve(request, socket, hello, calls)
        except LinkCut as error:
            await link.refuse(socket, error)  # that it is gone was said where it was connected
        except LinkError as error:
            log.info("an agent is refused", extra={"cluster": name, "remote": request.remote, "error": error.message})
            await link.refuse(socket, error)
        finally:
            self._here[name] -= 1
            if not self._here[name]:
                del self._here[name]
        return answer

    async def _member(self, name: ClusterName, pool: str = "") -> PulledMember:
        """Whoever comes while this hub begins waits at the door: turned away, a whole fleet would be back only after
        the pauses that it makes for a hub that is gone. Raises as `member_of`."""
        running, end = self._hub.running, time.monotonic() + _BEGINNING
        while True:
            try:
                return member_of(running.engine, name, pool)
            except LinkError as error:
                if error.final or not is_beginning(running, name) or time.monotonic() >= end:
                    raise
            await asyncio.sleep(_LOOK)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        agent = routes.agent(request)
        if agent_identity.pool_in(agent):
            return refusal.answer(request, 403, "members of pools open no way into clusters: the hub has its own")
        return await self._hub.streams.take(request, agent)

    async def _serve(self, request: web.Request, socket: WebSocket, hello: frames.Hello, calls: Calling) -> None:
        version = frames.agreed(hello)
        member = await self._member(calls.cluster, calls.pool)
        member.agent.may_attach(hello.instance, calls.holding)
        connection = link.Link(
            socket,
            member.told,
            member.reports.heard,
            link.LinkHandlers(member.taken, member.answer, member.heard),
            lease=member.lease,
            life=link.SignsOfLife.of(version, agent=False),
        )
        changed_hands = await member.agent.attach(
            connection, hello.instance, program=hello.program, protocol=version, holding=calls.holding
        )
        member.connected(changed_hands=changed_hands)
        listener.is_no_stranger(request)
        try:
            digests = tuple(member.reports.heard.connect())
            await socket.send(frames.encode(frames.Welcome(version, member.lease, digests)))
            if not member.agent.is_attached(connection):
                raise LinkError("the same agent connected again")
            member.told.connect(hello.digests)
            await connection.run()
        except LinkError as error:
            member.agent.detach(connection, error)
            raise
        finally:
            member.agent.detach(connection, LinkCut("the connection is gone"))


def is_beginning(running: Running, name: ClusterName) -> bool:
    """Whether this hub will know in a moment whose agent that is: it leads, or is about to, and has yet to read."""
    if running.standing_by or (running.engine is not None and running.engine.abandoned):
        return False
    repo = running.engine.repo if running.engine is not None else None
    return repo is None or name in repo.clusters


def member_of(engine: Engine | None, name: ClusterName, pool: str = "") -> PulledMember:
    """`pool`: whose member asks; "": the cluster's own agent. Raises LinkError, with what the person at the agent's
    side can do. Where waiting may help it is not final: an agent that stays away for longer than its lease makes the
    cluster unknown, and moves what runs there."""
    if engine is None or engine.repo is None or engine.abandoned:
        raise LinkError("this hub does not lead, or reads the repository only now: connect again")
    member = engine.fleet.members.get(name)
    if isinstance(member, PulledMember) and member.cluster.pool == pool:
        return member
    declared = engine.repo.clusters.get(name)
    if declared is None:
        # What is pushed next may declare it: a file that was not read yet is nobody's refusal.
        hint = "its file is missing" if pool else "gitfed register writes its file"
        raise LinkError(f"no cluster {name} is declared in the repository", hint=hint)
    if pool and declared.pool != pool:
        kept = f"is one of pool {declared.pool}" if declared.pool else "is in no pool"
        raise LinkError(f"cluster {name} {kept}, and not in {pool}", hint=f"{POOL}: {pool} in its Cluster file")
    if declared.pool and not pool:
        raise LinkError(f"cluster {name} is kept by pool {declared.pool}", hint=f"no {POOL} in its Cluster file")
    if declared.has_agent:
        raise LinkError("this hub reads the repository only now: connect again")
    raise LinkError(
        f"cluster {name} is a push cluster: the daemon connects to it",
        final=True,
        hint="spec.syncMode: Pull in its Cluster file",
    )
