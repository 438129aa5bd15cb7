"""Prometheus' text format, written by its own library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from gitfed.daemon.telemetry import Histogram
from gitfed.hub.metric import Metric, Sample

__all__ = ["CONTENT_TYPE", "text"]

_FAMILIES = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}


def text(values: Sequence[tuple[Metric, Sequence[Sample]]]) -> bytes:
    """A scrape's answer."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Values(values))
    return generate_latest(registry)


class _Values(Collector):
    def __init__(self, values: Sequence[tuple[Metric, Sequence[Sample]]]) -> None:
        self._values = values

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterator[Family]:
        for metric, samples in self._values:
            yield _family(metric, samples)


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    if metric.kind == "histogram":
        histograms = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        for labels, value in samples:
            assert isinstance(value, Histogram)
            histograms.add_metric(labels, buckets=value.cumulative(), sum_value=value.total)
        return histograms
    make: Any = _FAMILIES[metric.kind]
    family = make(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in samples:
        assert isinstance(value, int | float)
        family.add_metric(labels, value)
    made: Family = family
    return made
