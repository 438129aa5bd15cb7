"""Of this process: which gitfed it is, whether it leads, and how its hub does."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import gitfed
from gitfed.hub.metric import Metric, Sample
from gitfed.hub.server import Hub


def metrics(hub: Hub) -> tuple[Metric, ...]:
    def build() -> Iterator[Sample]:
        yield (gitfed.__version__, platform.python_version()), 1

    def leads() -> Iterator[Sample]:
        yield (), int(hub.running.engine is not None)

    def connections() -> Iterator[Sample]:
        if hub.listener is not None:
            yield (), hub.listener.open

    def refused() -> Iterator[Sample]:
        if hub.listener is not None:
            yield from (((reason,), count) for reason, count in hub.listener.refused.items())

    return (
        Metric(
            "gitfed_build_info", "gauge", "Always 1; the labels say which gitfed this is", build, ("version", "python")
        ),
        Metric("gitfed_leader", "gauge", "1 in the process that works, 0 in those that stand by", leads),
        Metric(
            "gitfed_hub_requests_total",
            "counter",
            "Answers of the hub, by route",
            hub.requests.items,
            ("route", "method", "code"),
        ),
        Metric("gitfed_hub_connections", "gauge", "Connections to the hub that are open", connections),
        Metric(
            "gitfed_hub_connections_refused_total",
            "counter",
            "Connections to the hub that were closed before a request, by reason",
            refused,
            ("reason",),
        ),
    )
