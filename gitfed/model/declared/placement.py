"""Where a policy wants things: selectors, affinities, spread, division.

Field names, defaults and the rules between fields are Karmada's (Karmada: PropagationPolicy `spec.placement`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, StrictInt, model_validator

from gitfed.model.declared import names
from gitfed.model.declared.shape import Finding, Int64, Labels, Meaningless, Part, Required, Text, warning

Path: TypeAlias = tuple[str | int, ...]


class SelectorRequirement(Part):
    """One expression of a selector. Which keys and operators are allowed depends on the selector."""

    key: Text
    operator: Text
    values: tuple[Text, ...] = ()


class LabelSelector(Part):
    match_labels: Labels = Field(default_factory=dict)
    match_expressions: tuple[SelectorRequirement, ...] = ()


class FieldSelector(Part):
    match_expressions: tuple[SelectorRequirement, ...] = ()

    def findings(self, path: Path) -> Iterator[Finding]:
        for i, expression in enumerate(self.match_expressions):
            where = (*path, "matchExpressions", i)
            if expression.key not in ("provider", "region", "zone"):
                yield Finding((*where, "key"), f"the field {expression.key} is unsupported", "provider, region or zone")
            if expression.operator not in ("In", "NotIn"):
                yield Finding((*where, "operator"), f"the operator {expression.operator} is unsupported", "In or NotIn")


class ResourceSelector(Part):
    api_version: Required
    kind: Required
    namespace: Text = ""
    name: Text = ""
    label_selector: LabelSelector | None = None


class ClusterAffinity(Part):
    """All parts must match; `exclude` beats `cluster_names`; empty matches every cluster."""

    label_selector: LabelSelector | None = None
    field_selector: FieldSelector | None = None
    cluster_names: tuple[Text, ...] = ()
    exclude: tuple[Text, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.label_selector or self.field_selector or self.cluster_names or self.exclude)

    def findings(self, path: Path) -> Iterator[Finding]:
        if self.field_selector:
            yield from self.field_selector.findings((*path, "fieldSelector"))
        for i, expression in enumerate(self.label_selector.match_expressions if self.label_selector else ()):
            if expression.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
                where = (*path, "labelSelector", "matchExpressions", i, "operator")
                message = f"the operator {expression.operator} is unknown, so no cluster ever matches"
                yield warning(where, message, "In, NotIn, Exists or DoesNotExist")


class AffinityTerm(ClusterAffinity):
    """One of the ordered `clusterAffinities`: a named affinity and what it may overflow to."""

    affinity_name: Annotated[str, Field(min_length=1, max_length=32, strict=True)]
    overflow_affinities: tuple[OverflowAffinity, ...] = ()


class OverflowAffinity(ClusterAffinity):
    affinity_name: Annotated[str, Field(min_length=1, max_length=32, strict=True)]


class Toleration(Part):
    """Kubernetes' toleration. An empty key matches all keys, an empty effect all effects; Exists matches all values."""

    key: Text = ""
    operator: Text = ""
    value: Text = ""
    effect: Text = ""
    toleration_seconds: Int64 | None = None

    def findings(self, path: Path) -> Iterator[Finding]:
        if self.operator not in ("", "Exists", "Equal"):
            yield Finding((*path, "operator"), f"the operator {self.operator} is unsupported", "Exists or Equal")
        if self.effect not in ("", "NoSchedule", "PreferNoSchedule", "NoExecute"):
            hint = "NoSchedule, PreferNoSchedule or NoExecute"
            yield warning((*path, "effect"), f"the effect {self.effect} is unknown, so nothing is tolerated", hint)
        if not self.key and self.operator != "Exists":
            which = f"with the value {self.value}" if self.value else "without a value"
            yield warning(
                (*path, "operator"),
                f"a toleration with neither a key nor the operator Exists tolerates every taint {which}, and no other",
                "operator: Exists tolerates all of them, a key those of that name",
            )
        if self.operator == "Exists" and self.value:
            yield warning((*path, "value"), "the operator Exists takes no value")
        if self.key and (why := names.why_not_label_key(self.key)):
            yield warning((*path, "key"), f"the key {self.key} is no taint's: it {why}")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            yield warning((*path, "effect"), "tolerationSeconds is only for the effect NoExecute")


class SpreadConstraint(Part):
    spread_by_field: Literal["cluster", "region", "zone", "provider"] | None = None
    spread_by_label: Annotated[
        Text, Meaningless("Karmada ignores it too", "spread by cluster, region, zone or provider")
    ] = ""
    max_groups: StrictInt = 0
    min_groups: StrictInt = 0

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.spread_by_field is None and not self.spread_by_label:
            self._settle(spread_by_field="cluster")
        if self.min_groups == 0:
            self._settle(min_groups=1)
        return self

    def findings(self, path: Path) -> Iterator[Finding]:
        if self.spread_by_field and self.spread_by_label:
            yield Finding((*path, "spreadByLabel"), "spreadByField and spreadByLabel cannot be combined")
        elif self.spread_by_label:
            yield from self.without_effect(path)
        if self.min_groups < 0:
            yield Finding((*path, "minGroups"), f"minGroups is {self.min_groups}, it must not be negative")
        if self.max_groups < 0:
            yield Finding((*path, "maxGroups"), f"maxGroups is {self.max_groups}, it must not be negative")
        if 0 < self.max_groups < self.min_groups:
            message = f"maxGroups {self.max_groups} is below minGroups {self.min_groups}"
            yield Finding((*path, "maxGroups"), message)


