"""★ One member of a pool: it says that it lives, learns which others do, and holds its share of the clusters.

As controllers of Kubernetes do: a Lease is taken when it is free, given back, or was not renewed for as long as it
counts; each write is bound to the version that was read, so one member gets it. What is held is written to for as long
as the last renewal allows (`edges.kube.fence`), which ends before another member may take it. A member that cannot
renew writes nothing, and goes on looking and telling until another one holds the cluster: that no member can reach the
Leases is no reason to call every cluster unknown.

What a member gives back is finished first, and its Lease is renewed meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Protocol

from gitfed import errors
from gitfed.agent.pool import sharing
from gitfed.agent.pool.observed import Observed
from gitfed.edges.kube.leases.fence import Fence, clock
from gitfed.edges.kube.leases.shared_leases import LeaseRecord, SharedLeases
from gitfed.model.agent_presence import Holding
from gitfed.model.base import ClusterName
from gitfed.model.keys import CONNECTED
from gitfed.model.leader import Lead
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.agent")

_LOOKS = 2
"""After which a member takes something: those that begin together know of each other by then, and nothing moves."""
_FORGOTTEN = 20
"""Times that a Lease counts, after which that of a member which died is deleted."""
_AWAY = 4
"""Times that a Lease counts, for which a member stands back that does not reach the hub while others do."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, in the proportions of client-go's defaults."""

    lease: int = 15

    @property
    def renew(self) -> float:
        """A member that could not renew for so long writes nothing more."""
        return self.lease * 2 / 3

    @property
    def retry(self) -> float:
        return self.lease * 2 / 15


