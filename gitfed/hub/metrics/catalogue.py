"""Every metric that gitfed has. `docs/reference/metrics.md` is made from this list.

Labels have closed sets of values (clusters, gates, verbs, …): never the name of an object, which somebody else chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitfed.hub.metrics import fleet, process
from gitfed.hub.metrics.metric import Metric, Sample
from gitfed.hub.server import Hub

METRICS: tuple[Metric, ...] = (*process.METRICS, *fleet.METRICS)


def read(hub: Hub) -> Sequence[tuple[Metric, Sequence[Sample]]]:
    """All values now."""
    return [(metric, list(metric.read(hub))) for metric in METRICS]
