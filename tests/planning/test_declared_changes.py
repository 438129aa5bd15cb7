"""Every declared kind is shown by a plan: by what it does, or as declared otherwise."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gitfed.model.declared import registry
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.review import declared_changes
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
    read = repo.read(tree({f"{number}.yaml": one_of(*kind) for number, kind in enumerate(kinds)}, settings=None))
    assert [str(one) for one in read.problems if "no settings" not in one.message] == []
    return read


def test_every_declared_kind_is_planned_or_told_beside_the_plan() -> None:
    planned, beside = declared_changes.PLANNED, declared_changes.BESIDE_PLANS
    assert planned | beside == set(registry.MODELS.values()), "a declared kind that no plan would show: classify it"
    assert not planned & beside


@pytest.mark.parametrize("kind", registry.MODELS, ids=lambda kind: kind[1])
def test_one_of_every_declared_kind_that_comes_or_goes_is_told(kind: tuple[str, str]) -> None:
    empty, full = snapshot(), snapshot(kind)
    beside = registry.MODELS[kind] in declared_changes.BESIDE_PLANS
    for before, after, verb in ((empty, full, "new"), (full, empty, "gone")):
        told = [one for one in declared_changes.otherwise(before, after) if kind[1] == one.key.kind]
        # A repository without settings has the usual ones, which have another name.
        assert {one.verb for one in told} == ({"new", "gone"} if kind[1] == "Federation" else {verb})
        shown = [one.key.kind for one in declared_changes.beside_plan(before, after)]
        assert (kind[1] in shown) is beside


def test_what_a_snapshot_declares_is_all_compared() -> None:
    """A list of declared objects that a snapshot gains must not be forgotten here."""
    full = snapshot(*registry.MODELS)
    held = {
        item.key
        for field in fields(full)
        for value in (getattr(full, field.name),)
        for item in (value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,))
        if isinstance(item, Declared)
    }
    compared = {one.key for one in declared_changes.otherwise(snapshot(), full)}
    assert held - {full.settings.key} <= compared
    assert {key.kind for key in held} == {kind for _, kind in registry.MODELS}
