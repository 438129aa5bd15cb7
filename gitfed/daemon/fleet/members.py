"""The members of the fleet: one for each declared cluster, which works here or stands for the cluster's agent."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from gitfed import errors
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.fleet.cluster_ids import ClusterIds
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.member_protocol import ClusterMember
from gitfed.daemon.fleet.pulled.member import LEASE, PulledMember
from gitfed.daemon.telemetry import Telemetry
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.model import leader
from gitfed.model.base import ClusterName
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts
from gitfed.model.repo import RepoSnapshot
from gitfed.text.values import dataclass

_ENDS = 15.0
"""Seconds that members have to end in."""


@dataclass(slots=True)
class MemberOptions:
    timing: Timing = field(default_factory=Timing)
    concurrency: int = 16
    lease: float = LEASE
    """Seconds after which a pulled cluster is unknown whose agent is silent."""
    adopt: frozenset[ClusterName] = frozenset()
    """Clusters whose inventory becomes ours, whatever it says: a person asked for it."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    telemetry: Telemetry = field(default_factory=Telemetry)
    leader: str = ""
    """How this process is called in inventories (`model.leader.name`); "": nothing is to be known of it."""
    takes_over: bool = True
    """Whether it may lead where a daemon does that has not ended in good order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFleet:
    """What was written down of the clusters, by this process or an earlier one."""

    repository_id: Callable[[], str] = str
    entries: Callable[[ClusterName], int] = lambda name: 0
    """How many entries the inventory of a cluster has at least."""
    cluster_id: Callable[[ClusterName], str] = lambda name: ""
    """Which cluster it was, by the uid of its kube-system; "" when that is not on record."""
    clusters_with_id: Callable[[str], Collection[ClusterName]] = lambda uid: ()
    facts: Mapping[ClusterName, ClusterFacts] = field(default_factory=dict)


class Roster:
    """Members by name, each with the task that it lives in."""

    def __init__(
        self, open_session: Callable[[Cluster], Session], options: MemberOptions, upward: FleetCallbacks
    ) -> None:
        self.members: dict[ClusterName, ClusterMember] = {}
        self._open_session = open_session
        self._options = options
        self._upward = upward
        self._ids = ClusterIds(self._id_of)
        self._tasks: dict[ClusterName, asyncio.Task[None]] = {}

    def match(self, repo: RepoSnapshot, recorded: RecordedFleet, *, claimed: bool, capacity: bool) -> list[ClusterName]:
        """One member for each declared cluster; one that is reached in another way now is a new member. Those that
        are members no more.

        `claimed`: this process leads already. `capacity`: whether nodes and pods are to be watched.
        """
        gone = []
        for name in list(self.members):
            declared = repo.clusters.get(name)
            if declared is None or way_to(declared) != way_to(self.members[name].cluster):
                self._tasks.pop(name).cancel()
                del self.members[name]
                gone.append(name)
        quotas = repo.settings.gate("ResourceQuotaEstimate")
        for name, declared in repo.clusters.items():
            if name in self.members:
                self.members[name].cluster = declared
                self.members[name].want_capacity(capacity, quotas=quotas)
                continue
            context = MemberContext(
                federation=repo.settings.metadata.name,
                repository_id=recorded.repository_id,
                expected=functools.partial(recorded.entries, name),
                recorded_id=functools.partial(recorded.cluster_id, name),
                elsewhere=functools.partial(self._with_id, name, recorded.clusters_with_id),
                says_id=functools.partial(self._ids.says, name),
                remembered_facts=recorded.facts.get(name),
                adopt=name in self._options.adopt,
                called=self._options.leader,
            )
            member = new_member(declared, self._open_session, self._upward, context, self._options)
            self.members[name] = member
            member.want_capacity(capacity, quotas=quotas)
            self._tasks[name] = asyncio.create_task(member.run(), name=f"member-{name}")
            if claimed:
                member.claim()
        return gone

    def _with_id(
        self, but: ClusterName, recorded_with: Callable[[str], Collection[ClusterName]], uid: str
    ) -> ClusterName:
        """The other cluster that has this id; "" when none has."""
        others = self._ids.others(but, uid, recorded_with(uid))
        return next((name for name in self.members if name in others), "") if others else ""

    def _id_of(self, cluster: ClusterName) -> str:
        member = self.members.get(cluster)
        return member.id if member is not None else ""

    def claim(self) -> None:
        """Lead from now on. Raises NotOwned, and nothing was written, where that is left to a daemon."""
        by_hand = leader.kind(self._options.leader) == leader.ONE_SHOT
        if by_hand and self.members and all(isinstance(member, PulledMember) for member in self.members.values()):
            raise errors.NotOwned(
                "nothing can be applied by hand: only agents reach the clusters, and these listen to gitfed run alone",
                hint="push the commit: the daemon applies it",
            )
        if not self._options.takes_over:
            place = leader.place(self._options.leader)
            led = sorted(name for name, member in self.members.items() if member.led_by_daemon(but=place))
            if led:
                raise errors.NotOwned(
                    f"a daemon leads in {', '.join(led)}: it would write nothing more until this is over",
                    hint="it applies what is pushed; --take-over applies all the same, also where a daemon was killed",
                )
        for member in self.members.values():
            member.claim()

    async def looked(self, seconds: float) -> None:
        """Wait until every member had its first look, well or badly."""
        await _wait((member.looked.wait() for member in self.members.values()), seconds)

    async def measured(self, seconds: float) -> None:
        """Wait until the capacity of every cluster that can be read was read, where it is wanted and never was."""
        await _wait((member.measured() for member in self.members.values() if member.measuring), seconds)

    def abandon(self) -> None:
        """What is under way is not finished: `close` comes next."""
        for member in self.members.values():
            if member.worker is not None:
                member.worker.abandon()

    async def close(self) -> None:
        """Stop every member; what is under way is finished first, unless it was abandoned."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_ENDS)
        self._tasks.clear()

    def superseded(self) -> list[ClusterName]:
        """Clusters where another process leads, and this one writes nothing."""
        return sorted(name for name, member in self.members.items() if member.superseded)

    def lost(self) -> list[ClusterName]:
        """Clusters whose task ended, which none does by itself: only another process would look at them again."""
        return sorted(name for name, task in self._tasks.items() if task.done())


async def _wait(looks: Iterable[Awaitable[Any]], seconds: float) -> None:
    tasks = [asyncio.ensure_future(look) for look in looks]
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()


def new_member(
    declared: Cluster,
    open_session: Callable[[Cluster], Session],
    upward: FleetCallbacks,
    context: MemberContext,
    options: MemberOptions,
) -> ClusterMember:
    # Agents listen to daemons alone: what is carried out once by hand goes into a pool's clusters directly.
    by_hand = leader.kind(options.leader) == leader.ONE_SHOT
    if declared.has_agent and not (declared.pool and by_hand):
        return PulledMember(declared, upward, context, lease=options.lease)
    return Member(declared, open_session, upward, context, timing=options.timing, concurrency=options.concurrency)


def way_to(cluster: Cluster) -> object:
    """What decides how a cluster is reached: another one makes another member."""
    return cluster.spec.sync_mode, cluster.pool, credentials.way_to(cluster)
