"""Whether a template is scheduled again, and why (Karmada: scheduling §1.2).

A divided workload stays where it is while nothing it asked for changes: a target that loses a label or gets a taint,
or room that became free, moves nothing. Everything else is placed anew at every build.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from gitfed.model.decisions import Decision, Share
from gitfed.placement.scheduling.strategy import Strategy, of

if TYPE_CHECKING:
    from gitfed.model.declared.policy import AffinityTerm, Placement


def why(
    placement: Placement,
    decision: Decision | None,
    *,
    changed: bool,
    replicas: int,
    is_workload: bool,
    clusters: frozenset[str],
) -> str | None:
    """A sentence, or None when the decision stands. First match wins, as in the reference.

    `changed`: whether the recorded placement says something else (`placement_changed`). One that cannot be read counts
    as unchanged, as in the reference, because unknown is not another one. `clusters` are the clusters that exist.
    """
    if decision is None:
        return "it was never scheduled"
    if decision.placement is None or changed:
        return "the placement changed"
    if placement.replica_scheduling is not None and is_workload and _replicas_changed(placement, replicas, decision):
        return "the number of replicas changed"
    if rescheduled(decision.rescheduling.triggered, decision.last_scheduled):
        return "a reschedule was asked for"
    if not is_workload or of(placement) is Strategy.DUPLICATED:
        return "it is placed anew every time"
    gone = sorted(share.cluster for share in decision.scheduled.shares if share.cluster not in clusters)
    if gone:
        return f"cluster {gone[0]} is gone"
    return None


def rescheduled(triggered: datetime | None, scheduled: datetime | None) -> bool:
    """Whether an explicit reschedule is still to be served."""
    return triggered is not None and scheduled is not None and triggered > scheduled


def placement_changed(placement: Placement, applied: Placement, observed: str) -> bool:
    """Of the ordered groups only the one in use counts."""
    if (
        placement.cluster_affinity != applied.cluster_affinity
        or placement.cluster_tolerations != applied.cluster_tolerations
        or placement.spread_constraints != applied.spread_constraints
        or placement.replica_scheduling != applied.replica_scheduling
    ):
        return True
    if placement.cluster_affinities == applied.cluster_affinities:
        return False
    ours, theirs = _terms(placement), _terms(applied)
    return not observed or observed not in ours or observed not in theirs or ours[observed] != theirs[observed]


def _terms(placement: Placement) -> Mapping[str, AffinityTerm]:
    return {term.affinity_name: term for term in placement.cluster_affinities or ()}


def _replicas_changed(placement: Placement, replicas: int, decision: Decision) -> bool:
    shares: tuple[Share, ...] = decision.scheduled.shares
    if of(placement) is Strategy.DUPLICATED:
        return any((share.replicas or 0) != replicas for share in shares)
    return sum(share.replicas or 0 for share in shares) != replicas