class StaticWeight(Part):
    target_cluster: ClusterAffinity
    weight: Annotated[StrictInt, Field(ge=1, le=2**63 - 1)]


class WeightPreference(Part):
    static_weight_list: tuple[StaticWeight, ...] = ()
    dynamic_weight: Literal["AvailableReplicas"] | None = None


class ReplicaScheduling(Part):
    """Absent means Duplicated; present without a type means Divided."""

    replica_scheduling_type: Literal["Duplicated", "Divided"] = "Divided"
    replica_division_preference: Literal["Aggregated", "Weighted"] | None = None
    weight_preference: WeightPreference | None = None

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.replica_scheduling_type == "Divided" and self.replica_division_preference is None:
            self._settle(replica_division_preference="Weighted")
        return self

    @property
    def is_dynamic(self) -> bool:
        return bool(self.weight_preference and self.weight_preference.dynamic_weight)


class WorkloadGroup(Part):
    group_by_label_key: Required


class WorkloadAffinity(Part):
    affinity: WorkloadGroup | None = None
    anti_affinity: WorkloadGroup | None = None

    def findings(self, path: Path) -> Iterator[Finding]:
        for name, group in (("affinity", self.affinity), ("antiAffinity", self.anti_affinity)):
            if group and (why := names.why_not_label_key(group.group_by_label_key)):
                where = (*path, name, "groupByLabelKey")
                yield Finding(where, f"the label key {group.group_by_label_key} {why}")
        if self.affinity and self.anti_affinity == self.affinity:
            yield Finding(
                (*path, "antiAffinity", "groupByLabelKey"), "affinity and antiAffinity must use different keys"
            )


class Placement(Part):
    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[AffinityTerm, ...] = ()
    cluster_tolerations: tuple[Toleration, ...] = ()
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    replica_scheduling: ReplicaScheduling | None = None
    workload_affinity: WorkloadAffinity | None = None

    @property
    def replica_scheduling_type(self) -> Literal["Duplicated", "Divided"]:
        return self.replica_scheduling.replica_scheduling_type if self.replica_scheduling else "Duplicated"

    def findings(self, path: Path) -> Iterator[Finding]:
        """The rules between fields (Karmada: admission of PropagationPolicy)."""
        if self.cluster_affinity and self.cluster_affinities:
            yield Finding((*path, "clusterAffinities"), "clusterAffinity and clusterAffinities cannot be combined")
        if self.cluster_affinity:
            yield from self.cluster_affinity.findings((*path, "clusterAffinity"))
        yield from self._term_findings((*path, "clusterAffinities"))
        for i, toleration in enumerate(self.cluster_tolerations):
            yield from toleration.findings((*path, "clusterTolerations", i))
        yield from self._spread_findings((*path, "spreadConstraints"))
        preference = self.replica_scheduling.weight_preference if self.replica_scheduling else None
        for i, entry in enumerate(preference.static_weight_list if preference else ()):
            where = (*path, "replicaScheduling", "weightPreference", "staticWeightList", i, "targetCluster")
            yield from entry.target_cluster.findings(where)
        if self.workload_affinity:
            yield from self.workload_affinity.findings((*path, "workloadAffinity"))

    def _term_findings(self, path: Path) -> Iterator[Finding]:
        seen: set[str] = set()
        for i, term in enumerate(self.cluster_affinities):
            where = (*path, i)
            yield from _name_findings(term.affinity_name, seen, (*where, "affinityName"))
            yield from term.findings(where)
            if not term.overflow_affinities:
                continue
            below = (*where, "overflowAffinities")
            division = self.replica_scheduling
            if self.replica_scheduling_type != "Divided" or not (
                division and (division.replica_division_preference == "Aggregated" or division.is_dynamic)
            ):
                message = "overflowAffinities need Divided replicas with Aggregated or dynamic weight"
                yield Finding(below, message)
            if term.is_empty:
                yield Finding(below, "overflowAffinities need a primary affinity that selects something")
            inside = {term.affinity_name}
            for j, overflow in enumerate(term.overflow_affinities):
                yield from _name_findings(overflow.affinity_name, inside, (*below, j, "affinityName"))
                yield from overflow.findings((*below, j))

    def _spread_findings(self, path: Path) -> Iterator[Finding]:
        seen: set[str] = set()
        for i, constraint in enumerate(self.spread_constraints):
            yield from constraint.findings((*path, i))
            if field := constraint.spread_by_field:
                if field in seen:
                    yield Finding((*path, i, "spreadByField"), f"spreadByField {field} stands twice")
                seen.add(field)
        if seen and "cluster" not in seen:
            hint = "add one with spreadByField: cluster"
            yield Finding(path, "spread constraints by field need one for cluster too", hint)


def _name_findings(name: str, seen: set[str], path: Path) -> Iterator[Finding]:
    if why := names.why_not_label_key(name):
        yield Finding(path, f"the affinity name {name} {why}")
    if name in seen:
        yield Finding(path, f"the affinity name {name} stands twice")
    seen.add(name)
