"""Of the clusters and of what is planned for them, as the newest cycle left it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gitfed.hub.metrics.metric import Metric, Sample
from gitfed.hub.server import Hub
from gitfed.model.base import Severity
from gitfed.model.fleet import Reach
from gitfed.text import quantity

_RESOURCES = {"cpu": "cores", "memory": "bytes", "pods": "pods"}


def _ready(hub: Hub) -> Iterator[Sample]:
    repo, facts = hub.running.repo, hub.running.facts
    for name in repo.clusters if repo is not None else ():
        yield (name,), int(name in facts and facts[name].reach is Reach.READY)


def _usable(hub: Hub) -> Iterator[Sample]:
    engine = hub.running.engine
    if engine is not None:
        for name, member in engine.fleet.members.items():
            yield (name,), int(member.ready.is_set())


def _resource(part: str, resource: str) -> Callable[[Hub], Iterator[Sample]]:
    def read(hub: Hub) -> Iterator[Sample]:
        for name, facts in hub.running.facts.items():
            amounts = (facts.resource_summary or {}).get(part) or {}
            if resource in amounts:
                try:
                    yield (name,), quantity.parse(str(amounts[resource])).nano / 10**9
                except quantity.QuantityError:
                    continue  # a cluster says what it likes; the others are counted

    return read


def _pending(hub: Hub) -> Iterator[Sample]:
    engine = hub.running.engine
    if engine is not None:
        for name, member in engine.fleet.members.items():
            yield (name,), member.worker.pending if member.worker is not None else 0


def _held(hub: Hub) -> Iterator[Sample]:
    plan = hub.running.plan
    held: Counter[str] = Counter()
    for gate in plan.gates if plan is not None else ():
        held[gate.name.partition(" ")[0]] += gate.held
    yield from (((name,), count) for name, count in sorted(held.items()))


def _problems(hub: Hub) -> Iterator[Sample]:
    plan = hub.running.plan
    found = Counter(problem.severity for problem in plan.problems) if plan is not None else Counter()
    for severity in Severity:
        yield (severity.value,), found[severity]


METRICS: tuple[Metric, ...] = (
    Metric("gitfed_cluster_ready", "gauge", "1 while a cluster is believed to be ready", _ready, ("cluster",)),
    Metric(
        "gitfed_cluster_reachable", "gauge", "1 while gitfed can read and write a cluster, 0 while it cannot", _usable,
        ("cluster",),
    ),
    *(
        Metric(
            f"gitfed_cluster_{part}_{resource}_{unit}" if unit != resource else f"gitfed_cluster_{part}_{unit}",
            "gauge", f"{part.capitalize()} {resource} of a cluster, where policies ask for it",
            _resource(part, resource), ("cluster",),
        )
        for part in ("allocatable", "allocated")
        for resource, unit in _RESOURCES.items()
    ),
    Metric(
        "gitfed_queue_depth", "gauge", "Changes that a cluster still has to get, those under way included", _pending,
        ("cluster",),
    ),
    Metric("gitfed_gate_held", "gauge", "Changes that a gate of the newest plan holds", _held, ("gate",)),
    Metric("gitfed_problems", "gauge", "Problems of the newest plan", _problems, ("severity",)),
)  # fmt: skip
