"""apiVersion and kind → what gitfed makes of a document: a declared model, a known stranger, or a template."""

from __future__ import annotations

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
from gitfed.model.declared.shape import Declared

POLICY = "policy.karmada.io/v1alpha1"
CONFIG = "config.karmada.io/v1alpha1"

MODELS: dict[tuple[str, str], type[Declared]] = {
    ("cluster.karmada.io/v1alpha1", "Cluster"): cluster.Cluster,
    (POLICY, "PropagationPolicy"): policy.Propagation,
    (POLICY, "ClusterPropagationPolicy"): policy.Propagation,
    (POLICY, "OverridePolicy"): policy.Override,
    (POLICY, "ClusterOverridePolicy"): policy.Override,
    (POLICY, "FederatedResourceQuota"): policy.FederatedResourceQuota,
    (POLICY, "ClusterTaintPolicy"): policy.ClusterTaintPolicy,
    ("remedy.karmada.io/v1alpha1", "Remedy"): remedy.Remedy,
    (autoscaling.API_VERSION, "CronFederatedHPA"): autoscaling.CronFederatedHPA,
    (services.API_VERSION, "MultiClusterService"): services.MultiClusterService,
    (services.API_VERSION, "MultiClusterIngress"): services.MultiClusterIngress,
    (search.API_VERSION, "ResourceRegistry"): search.ResourceRegistry,
    (autoscaling.API_VERSION, "FederatedHPA"): federated_hpa.FederatedHPA,
    ("apps.karmada.io/v1alpha1", "WorkloadRebalancer"): policy.WorkloadRebalancer,
    (CONFIG, "ResourceInterpreterCustomization"): interpreter.ResourceInterpreterCustomization,
    (CONFIG, "ResourceInterpreterWebhookConfiguration"): interpreter.ResourceInterpreterWebhookConfiguration,
    (federation.API_VERSION, "AccessPolicy"): access.AccessPolicy,
    (federation.API_VERSION, "Federation"): federation.Federation,
    (federation.API_VERSION, "Notification"): notification.Notification,
    (federation.API_VERSION, "PlacementTest"): federation.PlacementTest,
}

NAMESPACED = frozenset(
    {
        "PropagationPolicy",
        "OverridePolicy",
        "FederatedResourceQuota",
        "CronFederatedHPA",
        "FederatedHPA",
        "MultiClusterService",
        "MultiClusterIngress",
    }
)
"""Declared kinds that live in a namespace; all others are cluster-scoped."""

NOT_ACTED_ON: dict[tuple[str, str], str] = {
    ("work.karmada.io", "ResourceBinding"): "ignored: decisions are kept on the state branch",
    ("work.karmada.io", "ClusterResourceBinding"): "ignored: decisions are kept on the state branch",
    ("work.karmada.io", "Work"): "ignored: manifests for clusters are rendered from templates",
    ("operator.karmada.io", "Karmada"): "ignored: there is no Karmada control plane here",
}
"""Group and kind → what is said about them. They are neither templates nor declared."""

OWN_GROUPS = frozenset({group for group, _ in NOT_ACTED_ON} | {v.partition("/")[0] for v, _ in MODELS})
"""Groups whose objects are never templates: an unknown kind or version in them is a mistake."""


def model_of(api_version: str, kind: str) -> type[Declared] | None:
    return MODELS.get((api_version, kind))
