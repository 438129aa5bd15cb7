"""Of this process: which gitfed it is, whether it leads, how its loop and its hub do."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import gitfed
from gitfed.hub.metrics.metric import Metric, Sample
from gitfed.hub.server import Hub


def _build(hub: Hub) -> Iterator[Sample]:
    yield (gitfed.__version__, platform.python_version()), 1


def _leads(hub: Hub) -> Iterator[Sample]:
    yield (), int(hub.running.engine is not None)


def _answers(hub: Hub) -> Iterator[Sample]:
    yield from hub.requests.items()


def _connections(hub: Hub) -> Iterator[Sample]:
    if hub.listener is not None:
        yield (), hub.listener.open


def _refused(hub: Hub) -> Iterator[Sample]:
    if hub.listener is not None:
        for reason, count in hub.listener.refused.items():
            yield (reason,), count


METRICS: tuple[Metric, ...] = (
    Metric(
        "gitfed_build_info", "gauge", "Always 1; the labels say which gitfed this is", _build, ("version", "python"),
    ),
    Metric("gitfed_leader", "gauge", "1 in the process that works, 0 in those that stand by", _leads),
    Metric("gitfed_hub_requests_total", "counter", "Answers of the hub", _answers, ("route", "method", "code")),
    Metric("gitfed_hub_connections", "gauge", "Connections to the hub that are open", _connections),
    Metric(
        "gitfed_hub_connections_refused_total", "counter",
        "Connections that the hub closed before a request", _refused, ("reason",),
    ),
)  # fmt: skip
