"""What is remembered of autoscalers: what each decided last, its runs, and when it falls due again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from gitfed.model.base import Body, ObjectKey
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """What an autoscaler decided: replicas of a workload, or bounds of a FederatedHPA; None where it says nothing."""

    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    rule: str = ""
    at: datetime | None = None
    why: str = ""
    """What the number follows from; "" where a rule says it."""

    def __str__(self) -> str:
        named = (("replicas", self.replicas), ("minReplicas", self.min_replicas), ("maxReplicas", self.max_replicas))
        return ", ".join(f"{name} {value}" for name, value in named if value is not None)


@dataclass(frozen=True, slots=True)
class CronRun:
    """One execution of a rule. `message` says why it failed; "" when it did not."""

    scheduled: datetime
    executed: datetime
    applied: Scale | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """A rule as it was in force, and what became of it (Karmada: `status.executionHistories[]`)."""

    name: str
    rule: Body
    """As the file says it. If the file changes the rule, the next time is computed again."""
    next: datetime | None
    """None: it is suspended."""
    successful: tuple[CronRun, ...] = ()
    """Newest first."""
    failed: tuple[CronRun, ...] = ()


class ConditionType(StrEnum):
    ABLE_TO_SCALE = "AbleToScale"
    ACTIVE = "ScalingActive"
    LIMITED = "ScalingLimited"


class ConditionReason(StrEnum):
    """Why a condition of an autoscaler is as it is; the values are Kubernetes' words."""

    SUCCEEDED_RESCALE = "SucceededRescale"
    READY_FOR_NEW_SCALE = "ReadyForNewScale"
    SCALE_UP_STABILIZED = "ScaleUpStabilized"
    SCALE_DOWN_STABILIZED = "ScaleDownStabilized"
    FAILED_GET_SCALE = "FailedGetScale"
    NOT_SETTLED = "NotSettled"
    SCALED_IN_CLUSTER = "ScaledInCluster"
    SCALING_DISABLED = "ScalingDisabled"
    VALID_METRIC_FOUND = "ValidMetricFound"
    FAILED_GET_METRICS = "FailedGetMetrics"
    DESIRED_WITHIN_RANGE = "DesiredWithinRange"
    SCALE_UP_LIMIT = "ScaleUpLimit"
    SCALE_DOWN_LIMIT = "ScaleDownLimit"
    TOO_FEW_REPLICAS = "TooFewReplicas"
    TOO_MANY_REPLICAS = "TooManyReplicas"


@dataclass(frozen=True, slots=True)
class AutoscalerCondition:
    type: ConditionType
    holds: bool
    reason: ConditionReason
    message: str = ""


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """A number of replicas that went up, or down where `by` is negative."""

    at: datetime
    by: int


@dataclass(frozen=True, slots=True)
class MetricStatus:
    """A metric as it was observed last. `current` and `target` as a person writes them; `current` "" while unknown."""

    name: str
    type: str
    current: str
    target: str


@dataclass(frozen=True, slots=True)
class HorizontalStatus:
    """What is known of a FederatedHPA (`status` of autoscaling/v2)."""

    current: int
    desired: int
    at: datetime
    """When this was written down."""
    last_scale: datetime | None = None
    metrics: tuple[MetricStatus, ...] = ()
    conditions: tuple[AutoscalerCondition, ...] = ()
    changes: tuple[ReplicaChange, ...] = ()
    """Those that a policy of its behavior still counts, oldest first."""


@dataclass(frozen=True, slots=True)
class AutoscalerRecord:
    """One document under `autoscalers/` of the state branch."""

    key: ObjectKey
    target: ObjectKey
    target_version: str
    """The target's apiVersion, as the file says it."""
    rules: tuple[RuleRecord, ...] = ()
    """Sorted as in the file."""
    decided: Scale | None = None
    """None: the template's own number counts."""
    status: HorizontalStatus | None = None
    """Of a FederatedHPA; a CronFederatedHPA has rules."""

    @property
    def next(self) -> datetime | None:
        return min((rule.next for rule in self.rules if rule.next is not None), default=None)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A workload whose number an autoscaler decided."""

    by: ObjectKey
    replicas: int
    rule: str
    at: datetime | None
    declared: int | None
    """What the template says itself: where it starts from, and what counts again when the autoscaler is gone."""
    why: str = ""
    """What the number follows from; "" where a rule says it."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """What a plan says of autoscalers."""

    records: Mapping[ObjectKey, AutoscalerRecord] = field(default_factory=lambda: MappingProxyType({}))
    """What is to be remembered; the same mapping as before when nothing changed."""
    scaled: Mapping[ObjectKey, Scaled] = field(default_factory=lambda: MappingProxyType({}))
    """By workload."""
    said: tuple[str, ...] = ()
    """What was decided, as sentences for the record."""
