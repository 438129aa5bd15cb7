"""Which member a cluster gets: one that works here, or one that stands for its agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing
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
