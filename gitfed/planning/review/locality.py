"""★ What makes a change local: how far another value of each declared field reaches.

A review of few templates is right only as long as it is known of every field whether another value of it concerns
templates that did not change. The tables here say that, member by member, and the questions below go by them; what is
declared and stands in no table fails a test. `affected_templates` tells which templates a local change reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gitfed.model.base import ObjectKey
from gitfed.model.declared.policy import Propagation
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.scheduling import strategy
from gitfed.planning.review import cluster_changes
from gitfed.planning.review.affected_objects import may_select
from gitfed.render import namespaces

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Federation


class Reach(Enum):
    """Which templates can come out otherwise, besides those that differ themselves."""

    NONE = "none: plans do not read it, or only of what differs itself"
    SELECTED = "those that the object selects or names on either side"
    BY_CLUSTER = "those to which the cluster is another target (`cluster_changes`)"
    TIED = "those that depend on others of their namespace because of it"
    ROOM = "those that take room which the facts do not show, or wait for it"
    ALL = "all"


REPOSITORY: Mapping[str, Reach] = {
    "commit": Reach.NONE,
    "manifests": Reach.NONE,  # but for READ_BY_OTHERS, and namespaces that follow their content
    "settings": Reach.NONE,  # see SETTINGS
    "clusters": Reach.BY_CLUSTER,  # see CLUSTER; those that come or go reach all
    "propagation": Reach.SELECTED,
    "overrides": Reach.SELECTED,
    "quotas": Reach.TIED,
    "taint_policies": Reach.ALL,
    "remedies": Reach.NONE,
    "interpreters": Reach.SELECTED,
    "webhooks": Reach.ALL,
    "rebalancers": Reach.ALL,
    "cron_autoscalers": Reach.SELECTED,
    "federated_autoscalers": Reach.SELECTED,
    "multicluster_services": Reach.ALL,
    "multicluster_ingresses": Reach.NONE,
    "tests": Reach.NONE,
    "access": Reach.NONE,
    "notifications": Reach.NONE,
    "registries": Reach.NONE,
    "problems": Reach.NONE,
    "held": Reach.NONE,
    "origins": Reach.NONE,
    "unread": Reach.ALL,  # also where both sides have the same
    "left_out": Reach.NONE,
    "scope": Reach.NONE,
}
"""Members of a `RepoSnapshot`."""
SETTINGS: Mapping[str, Reach] = {
    "sources.include": Reach.ALL,
    "sources.exclude": Reach.ALL,
    "sources.verify": Reach.NONE,
    "sync.interval": Reach.NONE,
    "sync.prune": Reach.NONE,
    "sync.self_heal": Reach.NONE,
    "sync.on_invalid_file": Reach.NONE,
    "sync.health_timeout": Reach.NONE,
    "guards.max_deletions": Reach.NONE,  # those of a review are the base's
    "guards.max_deletion_percent": Reach.NONE,
    "guards.max_moved_replicas_percent": Reach.NONE,
    "guards.max_clusters_touched": Reach.NONE,
    "guards.approvers": Reach.NONE,
    "guards.operators": Reach.NONE,
    "failover": Reach.ALL,
    "namespaces": Reach.ALL,
    "scheduling.empty_workload_propagation": Reach.ALL,
    "scheduling.deschedule_interval": Reach.NONE,
    "scheduling.unschedulable_threshold": Reach.NONE,
    "state.branch": Reach.NONE,
    "state.facts_branch": Reach.NONE,
    "state.writers": Reach.NONE,
    "state.url": Reach.NONE,
    "state.push": Reach.NONE,
    "state.wait_for_push": Reach.NONE,
    "render.branch": Reach.NONE,
    "feature_gates": Reach.ALL,
}
"""Members of a Federation's spec. What is written when, and where state is kept, places and renders nothing."""
CLUSTER: Mapping[str, Reach] = {
    "id": Reach.NONE,
    "sync_mode": Reach.NONE,
    "api_endpoint": Reach.NONE,
    "secret_ref": Reach.NONE,
    "impersonator_secret_ref": Reach.NONE,
    "insecure_skip_tls_verification": Reach.NONE,
    "proxy_url": Reach.NONE,
    "proxy_header": Reach.NONE,
    "provider": Reach.BY_CLUSTER,
    "region": Reach.BY_CLUSTER,
    "zone": Reach.BY_CLUSTER,
    "zones": Reach.BY_CLUSTER,
    "taints": Reach.BY_CLUSTER,  # those that drive work out reach all
    "resource_models": Reach.ROOM,
}
"""Members of a Cluster's spec; besides, its labels are `BY_CLUSTER`."""
PROPAGATION: Mapping[str, Reach] = {
    "resource_selectors": Reach.SELECTED,
    "placement.cluster_affinity": Reach.SELECTED,
    "placement.cluster_affinities": Reach.SELECTED,
    "placement.cluster_tolerations": Reach.SELECTED,
    "placement.spread_constraints": Reach.ROOM,
    "placement.replica_scheduling": Reach.ROOM,
    "placement.workload_affinity": Reach.TIED,
    "priority": Reach.SELECTED,
    "preemption": Reach.SELECTED,
    "propagate_deps": Reach.TIED,
    "association": Reach.NONE,
    "dependent_overrides": Reach.SELECTED,
    "scheduler_name": Reach.NONE,
    "failover": Reach.SELECTED,
    "conflict_resolution": Reach.SELECTED,
    "activation_preference": Reach.NONE,
    "suspension": Reach.SELECTED,
    "preserve_resources_on_deletion": Reach.SELECTED,
    "schedule_priority": Reach.SELECTED,
}
"""Members of a propagation policy's spec. What is `TIED` counts of policies that did not change, too."""
OVERRIDE: Mapping[str, Reach] = {
    "resource_selectors": Reach.SELECTED,
    "override_rules": Reach.BY_CLUSTER,
    "target_cluster": Reach.BY_CLUSTER,
    "overriders": Reach.SELECTED,
}
"""Members of an override policy's spec. What is `BY_CLUSTER` counts of policies that did not change, too."""
READ_BY_OTHERS = (("apiextensions.k8s.io", "CustomResourceDefinition"), ("scheduling.k8s.io", "PriorityClass"))
"""Kinds (group, kind) whose objects other templates go by when they are placed."""


