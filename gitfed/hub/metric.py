"""One metric: what it is called, what it means, and where its values are when Prometheus asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from gitfed.daemon.telemetry import Histogram
from gitfed.text.values import dataclass

Labels = tuple[str, ...]
Sample = tuple[Labels, float | Histogram]
"""Values of the labels, in the metric's order."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    """As it is exposed; a counter's ends with `_total`."""
    kind: Literal["gauge", "counter", "histogram"]
    meaning: str
    """A sentence without its full stop: the help text and the reference page."""
    read: Callable[[], Iterable[Sample]]
    """Called in the event loop, so it only looks up and counts."""
    labels: Labels = ()
