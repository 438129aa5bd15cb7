"""Of each cluster: how it is, what it has, what it still has to get, and what was done there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.hub.metric import Metric, Sample
from gitfed.hub.running import Running
from gitfed.model import operator_orders
from gitfed.model.agent_presence import AgentPresence
from gitfed.model.fleet import Reach
from gitfed.text import quantity
from gitfed.views import agents

_RESOURCES = (("cpu", "cpu_cores", "CPU cores"), ("memory", "memory_bytes", "Memory"), ("pods", "pods", "Pods"))
_PARTS = (("allocatable", "that a cluster's nodes have for pods"), ("allocated", "that a cluster's pods ask for"))


def metrics(running: Running) -> tuple[Metric, ...]:
    counts = running.telemetry
    by = ("cluster",)
    return (
        Metric("gitfed_cluster_ready", "gauge", "1 while a cluster is believed to be ready", _ready(running), by),
        Metric(
            "gitfed_cluster_reachable",
            "gauge",
            "1 while a cluster answers and the daemon may write to it",
            _reachable(running),
            by,
        ),
        Metric(
            "gitfed_cluster_suspended",
            "gauge",
            "1 while gitfed suspend keeps the daemon from a cluster",
            _suspended(running),
            by,
        ),
        *(
            Metric(
                f"gitfed_cluster_{part}_{suffix}",
                "gauge",
                f"{what} {whose}; known where a policy divides by room",
                _amounts(running, part, resource),
                by,
            )
            for part, whose in _PARTS
            for resource, suffix, what in _RESOURCES
        ),
        Metric(
            "gitfed_cluster_agent_connected",
            "gauge",
            "1 while an agent that keeps a cluster is connected",
            _of_agents(running, lambda agent: int(agent.connected is not None)),
            by,
        ),
        Metric(
            "gitfed_cluster_agent_connections_total",
            "counter",
            "Connections of agents that keep a cluster",
            _of_agents(running, lambda agent: agent.connections),
            by,
        ),
        Metric(
            "gitfed_cluster_agent_pending_changes",
            "gauge",
            "Changes of what an agent is to know that it has not acknowledged",
            _of_agents(running, lambda agent: agent.wanted - agent.held),
            by,
        ),
        Metric(
            "gitfed_cluster_agent_certificate_expiry_timestamp_seconds",
            "gauge",
            "When the certificate ends with which a cluster's agent connects",
            _certificates(running),
            by,
        ),
        Metric(
            "gitfed_pool_clusters", "gauge", "Clusters that a pool of agents is to keep", _pools(running), ("pool",)
        ),
        Metric(
            "gitfed_pool_members",
            "gauge",
            "Members of a pool of agents that hold a cluster and are connected",
            _pool_members(running),
            ("pool",),
        ),
        Metric(
            "gitfed_queue_depth",
            "gauge",
            "Changes that a cluster still has to get, those under way included",
            _depth(running),
            by,
        ),
        Metric(
            "gitfed_queue_wait_seconds",
            "histogram",
            "How long a change waited until it was begun",
            lambda: (((name,), waits) for name, waits in counts.waits.items()),
            by,
        ),
        Metric(
            "gitfed_changes_total",
            "counter",
            "Changes that were carried out, or failed",
            counts.changes.items,
            ("cluster", "action", "outcome"),
        ),
        Metric(
            "gitfed_drift_repairs_total",
            "counter",
            "Objects that were set back after another client changed them",
            _by_cluster(counts.repairs.items),
            by,
        ),
        Metric(
            "gitfed_evictions_total",
            "counter",
            "Copies that had to leave a cluster",
            counts.evictions.items,
            ("cluster", "reason"),
        ),
        Metric(
            "gitfed_cluster_requests_total",
            "counter",
            "Requests to the API servers of clusters; code is none without an answer",
            counts.requests.items,
            ("cluster", "verb", "code"),
        ),
    )


_Read = Callable[[], Iterable[Sample]]


def _by_cluster(items: Callable[[], Iterable[tuple[str, int]]]) -> _Read:
    return lambda: (((name,), count) for name, count in items())


def _ready(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        repo, facts = running.repo, running.facts
        for name in repo.clusters if repo is not None else ():
            yield (name,), int(name in facts and facts[name].reach is Reach.READY)

    return read


def _reachable(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        if running.engine is not None:
            for name, member in running.engine.fleet.members.items():
                # What was read stays in use while a cluster is silent: whether it answers is what is believed of it.
                yield (name,), int(member.ready.is_set() and member.facts.reach is not Reach.UNKNOWN)

    return read


def _of_agents(running: Running, value: Callable[[AgentPresence], int]) -> _Read:
    def read() -> Iterator[Sample]:
        if running.engine is not None:
            for name, member in running.engine.fleet.members.items():
                if isinstance(member, PulledMember):
                    yield (name,), value(member.agent.presence)

    return read


def _certificates(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        ends_by_agent, repo = running.certificates(), running.repo
        if repo is None:
            return
        for name in agents.clusters(repo, ends_by_agent):
            if (ends := agents.certificate_ends(name, repo, ends_by_agent)) is not None:
                yield (name,), ends.timestamp()

    return read


def _pools(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        repo = running.repo
        counts = Counter(cluster.pool for cluster in repo.clusters.values() if cluster.pool) if repo is not None else {}
        for pool, count in counts.items():
            yield (pool,), count

    return read


def _pool_members(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        members: dict[str, set[str]] = {}
        for member in running.engine.fleet.members.values() if running.engine is not None else ():
            if isinstance(member, PulledMember) and member.cluster.pool:
                holders = members.setdefault(member.cluster.pool, set())
                if member.agent.connected:
                    holders.add(member.agent.presence.holding.member)
        for pool, holders in members.items():
            yield (pool,), len(holders)

    return read


def _suspended(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        repo = running.repo
        ordered = {order.of for order in running.decisions.suspensions if not order.scheduling}
        for name in repo.clusters if repo is not None else ():
            yield (name,), int(not ordered.isdisjoint((operator_orders.EVERYTHING, operator_orders.CLUSTER + name)))

    return read


def _amounts(running: Running, part: str, resource: str) -> _Read:
    def read() -> Iterator[Sample]:
        for name, facts in running.facts.items():
            amounts = (facts.resource_summary or {}).get(part) or {}
            if resource in amounts:
                try:
                    yield (name,), quantity.parse(str(amounts[resource])).nano / 10**9
                except quantity.QuantityError:
                    continue  # a cluster says what it likes; the others are counted

    return read


def _depth(running: Running) -> _Read:
    def read() -> Iterator[Sample]:
        if running.engine is not None:
            for name, member in running.engine.fleet.members.items():
                yield (name,), member.worker.pending if member.worker is not None else 0

    return read
