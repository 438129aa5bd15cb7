"""What Remedies ask for, cluster by cluster (Karmada: clusters-failover-proxy §6).

gitfed asks for nothing by itself: it publishes the actions, as the reference does in `status.remedyActions`, and who
controls the traffic reads them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterCondition

if TYPE_CHECKING:
    from gitfed.model.declared.remedy import DecisionMatch, Remedy


def actions(
    remedies: Iterable[Remedy], cluster: ClusterName, conditions: Sequence[ClusterCondition]
) -> tuple[str, ...]:
    """The actions that are asked for in this cluster now: of all remedies together, each once, sorted."""
    statuses = {condition.type: condition.status for condition in conditions}
    names = {
        action
        for remedy in remedies
        if _concerns(remedy, cluster) and _is_due(remedy.spec.decision_matches, statuses)
        for action in remedy.spec.actions
    }
    return tuple(sorted(names))


def _concerns(remedy: Remedy, cluster: ClusterName) -> bool:
    affinity = remedy.spec.cluster_affinity
    return affinity is None or cluster in affinity.cluster_names


def _is_due(matches: Sequence[DecisionMatch], statuses: Mapping[str, str]) -> bool:
    """One of them is enough; a condition that the cluster does not report matches nothing, NotEqual included."""
    return not matches or any(
        (statuses[asked.condition_type] == asked.condition_status) == (asked.operator == "Equal")
        for match in matches
        if (asked := match.cluster_condition_match) is not None and asked.condition_type in statuses
    )
