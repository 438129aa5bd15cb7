"""Templates and declared objects of one commit → the snapshot that has each kind in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitfed.model.base import Commit, ObjectKey
from gitfed.model.declared import (
    access,
    autoscaling,
    cluster,
    federated_hpa,
    federation,
    interpreter,
    notification,
    policy,
    remedy,
    search,
    services,
)
from gitfed.model.declared.federation import Federation
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest, RepoSnapshot


def snapshot(
    commit: Commit,
    manifests: Mapping[ObjectKey, Manifest],
    declared: Iterable[Declared],
    settings: Federation,
) -> RepoSnapshot:
    items = sorted(declared, key=lambda item: item.key[1:])
    clusters = [item for item in items if isinstance(item, cluster.Cluster)]
    return RepoSnapshot(
        commit=commit,
        manifests=manifests,
        settings=settings,
        clusters={item.metadata.name: item for item in clusters},
        propagation=tuple(item for item in items if isinstance(item, policy.Propagation)),
        overrides=tuple(item for item in items if isinstance(item, policy.Override)),
        quotas=tuple(item for item in items if isinstance(item, policy.FederatedResourceQuota)),
        taint_policies=tuple(item for item in items if isinstance(item, policy.ClusterTaintPolicy)),
        remedies=tuple(item for item in items if isinstance(item, remedy.Remedy)),
        interpreters=tuple(i for i in items if isinstance(i, interpreter.ResourceInterpreterCustomization)),
        webhooks=tuple(i for i in items if isinstance(i, interpreter.ResourceInterpreterWebhookConfiguration)),
        rebalancers=tuple(item for item in items if isinstance(item, policy.WorkloadRebalancer)),
        cron_autoscalers=tuple(item for item in items if isinstance(item, autoscaling.CronFederatedHPA)),
        multicluster_services=tuple(item for item in items if isinstance(item, services.MultiClusterService)),
        multicluster_ingresses=tuple(item for item in items if isinstance(item, services.MultiClusterIngress)),
        federated_autoscalers=tuple(item for item in items if isinstance(item, federated_hpa.FederatedHPA)),
        tests=tuple(item for item in items if isinstance(item, federation.PlacementTest)),
        access=tuple(item for item in items if isinstance(item, access.AccessPolicy)),
        notifications=tuple(item for item in items if isinstance(item, notification.Notification)),
        registries=tuple(item for item in items if isinstance(item, search.ResourceRegistry)),
        origins={item.key: item.origin for item in items},
    )
