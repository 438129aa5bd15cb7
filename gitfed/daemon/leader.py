"""One leader of several daemons: the engine runs only while its election is won.

A standby holds nothing: no clusters, no state. When it wins, it reads the state branch and goes on where that stands.
A leader that loses gives up what is under way: requests that wait for an answer are cut off, where on SIGTERM they
would be finished, and no write begins or goes on beyond the time that the lock was won for (`edges.kube.fence`). What
has reached a server meets the new leader's `term` in each inventory, and the state branch's compare-and-swap; a write
to an object that is stored all the same is seen by the new leader, and put right.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Protocol

from gitfed import errors
from gitfed.edges.kube.leases.election import Election
from gitfed.edges.kube.leases.election import LeaseTiming as LeaseTiming
from gitfed.edges.kube.leases.fence import Fence
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.leader")

LEASES = LeaseTiming()
REFS = LeaseTiming(lease=60, renew=40, retry=15)
"""Every renewal is a push."""


@dataclass(frozen=True, slots=True)
class LeaderOptions:
    """How several daemons agree."""

    lock: str
    """`leases` or `git`."""
    context: str = ""
    """kubeconfig context of the cluster that keeps the Lease; "": the one this process runs in."""
    namespace: str = "gitfed-system"
    name: str = "gitfed"
    timing: LeaseTiming | None = None
    """None: `LEASES` or `REFS`."""
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}")

    fence: Fence = field(init=False, compare=False)
    """Until when this process leads: every session of its clusters asks."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fence", Fence(self.times.grace))

    @property
    def times(self) -> LeaseTiming:
        return self.timing or (LEASES if self.lock == "leases" else REFS)


class Tells(Protocol):
    """A lock by which the candidates can tell the leader of a push."""

    on_told: Callable[[], None]

    async def tell(self) -> None: ...


class Messenger:
    """Tells the leader that there was a push, at most once in so many seconds, however many there are."""

    def __init__(self, lock: Tells, pause: float) -> None:
        self._lock = lock
        self._pause = pause
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def tell(self) -> None:
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._again:
            self._again = False
            try:
                await self._lock.tell()
            except errors.GitfedError as error:
                log.warning("the leading daemon could not be told of a push", extra={"error": str(error)})
            await asyncio.sleep(self._pause)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def lead(
    election: Election,
    work: Callable[[], Awaitable[None]],
    *,
    on_change: Callable[[bool], None] = lambda leads: None,
    on_loss: Callable[[], None] = lambda: None,
) -> None:
    """Do `work` while leading, again and again, until cancelled. Returns when `work` returns by itself.

    `on_loss` is called before `work` is cancelled because the lead is lost: that is no time to finish things.
    """
    while True:
        on_change(False)
        log.info("standing by while another daemon leads")
        await election.win()
        log.info("leading")
        on_change(True)
        working = asyncio.ensure_future(work())
        keeping = asyncio.ensure_future(election.keep())
        try:
            await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return
            log.warning(
                "no longer leading: another daemon leads, or the lock could not be renewed",
                extra={"leader": election.holder},
            )
            on_loss()
        finally:
            # The work ends first: until then no other daemon may begin.
            for task in (working, keeping):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await election.resign()