def _of(table: Mapping[str, Reach], reach: Reach) -> list[attrgetter[Any]]:
    return [attrgetter(name) for name, how_far in table.items() if how_far is reach]


_REACHING_ALL = _of(REPOSITORY, Reach.ALL)
_SETTINGS_REACHING_ALL = _of(SETTINGS, Reach.ALL)
_TIES = _of(PROPAGATION, Reach.TIED)


def is_local(base: RepoSnapshot, head: RepoSnapshot, *, rows_known: bool) -> bool:
    """Whether it can be told which templates change. `rows_known`: the clusters of the other templates are known."""
    return (
        base.complete
        and head.complete
        and not any(member(base) != member(head) for member in _REACHING_ALL)
        and _plan_alike(base.settings, head.settings)
        and _declare_alike(base, head, rows_known=rows_known)
        and _read_by_others(base) == _read_by_others(head)
        and (rows_known or not _follows_content(base, head))
    )


def ties(policy: Propagation) -> bool:
    """Whether the place of a template may depend on others because of it, besides the room that they take."""
    return any(bool(member(policy.spec)) for member in _TIES)


def goes_by_room(*repos: RepoSnapshot) -> bool:
    """Whether any template may be placed by the room of clusters."""
    placements = (policy.spec.placement for repo in repos for policy in repo.propagation)
    return any(strategy.by_room(placement) or strategy.spreads(placement) for placement in placements)


def together(base: RepoSnapshot, head: RepoSnapshot, concerned: Mapping[ObjectKey, str]) -> set[str] | None:
    """The namespaces in which the place of any of these templates may depend on others, or theirs on it. None: it may
    depend on templates anywhere."""
    spaces = {quota.metadata.namespace or "" for repo in (base, head) for quota in repo.quotas}
    own_rules = bool(base.interpreters or base.webhooks or head.interpreters)
    for policy in _each(base.propagation, head.propagation):
        if policy.spec.propagate_deps and concerned:
            if own_rules:
                return None  # a rule of the repository's own may refer to another namespace
            own = "" if policy.is_cluster_wide else policy.metadata.namespace
            spaces |= {key.namespace for key in concerned if key.namespace and own in ("", key.namespace)}
        if policy.spec.placement.workload_affinity is not None:
            spaces |= {key.namespace for key, version in concerned.items() if may_select(policy, key, version)}
    return spaces


def _each(*sides: Sequence[Propagation]) -> Iterator[Propagation]:
    """Of both sides, but not twice what is the same object."""
    yield from {id(policy): policy for side in sides for policy in side}.values()


def _plan_alike(settings: Federation, other: Federation) -> bool:
    """Whether the plans of templates that did not change are the same under both settings."""
    return settings is other or (
        settings.metadata.name == other.metadata.name
        and not any(member(settings.spec) != member(other.spec) for member in _SETTINGS_REACHING_ALL)
    )


def _declare_alike(base: RepoSnapshot, head: RepoSnapshot, *, rows_known: bool) -> bool:
    """Whether what is declared of clusters otherwise concerns only what some policy makes of it."""
    if base.clusters is head.clusters or base.clusters == head.clusters:
        return True
    return (
        rows_known
        and base.clusters.keys() == head.clusters.keys()
        and not base.taint_policies
        and not any(change.drives_out for change in cluster_changes.of(base.clusters, head.clusters))
    )


def _read_by_others(repo: RepoSnapshot) -> set[object]:
    """Of objects that other templates go by: custom kinds, classes of priority."""
    return {(key, manifest.digest) for key, manifest in repo.manifests.items() if key[:2] in READ_BY_OTHERS}


def _follows_content(base: RepoSnapshot, head: RepoSnapshot) -> bool:
    """Whether a namespace is declared anew or no more, or one that follows its content gains or loses some."""
    declared = [{key.name for key in repo.manifests if namespaces.is_namespace(key)} for repo in (base, head)]
    changed = {key for key in base.manifests.keys() ^ head.manifests.keys() if key.namespace}
    return declared[0] != declared[1] or any(key.namespace not in declared[1] for key in changed)
