"""Which conditions a Notification is about."""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.hub.notifications.conditions import FleetCondition
from gitfed.model.declared.notification import Notification
from gitfed.model.fleet import ClusterFacts
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.scheduling import affinity, cluster


def of(
    notification: Notification, repo: RepoSnapshot, conditions: Mapping[str, FleetCondition]
) -> dict[str, FleetCondition]:
    """By key. What concerns no cluster in particular concerns every Notification."""
    spec = notification.spec
    wanted = spec.clusters
    matches = affinity.compile(wanted) if wanted is not None and not wanted.is_empty else None

    def concerns(condition: FleetCondition) -> bool:
        if matches is None or not condition.clusters:
            return True
        declared = (repo.clusters[name] for name in condition.clusters if name in repo.clusters)
        return any(
            matches(cluster.candidate(declared_cluster, ClusterFacts(declared_cluster.metadata.name)))
            for declared_cluster in declared
        )

    return {
        key: condition
        for key, condition in conditions.items()
        if condition.event.value in spec.events and condition.severity in spec.severities and concerns(condition)
    }
