"""What a plan says of clusters that fail: its member `failover`."""

from __future__ import annotations

from gitfed.documents.bindings import time_text
from gitfed.model.decisions import ClusterRecord
from gitfed.model.plan import Plan
from gitfed.views.value import Time, View


class TaintView(View):
    """A taint, and since when."""

    key: str
    value: str
    effect: str
    timeAdded: Time
    by: str
    """`failover`, `Cluster` (a person declared it) or `ClusterTaintPolicy/<name>`."""


class ClusterHealth(View):
    """What is on record of one cluster."""

    name: str
    reach: str
    """Ready, NotReady or Unknown."""
    since: Time
    reason: str
    taints: list[TaintView]


class OutageView(View):
    """So many clusters were not ready at once that nothing is evicted."""

    since: Time
    ended: Time | None


class FailoverView(View):
    """Clusters that fail, and what follows from that."""

    clusters: list[ClusterHealth]
    outage: OutageView | None
    events: list[str]
    nextDecision: Time | None
    """When something falls due although nothing happens."""


def document(plan: Plan) -> FailoverView:
    outage = plan.outage
    return {
        "clusters": [health(record) for _, record in sorted(plan.records.items())],
        "outage": None
        if outage is None
        else {"since": time_text(outage.since), "ended": time_text(outage.ended) if outage.ended else None},
        "events": list(plan.said),
        "nextDecision": time_text(plan.look_again) if plan.look_again is not None else None,
    }


def health(record: ClusterRecord) -> ClusterHealth:
    return {
        "name": record.name,
        "reach": record.reach.value,
        "since": time_text(record.since),
        "reason": record.reason,
        "taints": [
            {
                "key": taint.key,
                "value": taint.value,
                "effect": taint.effect,
                "timeAdded": time_text(taint.added),
                "by": taint.by,
            }
            for taint in record.taints
        ],
    }
