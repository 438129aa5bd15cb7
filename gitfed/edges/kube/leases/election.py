"""Leader election: one candidate of several leads, by the client library's algorithm over any lock.

Kubernetes: client-go's leader election. A candidate takes a lock that is free, given back, or was not renewed for as
long as it counts, as *seen by that candidate's own clock* since the last change: clocks of two machines are never
compared. A leader that cannot renew within the deadline stops before the lock runs out. All this is `kubernetes.aio`'s;
here the library is given locks that are not its own, and four habits of it are mended: a failure to reach the lock ends
nothing, one that sees another holder of the lock stops at once, one that stops in good order gives it back, and
the deadline counts from the last renewal that is known to have worked, by a clock that cannot be set. (The library
looks at the wall clock, and only between two attempts: one that hangs in a cut network would lead beyond its lease.)

An election says who *should* write, and `fence` ends every write with the lead. That no other process *can* is the
inventory's `term` and the state branch's compare-and-swap.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from gitfed import errors
from gitfed.edges.kube.leases.fence import Fence, clock
from gitfed.model.leader import Lead
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.leader")


_LOOK = 1.0
"""Seconds between two looks at the clock: while the machine sleeps, the loop's own stands still."""


class Lock(Protocol):
    """Where it is written who leads. `write` is bound to what `read` saw last."""

    async def read(self) -> Lead | None: ...
    async def write(self, lead: Lead) -> bool: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Seconds; client-go's defaults. `lease` must exceed `renew`, and that 1.2 × `retry`."""

    lease: int = 15
    """A lock that was not renewed for so long is free."""
    renew: int = 10
    """A leader that could not renew for so long stops."""
    retry: int = 2
    """Between two attempts, of leader and candidates alike."""

    @property
    def grace(self) -> float:
        """From when a leader stops until another one may begin."""
        return self.lease - self.renew


class Election:
    """One candidate. `win`, then `keep`; `resign` when the work is over."""

    def __init__(
        self,
        lock: Lock,
        identity: str,
        timing: LeaseTiming = LeaseTiming(),
        *,
        fence: Fence | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`fence` is told how long the lead lasts."""
        from kubernetes.aio.leaderelection import electionconfig, leaderelection

        # The library reports trouble with the lock at every attempt; `_Adapter` says it once.
        logging.getLogger(leaderelection.__name__).setLevel(logging.CRITICAL)
        self._fence = fence or Fence(timing.grace)
        self._lock = _Adapter(lock, identity, timing, self._fence, now)
        config = electionconfig.Config(
            self._lock, timing.lease, timing.renew, timing.retry, onstarted_leading=_nothing, onstopped_leading=_nothing
        )
        self._library = leaderelection.LeaderElection(config)

    @property
    def holder(self) -> str:
        """Who leads, as last seen; "": no process."""
        return self._lock.holder

    async def win(self) -> None:
        """Wait until this candidate leads."""
        await self._library.acquire()
        self._lock.leads()

    async def keep(self) -> None:
        """Renew until it is lost, and return then."""
        ends = [
            asyncio.ensure_future(waiting)
            for waiting in (self._library.renew_loop(), self._lock.lost.wait(), self._lock.expired())
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            self._fence.close()
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def resign(self) -> None:
        """Give the lock back, if it is ours, so that no candidate has to wait until it runs out."""
        await self._lock.give_back()


async def _nothing() -> None:
    """What the library would run; `Election`'s caller runs the work itself, to be able to end it in good order."""


class _Adapter:
    """A `Lock` in the shape that the library expects of its own."""

    name = namespace = "gitfed"

    def __init__(
        self, lock: Lock, identity: str, timing: LeaseTiming, fence: Fence, now: Callable[[], datetime]
    ) -> None:
        self.identity = identity
        self.lost = asyncio.Event()
        self.holder = ""
        self._lock = lock
        self._timing = timing
        self._now = now
        self._leads = False
        self._acquired: datetime | None = None
        self._fence = fence
        self._said = ""

    def leads(self) -> None:
        self._leads = True
        self.lost.clear()

    async def expired(self) -> None:
        """Returns when the lock was not renewed within the deadline."""
        while (left := self._fence.left) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, _LOOK))

    async def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        from kubernetes.aio.client.rest import ApiException
        from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord

        try:
            async with asyncio.timeout(self._timing.renew):
                lease = await self._lock.read()
        except (errors.GitfedError, TimeoutError) as error:
            self._say(str(error) or "no answer in time")
            return False, ApiException(status=0, reason=str(error))
        self._say("")
        self.holder = lease.holder if lease is not None else ""
        if lease is None:
            absent = ApiException(status=404, reason="absent")
            absent.body = b'{"code": 404}'
            return False, absent
        if self._leads and lease.holder != self.identity:
            self.lost.set()
        if not lease.holder:
            return True, None
        return True, LeaderElectionRecord(
            lease.holder, str(lease.seconds), lease.acquired.isoformat(), lease.renewed.isoformat()
        )

    async def create(self, name: str, namespace: str, election_record: Any) -> bool:
        return await self._write(self.identity)

    async def update(self, name: str, namespace: str, updated_record: Any) -> bool:
        return await self._write(self.identity)

    async def give_back(self) -> None:
        self._leads = False
        with contextlib.suppress(errors.GitfedError, TimeoutError):
            async with asyncio.timeout(self._timing.renew):
                lease = await self._lock.read()
            if lease is not None and lease.holder == self.identity:
                await self._write("")

    async def _write(self, holder: str) -> bool:
        now, sent = self._now(), clock()
        if self._acquired is None or not self._leads:
            self._acquired = now
        try:
            async with asyncio.timeout(self._timing.renew):
                done = await self._lock.write(Lead(holder, self._timing.lease, self._acquired, now))
        except (errors.GitfedError, TimeoutError) as error:
            self._say(str(error) or "no answer in time")
            return False
        if done:
            self.holder = holder
            self._fence.extend(sent + self._timing.renew if holder else 0.0)
        return done

    def _say(self, error: str) -> None:
        if error and error != self._said:
            log.warning("the leader's lock cannot be used", extra={"lock": str(self._lock), "error": error})
        self._said = error
