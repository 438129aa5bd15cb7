"""Writes docs/reference/metrics.md: every metric of the hub, from the code that counts it.

python tools/metrics_reference.py          write the page
python tools/metrics_reference.py --check  exit with 1 if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from gitfed.hub import capabilities
from gitfed.hub.access.authentication import Authentication
from gitfed.hub.access.sessions import Sessions
from gitfed.hub.metric import Metric
from gitfed.hub.options import HubOptions
from gitfed.hub.running import Running
from gitfed.hub.server import Hub

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
_HEAD = """\
# Metrics

What [the hub](../how-to/hub.md) tells Prometheus at `/metrics`. This page is made from the code
(`tools/metrics_reference.py`). Units are seconds, bytes and cores; labels have closed sets of values and never the name
of an object. Only the daemon that leads has the values of clusters and queues; counters begin anew with the process.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
"""
_TAIL = """
A histogram has `_bucket`, `_sum` and `_count`. `deploy/prometheus/alerts.yaml` has alert rules on these metrics,
`deploy/grafana/gitfed.json` a dashboard.
"""


def metrics() -> list[Metric]:
    """All that the hub has, in the order of their names."""
    hub = Hub(HubOptions("127.0.0.1", 0), Running(), Path(), Authentication(Sessions()))
    return sorted((metric for one in capabilities.all_of(hub) for metric in one.metrics), key=lambda one: one.name)


def page() -> str:
    rows = []
    for metric in metrics():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.meaning} |\n")
    return _HEAD + "".join(rows) + _TAIL


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
