"""`gitfed agent`: the keeper, its connection, and its health endpoint, until a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gitfed.agent import health
from gitfed.agent.cancellation import ended
from gitfed.agent.dial import Dial
from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.agent.keeper import Keeper, declared
from gitfed.agent.one_cluster import OneCluster
from gitfed.agent.streams import Streams
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.edges import tls_buffers
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Relay, Session
from gitfed.model.base import ClusterName
from gitfed.model.declared.cluster import Cluster
from gitfed.model.keys import CONTEXT, IN_CLUSTER
from gitfed.registration import agent_manifests, rotation
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.agent")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    hub: HubEndpoint
    kubeconfig: tuple[Path, ...] = ()
    """() means the pod's own service account."""
    context: str = ""
    """"" means the one that has the cluster's name."""
    concurrency: int = 16
    timing: Timing | None = None
    health_address: str = "127.0.0.1:0"


async def run(options: AgentOptions, *, started: Callable[[int], None] = lambda port: None) -> signal.Signals:
    """Until SIGTERM or SIGINT, which it returns. `started` hears the port of the health endpoint. Raises InputError,
    UsageError."""
    tls_buffers.keep_small()
    cluster = options.hub.cluster()
    keeper = Keeper(cluster, _sessions(options), timing=options.timing, concurrency=options.concurrency)
    streams = Streams(options.hub, _into_cluster(options, cluster))
    dial = Dial(options.hub, keeper, streams)
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[signal.Signals] = loop.create_future()
    async with contextlib.AsyncExitStack() as stack:
        port = await health.listen(
            stack, options.health_address, lambda: why_not_ready(keeper, dial), lambda: _numbers(keeper, dial, streams)
        )
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, _settle, stop, name)
            stack.callback(loop.remove_signal_handler, name)
        log.info("gitfed agent runs", extra={"cluster": cluster, "hub": options.hub.url, "health": port})
        started(port)
        kept = OneCluster(keeper, dial)
        kept.begin()
        stack.push_async_callback(streams.close)
        stack.push_async_callback(ended, asyncio.create_task(_rotate(options, cluster), name="rotation"))
        try:
            either: set[asyncio.Future[Any]] = {stop, *kept.tasks}
            done, _ = await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            log.info("stopping: what is under way is finished first")
            await kept.end()
        return stop.result()


def _settle(stop: asyncio.Future[signal.Signals], name: signal.Signals) -> None:
    if not stop.done():
        stop.set_result(name)


async def _rotate(options: AgentOptions, cluster: ClusterName) -> None:
    """Renew the certificate in its Secret when this is a pod, else in its folder."""
    hub, folder = options.hub, options.hub.credentials
    address = hub.url.removeprefix("https://").rstrip("/")
    namespace = rotation.own_namespace()
    if not namespace:
        await rotation.Rotation(address, cluster, folder, rotation.in_folder(folder)).run()
    async with _opened("certificate", {IN_CLUSTER: "true"}, options) as session:
        keep = rotation.in_secret(session, namespace, agent_manifests.NAME)
        await rotation.Rotation(address, cluster, folder, keep).run()


def _into_cluster(options: AgentOptions, name: ClusterName) -> Callable[[], Session]:
    """For callers of the hub's doors: beside the keeper's session, so that neither waits for the other."""
    return lambda: _sessions(options, as_sent=True)(declared(name, None))


def _sessions(options: AgentOptions, *, as_sent: bool = False) -> Callable[[Cluster], Session]:
    """The way into the cluster around us, or that of a kubeconfig."""

    if not options.kubeconfig:
        annotations = {IN_CLUSTER: "true"}
    else:
        annotations = {CONTEXT: options.context} if options.context else {}
    return lambda cluster: _opened(cluster.metadata.name, annotations, options, as_sent=as_sent)


def _opened(name: ClusterName, annotations: dict[str, str], options: AgentOptions, *, as_sent: bool = False) -> Session:
    """Raises CredentialsError. Not by `daemon.wiring`: an agent holds no engine, no Git and no state in memory."""
    cluster = declared(name, None)
    metadata = cluster.metadata.model_copy(update={"annotations": annotations})
    way = credentials.resolve(
        cluster.model_copy(update={"metadata": metadata}),
        credentials.CredentialSources(kubeconfig=options.kubeconfig),
    )
    return Session(name, way, concurrency=options.concurrency, relay=Relay(as_sent))


def why_not_ready(keeper: Keeper, dial: Dial) -> str:
    """ "" when it keeps its cluster. An agent that lost its hub still does."""
    if keeper.member is None:
        return dial.error or "the hub has said nothing yet"
    if keeper.member.error:
        return keeper.member.error
    return "" if keeper.member.ready.is_set() else "the cluster was not read yet"


def _numbers(keeper: Keeper, dial: Dial, streams: Streams) -> Iterable[health.Number]:
    member = keeper.member
    worker = member.worker if member is not None else None
    return (
        ("gitfed_agent_connected", "gauge", "Whether the hub is connected.", int(keeper.connected)),
        ("gitfed_agent_connections_total", "counter", "Connections to the hub.", dial.connections),
        ("gitfed_agent_messages_total", "counter", "Messages to and from the hub, without pings.", dial.messages),
        ("gitfed_agent_pending_changes", "gauge", "Changes that are not done.", worker.pending if worker else 0),
        ("gitfed_agent_objects", "gauge", "Objects seen.", len(member.view.objects()) if member is not None else 0),
        ("gitfed_agent_streams", "gauge", "Ways into the cluster that the hub has open.", streams.open),
        ("gitfed_agent_own_repairs_total", "counter", "Repairs made while the hub was away.", keeper.repaired),
    )
