"""`gitfed agent --pool`: one member, its clusters, and its health endpoint, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from gitfed.agent import health
from gitfed.agent.cancellation import ended
from gitfed.agent.dial import Dial
from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.agent.keeper import Keeper
from gitfed.agent.one_cluster import OneCluster
from gitfed.agent.pool import membership
from gitfed.agent.pool.clusters import PoolClusters
from gitfed.agent.pool.membership import Membership
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.edges import tls_buffers
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.credentials import CredentialSources
from gitfed.edges.kube.connection.session import CONCURRENCY, Session
from gitfed.edges.kube.leases.fence import Fence
from gitfed.edges.kube.leases.shared_leases import SharedLeases
from gitfed.errors import InputError
from gitfed.model import agent_identity
from gitfed.model.agent_presence import Holding
from gitfed.model.base import ClusterName
from gitfed.model.declared.cluster import Cluster
from gitfed.model.keys import POOL
from gitfed.registration import rotation
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.agent")

NAMESPACE = "gitfed-system"
"""Where the Leases are, outside of a pod."""


def secret_name(pool: str) -> str:
    """The Secret with what the members of a pool are known by."""
    return f"gitfed-pool-{pool}"


@dataclass(frozen=True, slots=True)
class LeasePlace:
    """Where the members share: () and "" are the cluster around this pod, and its namespace."""

    kubeconfig: tuple[Path, ...] = ()
    context: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class PoolMemberOptions:
    hub: HubEndpoint
    pool: str
    ways: CredentialSources
    """To the clusters, as the daemon has them."""
    leases: LeasePlace = LeasePlace()
    lease_timing: membership.Timing = field(default_factory=membership.Timing)
    concurrency: int = CONCURRENCY
    timing: Timing | None = None
    health_address: str = "127.0.0.1:0"
    member: str = field(default_factory=lambda: f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}")


async def run(options: PoolMemberOptions, *, started: Callable[[int], None] = lambda port: None) -> signal.Signals:
    """Until SIGTERM or SIGINT, which it returns; then others get what it held. Raises InputError, UsageError,
    CredentialsError."""
    tls_buffers.keep_small()
    _check(options)
    member = _Member(options)
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[signal.Signals] = loop.create_future()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(member.leases.close)
        port = await health.listen(stack, options.health_address, member.why_not_ready, member.numbers)
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, _settle, stop, name)
            stack.callback(loop.remove_signal_handler, name)
        log.info(
            "gitfed agent runs",
            extra={"pool": options.pool, "member": options.member, "hub": options.hub.url, "health": port},
        )
        started(port)
        stack.push_async_callback(ended, asyncio.create_task(_rotate(options), name="rotation"))
        asking = asyncio.create_task(member.clusters.run(), name="pool-clusters")
        stack.push_async_callback(ended, asking)
        sharing = asyncio.create_task(member.membership.run(), name="membership")
        try:
            either: set[asyncio.Future[Any]] = {stop, sharing, asking}
            done, _ = await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            log.info("stopping: what is under way is finished first")
            await ended(sharing)
            await member.membership.leave()
        return stop.result()


def _settle(stop: asyncio.Future[signal.Signals], name: signal.Signals) -> None:
    if not stop.done():
        stop.set_result(name)


def _check(options: PoolMemberOptions) -> None:
    """Raises InputError, UsageError."""
    agent = options.hub.agent()
    if agent != agent_identity.of_pool(options.pool):
        whose = agent_identity.pool_in(agent)
        owner = f"members of pool {whose}" if whose else f"the agent of cluster {agent}"
        raise InputError(
            f"{options.hub.credentials / 'tls.crt'} is for {owner}, and not for pool {options.pool}",
            hint=f"gitfed token create --pool {options.pool}, and gitfed register --pool {options.pool}",
        )


class _Member:
    def __init__(self, options: PoolMemberOptions) -> None:
        self._options = options
        place, timing = options.leases, options.lease_timing
        namespace = place.namespace or rotation.own_namespace() or NAMESPACE
        session = _host("leases", CredentialSources(kubeconfig=place.kubeconfig), place.context)
        self.leases = SharedLeases(session, namespace=namespace, label=(POOL, options.pool), seconds=timing.renew)
        self.membership = Membership(self.leases, options.pool, options.member, self._hold, timing)
        self.clusters = PoolClusters(options.hub, self._told)
        self._kept: dict[ClusterName, OneCluster] = {}
        """Of each cluster the one that was begun last."""

    def _told(self, clusters: frozenset[ClusterName]) -> None:
        self.membership.clusters = clusters

    def _hold(self, cluster: ClusterName, holding: Holding, fence: Fence) -> OneCluster:
        options = self._options

        def opened(declared: Cluster) -> Session:
            way = credentials.resolve(declared, options.ways)
            return Session(cluster, way, concurrency=options.concurrency, fence=fence)

        keeper = Keeper(cluster, opened, timing=options.timing, concurrency=options.concurrency)
        says = {"cluster": cluster, "member": holding.member, "holding": str(holding.number)}
        kept = self._kept[cluster] = OneCluster(keeper, Dial(options.hub, keeper, says=says))
        kept.begin()
        return kept

    def why_not_ready(self) -> str:
        """ "" when it shares in the work. A member that lost its hub still keeps what it holds."""
        return self.membership.error or (self.clusters.error if not self.membership.clusters else "")

    def numbers(self) -> Iterable[health.Number]:
        held = [self._kept[name] for name in self.membership.held if name in self._kept]
        workers = [kept.keeper.member.worker for kept in held if kept.keeper.member is not None]
        return (
            ("gitfed_agent_pool_clusters", "gauge", "Clusters of the pool.", len(self.membership.clusters)),
            ("gitfed_agent_pool_members", "gauge", "Members that live, as seen last.", len(self.membership.members)),
            ("gitfed_agent_pool_held", "gauge", "Clusters that this member holds.", len(held)),
            ("gitfed_agent_pool_taken_total", "counter", "Clusters that it took.", self.membership.taken),
            (
                "gitfed_agent_connected",
                "gauge",
                "Of those, connected to the hub.",
                sum(kept.connected for kept in held),
            ),
            (
                "gitfed_agent_pending_changes",
                "gauge",
                "Changes that are not done.",
                sum(worker.pending for worker in workers if worker is not None),
            ),
            (
                "gitfed_agent_own_repairs_total",
                "counter",
                "Repairs made while the hub was away.",
                sum(kept.keeper.repaired for kept in self._kept.values()),
            ),
        )


async def _rotate(options: PoolMemberOptions) -> None:
    """Renew the certificate in the pool's Secret when this is a pod, else in its folder. Each member does: what one
    gets does not end what another one shows."""
    hub, folder = options.hub, options.hub.credentials
    address = hub.url.removeprefix("https://").rstrip("/")
    agent, namespace = agent_identity.of_pool(options.pool), rotation.own_namespace()
    if not namespace:
        await rotation.Rotation(address, agent, folder, rotation.in_folder(folder)).run()
    async with _host("certificate", CredentialSources()) as session:
        keep = rotation.in_secret(session, namespace, secret_name(options.pool))
        await rotation.Rotation(address, agent, folder, keep).run()


def _host(purpose: str, sources: CredentialSources, context: str = "") -> Session:
    return Session(purpose, credentials.of_host(purpose, sources, context))
