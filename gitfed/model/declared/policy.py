"""The kinds of policy.karmada.io, and WorkloadRebalancer (Karmada: policy API and its admission)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator

from gitfed.model.declared import names
from gitfed.model.declared.failover import ApplicationFailover as ApplicationFailover
from gitfed.model.declared.failover import ClusterFailover as ClusterFailover
from gitfed.model.declared.failover import Failover as Failover
from gitfed.model.declared.failover import StatePreservation as StatePreservation
from gitfed.model.declared.failover import StateRule as StateRule
from gitfed.model.declared.overriders import CommandArgsOverrider as CommandArgsOverrider
from gitfed.model.declared.overriders import FieldOverrider as FieldOverrider
from gitfed.model.declared.overriders import ImageOverrider as ImageOverrider
from gitfed.model.declared.overriders import ImagePredicate as ImagePredicate
from gitfed.model.declared.overriders import LabelAnnotationOverrider as LabelAnnotationOverrider
from gitfed.model.declared.overriders import Overriders as Overriders
from gitfed.model.declared.overriders import OverrideRule as OverrideRule
from gitfed.model.declared.overriders import PatchOperation as PatchOperation
from gitfed.model.declared.overriders import PlaintextOverrider as PlaintextOverrider
from gitfed.model.declared.placement import AffinityTerm as AffinityTerm
from gitfed.model.declared.placement import ClusterAffinity as ClusterAffinity
from gitfed.model.declared.placement import FieldSelector as FieldSelector
from gitfed.model.declared.placement import LabelSelector as LabelSelector
from gitfed.model.declared.placement import OverflowAffinity as OverflowAffinity
from gitfed.model.declared.placement import Placement as Placement
from gitfed.model.declared.placement import ReplicaScheduling as ReplicaScheduling
from gitfed.model.declared.placement import ResourceSelector as ResourceSelector
from gitfed.model.declared.placement import SelectorRequirement as SelectorRequirement
from gitfed.model.declared.placement import SpreadConstraint as SpreadConstraint
from gitfed.model.declared.placement import StaticWeight as StaticWeight
from gitfed.model.declared.placement import Toleration as Toleration
from gitfed.model.declared.placement import WeightPreference as WeightPreference
from gitfed.model.declared.placement import WorkloadAffinity as WorkloadAffinity
from gitfed.model.declared.quota import FederatedResourceQuota as FederatedResourceQuota
from gitfed.model.declared.quota import StaticAssignment as StaticAssignment
from gitfed.model.declared.shape import Declared, Finding, Flag, Int32, Meaningless, Part, Required, Text, warning

_SERVICE_IMPORT = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


class DispatchingOnClusters(Part):
    cluster_names: tuple[Text, ...] = ()


class Suspension(Part):
    dispatching: Flag | None = None
    dispatching_on_clusters: DispatchingOnClusters | None = None


class SchedulePriority(Part):
    priority_class_source: Literal["KubePriorityClass"]
    priority_class_name: Required


class PropagationSpec(Part):
    resource_selectors: Annotated[tuple[ResourceSelector, ...], Field(min_length=1)]
    placement: Placement = Field(default_factory=Placement)
    priority: Int32 = 0
    preemption: Annotated[
        Literal["Never", "Always"],
        Meaningless("the best policy wins at every commit", "remove it, or use priority"),
    ] = "Never"
    propagate_deps: Flag = False
    association: Annotated[Flag, Meaningless("it is an ignored ancestor of propagateDeps", "use propagateDeps")] = False
    dependent_overrides: tuple[Text, ...] = ()
    scheduler_name: Annotated[Text, Meaningless("gitfed schedules everything itself")] = "default-scheduler"
    failover: Failover | None = None
    conflict_resolution: Literal["Abort", "Overwrite"] = "Abort"
    activation_preference: Annotated[Literal["", "Lazy"], Meaningless("a policy takes effect with its commit")] = ""
    suspension: Suspension | None = None
    preserve_resources_on_deletion: Flag | None = None
    schedule_priority: SchedulePriority | None = None

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if any((s.api_version, s.kind) == _SERVICE_IMPORT for s in self.resource_selectors):
            self._settle(propagate_deps=True)
        return self


class Propagation(Declared):
    """PropagationPolicy (namespaced: sees its own namespace only) or ClusterPropagationPolicy."""

    kind: Literal["PropagationPolicy", "ClusterPropagationPolicy"]
    spec: PropagationSpec

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.kind == "PropagationPolicy":
            selectors = _in_namespace(self.spec.resource_selectors, self.metadata.namespace)
            self.spec._settle(resource_selectors=selectors)
        return self

    @property
    def is_cluster_wide(self) -> bool:
        return self.kind == "ClusterPropagationPolicy"

    def findings(self) -> Iterator[Finding]:
        spec = self.spec
        if not self.is_cluster_wide:
            yield from _foreign_namespaces(spec.resource_selectors, self.metadata.namespace)
        for i, selector in enumerate(spec.resource_selectors):
            if spec.preemption == "Always" and not selector.name:
                message = "preemption Always needs a name in every selector"
                yield Finding(("spec", "resourceSelectors", i), message)
        yield from spec.placement.findings(("spec", "placement"))
        suspension = spec.suspension
        listed = suspension.dispatching_on_clusters if suspension else None
        if suspension and suspension.dispatching and listed and listed.cluster_names:
            yield Finding(("spec", "suspension"), "dispatching true and dispatchingOnClusters cannot be combined")
        if spec.failover and spec.failover.application:
            if not spec.propagate_deps:
                yield Finding(("spec", "failover", "application"), "application failover needs propagateDeps: true")
            yield from spec.failover.application.findings(("spec", "failover", "application"))
        if spec.failover and spec.failover.cluster and spec.failover.cluster.state_preservation:
            where = ("spec", "failover", "cluster", "statePreservation")
            yield from spec.failover.cluster.state_preservation.findings(where)
        yield from spec.without_effect(("spec",))
        yield from _claims(self)


class OverrideSpec(Part):
    resource_selectors: tuple[ResourceSelector, ...] = ()
    override_rules: tuple[OverrideRule, ...] = ()
    target_cluster: ClusterAffinity | None = None
    overriders: Overriders = Field(default_factory=Overriders)

    @property
    def rules(self) -> tuple[OverrideRule, ...]:
        """The rules in force: the old form `targetCluster` + `overriders` is one rule, if there are no others."""
        if self.override_rules or self.overriders.is_empty:
            return self.override_rules
        return (OverrideRule(target_cluster=self.target_cluster, overriders=self.overriders),)


class Override(Declared):
    """OverridePolicy (namespaced) or ClusterOverridePolicy. Without selectors it covers everything in scope."""

    kind: Literal["OverridePolicy", "ClusterOverridePolicy"]
    spec: OverrideSpec

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.kind == "OverridePolicy":
            selectors = _in_namespace(self.spec.resource_selectors, self.metadata.namespace)
            self.spec._settle(resource_selectors=selectors)
        return self

    @property
    def is_cluster_wide(self) -> bool:
        return self.kind == "ClusterOverridePolicy"

    def findings(self) -> Iterator[Finding]:
        spec = self.spec
        if not self.is_cluster_wide:
            yield from _foreign_namespaces(spec.resource_selectors, self.metadata.namespace)
        if spec.override_rules:
            if spec.target_cluster:
                yield Finding(("spec", "targetCluster"), "targetCluster cannot be combined with overrideRules")
            if not spec.overriders.is_empty:
                yield Finding(("spec", "overriders"), "overriders cannot be combined with overrideRules")
        for i, rule in enumerate(spec.override_rules):
            where = ("spec", "overrideRules", i)
            if rule.target_cluster:
                yield from rule.target_cluster.findings((*where, "targetCluster"))
            yield from rule.overriders.findings((*where, "overriders"))
        if spec.target_cluster:
            yield from spec.target_cluster.findings(("spec", "targetCluster"))
        yield from spec.overriders.findings(("spec", "overriders"))


class ConditionMatch(Part):
    condition_type: Required
    operator: Literal["In", "NotIn"]
    status_values: tuple[Literal["True", "False", "Unknown"], ...]


class PolicyTaint(Part):
    key: Required
    value: Text = ""
    effect: Literal["NoSchedule", "NoExecute"]


class ClusterTaintSpec(Part):
    target_clusters: ClusterAffinity | None = None
    add_on_conditions: tuple[ConditionMatch, ...] = ()
    remove_on_conditions: tuple[ConditionMatch, ...] = ()
    taints: Annotated[tuple[PolicyTaint, ...], Field(min_length=1)]


class ClusterTaintPolicy(Declared):
    kind: Literal["ClusterTaintPolicy"]
    spec: ClusterTaintSpec

    def findings(self) -> Iterator[Finding]:
        if self.spec.target_clusters:
            yield from self.spec.target_clusters.findings(("spec", "targetClusters"))
        seen: set[tuple[str, str]] = set()
        for i, taint in enumerate(self.spec.taints):
            where = ("spec", "taints", i)
            if (taint.key, taint.effect) in seen:
                yield Finding(where, f"the taint {taint.key} with effect {taint.effect} stands twice")
            seen.add((taint.key, taint.effect))
            if why := names.why_not_label_key(taint.key):
                yield Finding((*where, "key"), f"the taint key {taint.key} {why}")
            if why := names.why_not_label_value(taint.value):
                yield Finding((*where, "value"), f"the taint value {why}")


class RebalancedWorkload(Part):
    api_version: Required
    kind: Required
    namespace: Text = ""
    name: Required


class RebalancerSpec(Part):
    workloads: Annotated[tuple[RebalancedWorkload, ...], Field(min_length=1)]
    ttl_seconds_after_finished: Annotated[
        Annotated[StrictInt, Field(ge=0, le=2**31 - 1)] | None, Meaningless("a file stays until a person removes it")
    ] = None


class WorkloadRebalancer(Declared):
    kind: Literal["WorkloadRebalancer"]
    spec: RebalancerSpec

    def findings(self) -> Iterator[Finding]:
        yield from self.spec.without_effect(("spec",))


def _in_namespace(selectors: tuple[ResourceSelector, ...], namespace: str) -> tuple[ResourceSelector, ...]:
    """Admission writes the policy's namespace into selectors that have none."""
    if not namespace or all(selector.namespace for selector in selectors):
        return selectors
    return tuple(s if s.namespace else s.model_copy(update={"namespace": namespace}) for s in selectors)


def _foreign_namespaces(selectors: tuple[ResourceSelector, ...], namespace: str) -> Iterator[Finding]:
    for i, selector in enumerate(selectors):
        if namespace and selector.namespace not in ("", namespace):
            where = ("spec", "resourceSelectors", i, "namespace")
            message = f"a policy of namespace {namespace} cannot select in namespace {selector.namespace}"
            yield Finding(where, message, "move it there or use the cluster-wide kind")


def _claims(policy: Declared) -> Iterator[Finding]:
    if policy.metadata.finalizers:
        yield warning(("metadata", "finalizers"), "finalizers have no effect on a file", "remove them")
