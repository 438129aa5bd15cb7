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


class Locality(Enum):
    """Which templates can come out otherwise, besides those that differ themselves."""

    NONE = "none: plans do not read it, or only of what differs itself"
    SELECTED = "those that the object selects or names on either side"
    BY_CLUSTER = "those to which the cluster is another target (`cluster_changes`)"
    TIED = "those that depend on others of their namespace because of it"
    ROOM = "those that take room which the facts do not show, or wait for it"
    ALL = "all"


REPOSITORY: Mapping[str, Locality] = {
    "commit": Locality.NONE,
    "manifests": Locality.NONE,  # but for READ_BY_OTHERS, and namespaces that follow their content
    "settings": Locality.NONE,  # see SETTINGS
    "clusters": Locality.BY_CLUSTER,  # see CLUSTER; those that come or go reach all
    "propagation": Locality.SELECTED,
    "overrides": Locality.SELECTED,
    "quotas": Locality.TIED,
    "taint_policies": Locality.ALL,
    "remedies": Locality.NONE,
    "interpreters": Locality.SELECTED,
    "webhooks": Locality.ALL,
    "rebalancers": Locality.ALL,
    "cron_autoscalers": Locality.SELECTED,
    "federated_autoscalers": Locality.SELECTED,
    "multicluster_services": Locality.ALL,
    "multicluster_ingresses": Locality.NONE,
    "tests": Locality.NONE,
    "access": Locality.NONE,
    "notifications": Locality.NONE,
    "registries": Locality.NONE,
    "problems": Locality.NONE,
    "held": Locality.NONE,
    "origins": Locality.NONE,
    "unread": Locality.ALL,  # also where both sides have the same
    "left_out": Locality.NONE,
    "scope": Locality.NONE,
}
"""Members of a `RepoSnapshot`."""
SETTINGS: Mapping[str, Locality] = {
    "sources.include": Locality.ALL,
    "sources.exclude": Locality.ALL,
    "sources.verify": Locality.NONE,
    "sync.interval": Locality.NONE,
    "sync.prune": Locality.NONE,
    "sync.self_heal": Locality.NONE,
    "sync.on_invalid_file": Locality.NONE,
    "sync.health_timeout": Locality.NONE,
    "guards.max_deletions": Locality.NONE,  # those of a review are the base's
    "guards.max_deletion_percent": Locality.NONE,
    "guards.max_moved_replicas_percent": Locality.NONE,
    "guards.max_clusters_touched": Locality.NONE,
    "guards.approvers": Locality.NONE,
    "guards.operators": Locality.NONE,
    "failover": Locality.ALL,
    "namespaces": Locality.ALL,
    "scheduling.empty_workload_propagation": Locality.ALL,
    "scheduling.deschedule_interval": Locality.NONE,
    "scheduling.unschedulable_threshold": Locality.NONE,
    "state.branch": Locality.NONE,
    "state.facts_branch": Locality.NONE,
    "state.writers": Locality.NONE,
    "state.url": Locality.NONE,
    "state.push": Locality.NONE,
    "state.wait_for_push": Locality.NONE,
    "render.branch": Locality.NONE,
    "feature_gates": Locality.ALL,
}
"""Members of a Federation's spec. What is written when, and where state is kept, places and renders nothing."""
CLUSTER: Mapping[str, Locality] = {
    "id": Locality.NONE,
    "sync_mode": Locality.NONE,
    "api_endpoint": Locality.NONE,
    "secret_ref": Locality.NONE,
    "impersonator_secret_ref": Locality.NONE,
    "insecure_skip_tls_verification": Locality.NONE,
    "proxy_url": Locality.NONE,
    "proxy_header": Locality.NONE,
    "provider": Locality.BY_CLUSTER,
    "region": Locality.BY_CLUSTER,
    "zone": Locality.BY_CLUSTER,
    "zones": Locality.BY_CLUSTER,
    "taints": Locality.BY_CLUSTER,  # those that drive work out reach all
    "resource_models": Locality.ROOM,
}
"""Members of a Cluster's spec; besides, its labels are `BY_CLUSTER`."""
PROPAGATION: Mapping[str, Locality] = {
    "resource_selectors": Locality.SELECTED,
    "placement.cluster_affinity": Locality.SELECTED,
    "placement.cluster_affinities": Locality.SELECTED,
    "placement.cluster_tolerations": Locality.SELECTED,
    "placement.spread_constraints": Locality.ROOM,
    "placement.replica_scheduling": Locality.ROOM,
    "placement.workload_affinity": Locality.TIED,
    "priority": Locality.SELECTED,
    "preemption": Locality.SELECTED,
    "propagate_deps": Locality.TIED,
    "association": Locality.NONE,
    "dependent_overrides": Locality.SELECTED,
    "scheduler_name": Locality.NONE,
    "failover": Locality.SELECTED,
    "conflict_resolution": Locality.SELECTED,
    "activation_preference": Locality.NONE,
    "suspension": Locality.SELECTED,
    "preserve_resources_on_deletion": Locality.SELECTED,
    "schedule_priority": Locality.SELECTED,
}
"""Members of a propagation policy's spec. What is `TIED` counts of policies that did not change, too."""
OVERRIDE: Mapping[str, Locality] = {
    "resource_selectors": Locality.SELECTED,
    "override_rules": Locality.BY_CLUSTER,
    "target_cluster": Locality.BY_CLUSTER,
    "overriders": Locality.SELECTED,
}
"""Members of an override policy's spec. What is `BY_CLUSTER` counts of policies that did not change, too."""
READ_BY_OTHERS = (("apiextensions.k8s.io", "CustomResourceDefinition"), ("scheduling.k8s.io", "PriorityClass"))
"""Kinds (group, kind) whose objects other templates go by when they are placed."""


def _of(table: Mapping[str, Locality], reach: Locality) -> list[attrgetter[Any]]:
    return [attrgetter(name) for name, how_far in table.items() if how_far is reach]


_REACHING_ALL = _of(REPOSITORY, Locality.ALL)
_SETTINGS_REACHING_ALL = _of(SETTINGS, Locality.ALL)
_TIES = _of(PROPAGATION, Locality.TIED)


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
