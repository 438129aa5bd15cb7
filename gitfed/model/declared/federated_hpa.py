"""FederatedHPA: how many replicas a workload gets over the whole fleet, by what its pods use (Karmada: other
capabilities, §6). `spec` is that of a HorizontalPodAutoscaler (autoscaling/v2)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictInt

from gitfed.model.base import ObjectKey, group_of
from gitfed.model.declared.autoscaling import GROUP, ScaleTarget
from gitfed.model.declared.placement import LabelSelector
from gitfed.model.declared.shape import Declared, Finding, Int32, Part, Quantity, Required, Text
from gitfed.text import quantity

DEFAULT_UTILIZATION = 80
"""Per cent of the requested CPU, where no metric is declared."""
_Path: TypeAlias = tuple[str | int, ...]
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


class MetricTarget(Part):
    type: Literal["Utilization", "Value", "AverageValue"]
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class MetricIdentifier(Part):
    name: Required
    selector: LabelSelector | None = None


class ResourceMetric(Part):
    name: Required
    target: MetricTarget


class ContainerResourceMetric(Part):
    name: Required
    container: Required
    target: MetricTarget


class PodsMetric(Part):
    metric: MetricIdentifier
    target: MetricTarget


class DescribedObject(Part):
    api_version: Text = ""
    kind: Required
    name: Required


class ObjectMetric(Part):
    described_object: DescribedObject
    metric: MetricIdentifier
    target: MetricTarget


class ExternalMetric(Part):
    metric: MetricIdentifier
    target: MetricTarget


class Metric(Part):
    """One source, named by `type`; the highest proposal of all metrics counts."""

    type: Literal["Resource", "ContainerResource", "Pods", "Object", "External"]
    resource: ResourceMetric | None = None
    container_resource: ContainerResourceMetric | None = None
    pods: PodsMetric | None = None
    object: ObjectMetric | None = None
    external: ExternalMetric | None = None

    @property
    def target(self) -> MetricTarget | None:
        """None where the source that `type` names is missing, which is a finding."""
        source = {
            "Resource": self.resource,
            "ContainerResource": self.container_resource,
            "Pods": self.pods,
            "Object": self.object,
            "External": self.external,
        }[self.type]
        return source.target if source is not None else None

    @property
    def wanted(self) -> str:
        """The target as a person writes it."""
        target = self.target
        if target is None:
            return ""
        if target.average_utilization is not None:
            return f"{target.average_utilization}%"
        return target.average_value or target.value or ""

    def __str__(self) -> str:
        if self.resource is not None:
            return self.resource.name
        if self.container_resource is not None:
            return f"{self.container_resource.name} of container {self.container_resource.container}"
        if self.pods is not None:
            return f"pods' {self.pods.metric.name}"
        if self.object is not None:
            of = self.object.described_object
            return f"{self.object.metric.name} of {of.kind}/{of.name}"
        return f"external {self.external.metric.name}" if self.external is not None else self.type


class ScalingPolicy(Part):
    type: Literal["Pods", "Percent"]
    value: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
    period_seconds: Annotated[StrictInt, Field(ge=1, le=_LONGEST_PERIOD)]


class ScalingRules(Part):
    stabilization_window_seconds: Annotated[StrictInt, Field(ge=0, le=_LONGEST_WINDOW)] | None = None
    select_policy: Literal["Max", "Min", "Disabled"] = "Max"
    policies: Annotated[tuple[ScalingPolicy, ...], Field(min_length=1)] | None = None


@functools.cache
def _double() -> ScalingPolicy:
    """Made when it is asked for: the first value of a model costs milliseconds, and few fleets have one."""
    return ScalingPolicy(type="Percent", value=100, period_seconds=15)


@functools.cache
def _four_pods() -> ScalingPolicy:
    return ScalingPolicy(type="Pods", value=4, period_seconds=15)


class Behavior(Part):
    scale_up: ScalingRules = Field(default_factory=ScalingRules)
    scale_down: ScalingRules = Field(default_factory=ScalingRules)

    @property
    def up_policies(self) -> tuple[ScalingPolicy, ...]:
        policies = self.scale_up.policies
        return policies if policies is not None else (_four_pods(), _double())

    @property
    def down_policies(self) -> tuple[ScalingPolicy, ...]:
        return self.scale_down.policies if self.scale_down.policies is not None else (_double(),)


@functools.cache
def _cpu() -> Metric:
    target = MetricTarget(type="Utilization", average_utilization=DEFAULT_UTILIZATION)
    return Metric(type="Resource", resource=ResourceMetric(name="cpu", target=target))


class FederatedHPASpec(Part):
    scale_target_ref: ScaleTarget
    min_replicas: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)] = 1
    max_replicas: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
    metrics: tuple[Metric, ...] = ()
    behavior: Behavior | None = None


class FederatedHPA(Declared):
    kind: Literal["FederatedHPA"]
    spec: FederatedHPASpec

    @property
    def target(self) -> ObjectKey:
        return self.spec.scale_target_ref.key(self.metadata.namespace)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.spec.metrics or (_cpu(),)

    def findings(self) -> Iterator[Finding]:
        spec = self.spec
        target = spec.scale_target_ref
        if group_of(target.api_version) == GROUP:
            message = f"a {target.kind} cannot be scaled by a FederatedHPA"
            yield Finding(("spec", "scaleTargetRef", "kind"), message, "name the workload itself")
        if spec.min_replicas > spec.max_replicas:
            message = f"minReplicas is {spec.min_replicas}, more than maxReplicas, which is {spec.max_replicas}"
            yield Finding(("spec", "minReplicas"), message)
        for i, metric in enumerate(spec.metrics):
            yield from _source(metric, ("spec", "metrics", i))


_MEMBERS = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_TARGETS = {
    "Resource": ("averageUtilization", "averageValue"),
    "ContainerResource": ("averageUtilization", "averageValue"),
    "Pods": ("averageValue",),
    "Object": ("value", "averageValue"),
    "External": ("value", "averageValue"),
}
"""Which members of a target mean something for a source: exactly one of them is set."""


def _source(metric: Metric, where: _Path) -> Iterator[Finding]:
    named = {
        "resource": metric.resource,
        "containerResource": metric.container_resource,
        "pods": metric.pods,
        "object": metric.object,
        "external": metric.external,
    }
    wanted = _MEMBERS[metric.type]
    if named[wanted] is None:
        yield Finding(where, f"a metric of type {metric.type} needs {wanted}")
        return
    for name, source in named.items():
        if source is not None and name != wanted:
            yield Finding((*where, name), f"{name} has no place in a metric of type {metric.type}", "remove it")
    target = metric.target
    assert target is not None
    values: dict[str, str | int | None] = {
        "averageUtilization": target.average_utilization,
        "averageValue": target.average_value,
        "value": target.value,
    }
    where = (*where, wanted, "target")
    meant = _TARGETS[metric.type]
    given = [name for name in meant if values[name] is not None]
    if len(given) != 1:
        message = f"a metric of type {metric.type} needs {'one of ' if len(meant) > 1 else ''}{' and '.join(meant)}"
        yield Finding(where, message)
    for name, value in values.items():
        if value is None:
            continue
        if name not in meant:
            yield Finding((*where, name), f"{name} has no meaning for a metric of type {metric.type}", "remove it")
        else:
            yield from _positive(name, value, where)


def _positive(name: str, value: str | int, where: _Path) -> Iterator[Finding]:
    try:
        amount = quantity.parse(value).nano
    except quantity.QuantityError as error:
        yield Finding((*where, name), f"{name} {error}")
        return
    if amount <= 0:
        yield Finding((*where, name), f"{name} is {value}, it must be more than 0")
