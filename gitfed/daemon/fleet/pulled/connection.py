"""The connection of one cluster's agent, as the hub's side of it: one at a time, and none once it is ended for good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitfed import errors
from gitfed.agent_protocol import frames, replica
from gitfed.agent_protocol.link import Link
from gitfed.model.agent_presence import BY_ITSELF, AgentPresence, Holding
from gitfed.model.base import ClusterName

log = logging.getLogger("gitfed.member")

_ANSWER = 20.0
_ANOTHER_LEADS = "another daemon leads now: connect again"


class AgentConnection:
    def __init__(self, cluster: ClusterName, told: replica.Told, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._told = told
        self._now = now
        self._link: Link | None = None
        self._known = AgentPresence()
        self._ended = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        return self._link is not None

    @property
    def ended(self) -> bool:
        """No agent is listened to any more."""
        return self._ended

    @property
    def presence(self) -> AgentPresence:
        """How its agent is now."""
        connected = self._known.connected if self.connected else None
        return replace(self._known, connected=connected, wanted=self._told.sequence, held=self._told.held)

    @property
    def instance(self) -> str:
        """Which process of an agent is connected, or was last."""
        return self._known.instance

    @property
    def version(self) -> int:
        """Of the protocol, that this process speaks."""
        return self._known.protocol or frames.OLDEST

    # -- by the door --------------------------------------------------------------------------------------------

    def may_attach(self, instance: str, holding: Holding = BY_ITSELF) -> None:
        """Raises LinkError while another agent of this name is connected, or this process leads no more. Of a pool's
        members the one comes in that got the Lease last: the holder before may have noticed nothing yet."""
        if self._ended:
            raise errors.LinkError(_ANOTHER_LEADS)
        if self._link is not None and instance != self._known.instance:
            if holding.member and holding.number > self._known.holding.number:
                return
            if holding.member:
                raise errors.LinkError(f"cluster {self._cluster} is held by {self._known.holding.member} by now")
            raise errors.LinkError(
                f"cluster {self._cluster} has an agent already, and has one at a time", hint="end the other one"
            )

    async def attach(
        self, link: Link, instance: str, *, program: str = "", protocol: int | None = None, holding: Holding = BY_ITSELF
    ) -> bool:
        """This is the connection now. An older one of the same process is half open, and ends first. Whether another
        member of the pool than before holds the cluster."""
        before, self._link = self._link, link
        another = bool(holding.member) and bool(self._known.instance) and instance != self._known.instance
        self._known = self._known.connected_now(self._now(), instance, program, protocol, holding)
        if before is not None:
            why = f"{holding.member} holds cluster {self._cluster} now" if another else "the same agent connected again"
            await before.close(errors.LinkError(why))
            await before.ended.wait()
        member = {"member": holding.member} if holding.member else {}
        log.info("agent connected", extra={"cluster": self._cluster, "instance": instance[:8], **member})
        return another

    def is_attached(self, link: Link) -> bool:
        return self._link is link

    def detach(self, link: Link, error: errors.LinkError) -> None:
        if self._link is link:
            self._link = None
            if not self._ended:
                log.warning("agent gone", extra={"cluster": self._cluster, "error": error.message})

    # -- by the member ------------------------------------------------------------------------------------------

    def heard(self) -> None:
        self._known = replace(self._known, heard=self._now())

    def poke(self) -> None:
        """There is something to tell."""
        if self._link is not None:
            self._link.poke()

    async def ask(self, what: str, about: Any = None, patience: float = _ANSWER) -> Any:
        """Raises LinkError."""
        if self._link is None:
            raise errors.LinkCut(f"cluster {self._cluster}: its agent is not connected")
        return await self._link.ask(what, about, patience=patience)

    async def ask_for_stream(self, key: str, patience: float) -> None:
        """Have the agent dial back (`http_relay.reverse`) with this key. Raises LinkError."""
        await self.ask("stream", key, patience)

    def say(self, what: str, about: Any = None) -> None:
        """Ask, and wait for no answer: an agent that is away hears nothing, and need not."""

        async def asking() -> None:
            with suppress(errors.LinkError):
                await self.ask(what, about)

        if self._link is not None:
            self._begin(asking())

    def cut(self, error: errors.LinkError) -> None:
        """It does not count any more; another may come."""
        link, self._link = self._link, None
        if link is not None:
            self._begin(link.close(error))

    def abandon(self) -> None:
        """Another daemon leads: nothing more is told, and nothing that is heard counts."""
        self._ended = True
        self.cut(errors.LinkError(_ANOTHER_LEADS))

    async def end(self, error: errors.LinkError) -> None:
        self._ended = True
        link, self._link = self._link, None
        if link is not None:
            await link.close(error)
        for task in self._tasks:
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