class Kept(Protocol):
    """One cluster, while this member holds it."""

    @property
    def connected(self) -> bool:
        """Whether the hub is."""

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, which it should not."""

    async def end(self) -> None:
        """What is under way is finished first, as far as the fence allows it."""


@dataclass(slots=True)
class _Held:
    record: LeaseRecord
    fence: Fence
    sent: float
    """When the last renewal that worked was sent."""
    kept: Kept
    leaving: asyncio.Task[None] | None = None


class Membership:
    """`run` it until it is cancelled, then `leave`."""

    def __init__(
        self,
        leases: SharedLeases,
        pool: str,
        member: str,
        hold: Callable[[ClusterName, Holding, Fence], Kept],
        timing: Timing = Timing(),
    ) -> None:
        """`hold` begins to keep a cluster."""
        self.clusters: frozenset[ClusterName] = frozenset()
        """Those of the pool, as the hub said last."""
        self.members: frozenset[str] = frozenset()
        """Members that live, as seen last: this one too, unless it stands back."""
        self.error = "the Leases were not read yet"
        """Why it is not known who holds what; "" when it is."""
        self.taken = 0
        """How often a cluster was taken."""
        self._leases = leases
        self._pool = pool
        self._me = member
        self._hold = hold
        self._timing = timing
        self._seen = Observed()
        self._held: dict[ClusterName, _Held] = {}
        self._presence: LeaseRecord | None = None
        self._presence_sent = 0.0
        self._reached = clock()
        """When the hub was connected last, or nothing was there to connect for."""
        self._away_until = 0.0
        self._looks = 0

    @property
    def held(self) -> list[ClusterName]:
        return sorted(self._held)

    async def run(self) -> None:
        retry = self._timing.retry
        while True:
            await self.step()
            await asyncio.sleep(retry * random.uniform(0.9, 1.1))

    async def step(self) -> None:
        """Renew, look, give and take, once."""
        await self._renew()
        try:
            records = await self._leases.list()
        except errors.ClusterError as error:
            self._say(error.message)
            return
        self._say("")
        now = clock()
        self._seen.take(records, now)
        self._lose()
        self._stand_back(now)
        self.members = frozenset(self._living(now))
        holders = {
            cluster: holder for cluster in self.clusters if (holder := self._seen.holder(self._lease_of(cluster), now))
        }
        wanted = sharing.shares(self.members, self.clusters, holders)
        mine = {cluster for cluster, member in wanted.items() if member == self._me}
        for cluster, held in self._held.items():
            if cluster not in mine or held.kept.failed:
                self._give_back(cluster)
        free = (cluster for cluster in sorted(mine - self._held.keys()) if holders.get(cluster, self._me) == self._me)
        self._looks += 1
        if self._looks > _LOOKS:
            await asyncio.gather(*(self._take(cluster) for cluster in free))
        await self._clear_away(now)

    async def leave(self) -> None:
        """Give everything back, and be no member any more."""
        for cluster in self._held:
            self._give_back(cluster)
        while ending := [held.leaving for held in self._held.values() if held.leaving is not None]:
            await asyncio.wait(ending, timeout=self._timing.retry)
            if any(not task.done() for task in ending):
                await self._renew(presence=False)
        await self._withdraw()

    # -- being there --------------------------------------------------------------------------------------------

    def _living(self, now: float) -> Iterable[str]:
        """All members, this one with its share although what it says of itself may be on its way yet."""
        if now >= self._away_until:
            yield self._me
        for name in self._seen.records:
            if name.startswith(self._members) and (holder := self._seen.holder(name, now)) and holder != self._me:
                yield holder

    def _stand_back(self, now: float) -> None:
        """A member that does not reach the hub leaves its share to those that do, for a while."""
        if not self._held or any(held.kept.connected for held in self._held.values()):
            self._reached = now
            return
        others = (
            record
            for name, record in self._seen.records.items()
            if name.startswith(self._members) and self._seen.holder(name, now) not in ("", self._me)
        )
        if now - self._reached > self._timing.lease and any(
            record.annotations.get(CONNECTED) == "true" for record in others
        ):
            log.warning("the hub is not reached from here, but by other members", extra={"pool": self._pool})
            self._away_until = now + _AWAY * self._timing.lease

    async def _renew(self, *, presence: bool = True) -> None:
        now = clock()
        due = now - self._timing.lease / 5
        work: list[Awaitable[None]] = [
            self._renew_one(cluster, held) for cluster, held in self._held.items() if held.sent <= due
        ]
        if now < self._away_until:
            work.append(self._withdraw())
        elif presence and self._presence_sent <= due:
            work.append(self._say_present())
        await asyncio.gather(*work)

    async def _say_present(self) -> None:
        connected = "true" if any(held.kept.connected for held in self._held.values()) else "false"
        name, sent = f"{self._members}{hashlib.sha256(self._me.encode()).hexdigest()[:16]}", clock()
        try:
            before = self._presence or self._seen.records.get(name)
            self._presence = await self._leases.write(
                name, self._lead(self._me, before), before, {CONNECTED: connected}
            )
        except errors.ClusterError as error:
            self._say(error.message)
            return
        if self._presence is not None:
            self._presence_sent = sent

    async def _withdraw(self) -> None:
        record, self._presence = self._presence, None
        self._presence_sent = 0.0
        if record is not None:
            try:
                await self._leases.delete(record)
            except errors.ClusterError as error:
                self._say(error.message)

    async def _clear_away(self, now: float) -> None:
        """What members that died long ago have said of themselves."""
        for name in [name for name in self._seen.records if name.startswith(self._members)]:
            if self._seen.silent(name, now) > _FORGOTTEN * self._timing.lease:
                try:
                    await self._leases.delete(self._seen.records[name])
                except errors.ClusterError as error:
                    self._say(error.message)

    # -- holding ------------------------------------------------------------------------------------------------

    async def _take(self, cluster: ClusterName) -> None:
        name, sent = self._lease_of(cluster), clock()
        before = self._seen.records.get(name)
        try:
            record = await self._leases.write(name, self._lead(self._me, None), before)
        except errors.ClusterError as error:
            self._say(error.message)
            return
        if record is None:
            return  # another member was faster: the next look shows who
        self._seen.note(record, sent)
        fence = Fence(self._timing.lease - self._timing.renew, _not_renewed)
        fence.extend(sent + self._timing.renew)
        self.taken += 1
        log.info("holds a cluster", extra={"pool": self._pool, "cluster": cluster})
        kept = self._hold(cluster, Holding(self._me, record.transitions), fence)
        self._held[cluster] = _Held(record, fence, sent, kept)

    async def _renew_one(self, cluster: ClusterName, held: _Held) -> None:
        sent = clock()
        try:
            record = await self._leases.write(held.record.name, self._lead(self._me, held.record), held.record)
        except errors.ClusterError as error:
            self._say(error.message)
            return
        if record is not None:
            held.record, held.sent = record, sent
            held.fence.extend(sent + self._timing.renew)

    def _lose(self) -> None:
        """What another member holds now, or a client deleted."""
        for cluster, held in list(self._held.items()):
            record = self._seen.records.get(held.record.name)
            if record is not None and record.lead.holder == self._me:
                held.record = record  # also where the answer to a renewal was lost
                continue
            log.warning(
                "lost a cluster",
                extra={
                    "pool": self._pool,
                    "cluster": cluster,
                    "holder": record.lead.holder if record is not None else "",
                },
            )
            held.fence.close()
            if held.leaving is None:
                held.leaving = asyncio.create_task(self._end(cluster, held), name=f"lost-{cluster}")

    def _give_back(self, cluster: ClusterName) -> None:
        held = self._held[cluster]
        if held.leaving is None:
            log.info("gives a cluster back", extra={"pool": self._pool, "cluster": cluster})
            held.leaving = asyncio.create_task(self._end(cluster, held), name=f"leaving-{cluster}")

    async def _end(self, cluster: ClusterName, held: _Held) -> None:
        try:
            await held.kept.end()
        finally:
            ours = held.fence.left > 0
            held.fence.close()
            del self._held[cluster]
        if ours:
            try:
                await self._leases.write(held.record.name, self._lead("", held.record), held.record)
            except errors.ClusterError as error:
                self._say(error.message)

    # -- names --------------------------------------------------------------------------------------------------

    @property
    def _members(self) -> str:
        return f"gitfed-pool.{self._pool}.member."

    def _lease_of(self, cluster: ClusterName) -> str:
        return f"gitfed-pool.{self._pool}.cluster.{cluster}"

    def _lead(self, holder: str, before: LeaseRecord | None) -> Lead:
        now = datetime.now(UTC)
        return Lead(holder, self._timing.lease, before.lead.acquired if before is not None else now, now)

    def _say(self, error: str) -> None:
        if error and error != self.error:
            log.warning("the Leases of the pool cannot be used", extra={"leases": str(self._leases), "error": error})
        self.error = error


def _not_renewed(what: str) -> errors.GitfedError:
    return errors.ClusterUnreachable(f"{what}: this member of the pool could not renew its Lease")
