"""One object of every declared kind, as a file has it."""

from __future__ import annotations

from gitfed.model.declared import registry
from gitfed.model.repo import RepoSnapshot
from gitfed.source import repo
from tests.source.trees import tree

SPECS = {
    "Cluster": "{syncMode: Push}",
    "PropagationPolicy": "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {}}",
    "ClusterPropagationPolicy": "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {}}",
    "OverridePolicy": "{overrideRules: [{overriders: {plaintext: [{path: /data/a, operator: remove}]}}]}",
    "ClusterOverridePolicy": "{overrideRules: [{overriders: {plaintext: [{path: /data/a, operator: remove}]}}]}",
    "FederatedResourceQuota": "{overall: {cpu: 1}}",
    "ClusterTaintPolicy": "{addOnConditions: [{conditionType: Ready, operator: In, statusValues: ['False']}], "
    "taints: [{key: a, effect: NoSchedule}]}",
    "WorkloadRebalancer": "{workloads: [{apiVersion: apps/v1, kind: Deployment, name: a, namespace: a}]}",
    "ResourceInterpreterCustomization": "{target: {apiVersion: e.com/v1, kind: A}, "
    "customizations: {replicaRevision: {luaScript: 'function ReviseReplica(o, r) return o end'}}}",
    "ResourceInterpreterWebhookConfiguration": "[{name: a.b.c, clientConfig: {url: 'https://a.example/b'}, "
    "interpreterContextVersions: [v1alpha1], "
    "rules: [{operations: ['*'], apiGroups: [e.com], apiVersions: [v1], kinds: [A]}]}]",
    "Remedy": "{actions: [TrafficControl]}",
    "CronFederatedHPA": "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, "
    "rules: [{name: up, schedule: '0 8 * * *', targetReplicas: 2}]}",
    "FederatedHPA": "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, maxReplicas: 3}",
    "AccessPolicy": "{subjects: [{kind: User, name: ada}], allow: [view]}",
    "Federation": "{}",
    "Notification": "{provider: Apprise, target: pager, severities: [error]}",
    "ResourceRegistry": "{targetCluster: {}, resourceSelectors: [{apiVersion: v1, kind: Pod}]}",
    "MultiClusterService": "{types: [CrossCluster]}",
    "MultiClusterIngress": "{defaultBackend: {service: {name: one, port: {number: 80}}}}",
    "PlacementTest": "{expect: [{workload: {kind: Deployment, namespace: a, name: a}, clusters: {min: 1}}]}",
}


def one_of(api_version: str, kind: str) -> str:
    space = ", namespace: shop" if kind in registry.NAMESPACED else ""
    member = "webhooks" if kind.endswith("WebhookConfiguration") else "spec"
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: one{space}}}\n{member}: {SPECS[kind]}\n"


def snapshot(*kinds: tuple[str, str]) -> RepoSnapshot:
    """A commit with one object of each of these kinds, and nothing else."""
    read = repo.read(tree({f"{number}.yaml": one_of(*kind) for number, kind in enumerate(kinds)}, settings=None))
    assert [str(one) for one in read.problems if "no settings" not in one.message] == []
    return read
