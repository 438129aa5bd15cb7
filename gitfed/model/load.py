"""What is observed of a workload that an autoscaler scales, as numbers: its pods in each cluster, and what they use.

Amounts are thousandths, as Kubernetes' autoscaler counts. What could not be read is in the value, marked as such:
unknown is not absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.text.values import dataclass

SCALE_IN_OBJECT = frozenset(Kind("apps", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet"))
"""Kinds whose scale is made of `spec.replicas`, `spec.selector` and `status.replicas` of the object."""


class Sample(NamedTuple):
    """What one pod used, in the mean of the `window` seconds before `at`."""

    value: int
    at: datetime
    window: float


class PodLoad(NamedTuple):
    """A pod of a workload, as far as it matters to whom its use is counted."""

    name: str
    phase: str
    leaving: bool
    ready: str
    """The status of its condition Ready; "" where it has none."""
    ready_since: datetime | None
    started: datetime | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric of one workload in one cluster."""

    samples: Mapping[str, Sample] = field(default_factory=lambda: MappingProxyType({}))
    """By pod."""
    requests: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Of the resource, by pod."""
    value: int | None = None
    """Of a metric that is not counted by pod."""
    at: datetime | None = None
    unread: str = ""
    """Why this cluster gave nothing: its pods count as pods whose use is not known."""
    invalid: str = ""
    """Why nothing can follow from this metric in any cluster: a container without a request."""


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """One workload in one cluster."""

    replicas: int = 0
    """As its spec says there."""
    observed: int = 0
    """As its status says."""
    pods: tuple[PodLoad, ...] = ()
    readings: tuple[Reading, ...] = ()
    """One for each metric of the autoscaler, in its order."""
    unread: str = ""
    """Why nothing is known of it."""
    scaled_by: str = ""
    """A HorizontalPodAutoscaler of that cluster which has the workload as target."""


@dataclass(frozen=True, slots=True)
class LoadQuestion:
    """What one cluster is asked about one workload."""

    target: ObjectKey
    metrics: tuple[Body, ...]
    """`spec.metrics` of the autoscaler."""


@dataclass(frozen=True, slots=True)
class Load:
    """One workload in all clusters that have it."""

    clusters: Mapping[ClusterName, ClusterLoad]
    taken: datetime
