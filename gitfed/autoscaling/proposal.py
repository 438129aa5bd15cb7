"""How many replicas one metric asks for: (a metric, what was observed, the present number) → a number, or why none.

Kubernetes' replica calculator over the pods of all clusters together (Karmada: other capabilities, §6). Pods are
counted as the clusters have them, the number is that of the template: `calibration` is how many pods the clusters want
for each replica of the template, which is more than one where a workload is duplicated.

Beyond the reference: a pod is known by its cluster and its name, for the pods of a StatefulSet are called the same
everywhere; a sample that is negative, or older than `STALE`, is none; and what is averaged over the pods of a
duplicated workload is divided by the calibration once, not twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from gitfed.model.declared.federated_hpa import Metric
from gitfed.model.load import ClusterLoad, PodLoad, Reading, Sample
from gitfed.text import quantity
from gitfed.text.values import dataclass

TOLERANCE = 0.1
"""A ratio of what is used to what is wanted that is so near to 1 changes nothing."""
CPU_INITIALIZATION = timedelta(minutes=5)
"""A pod that started less long ago may still be warming up."""
INITIAL_READINESS_DELAY = timedelta(seconds=30)
STALE = timedelta(minutes=5)
"""A value that is older says nothing about now."""
MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """`average`, `value`: thousandths; `utilization`: per cent of what is requested."""

    replicas: int
    average: int | None = None
    value: int | None = None
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class NoProposal:
    why: str


@dataclass(frozen=True, slots=True)
class Present:
    """The number that is in force: of the template, and what the clusters make of it."""

    replicas: int
    wanted: int
    """By the specs in all clusters that were read."""
    observed: int

    @property
    def calibration(self) -> float:
        return self.wanted / self.replicas if self.replicas else 1.0


@dataclass(slots=True)
class _Pods:
    """Whose use is known, whose is missing, and who is not ready, as sums."""

    ready: int = 0
    used: int = 0
    requested: int = 0
    missing: list[int] = field(default_factory=list)
    """Of each, what it requests."""
    unready: int = 0
    unready_requested: int = 0


def propose(
    metric: Metric, index: int, loads: Sequence[ClusterLoad], present: Present, now: datetime
) -> Proposal | NoProposal:
    """`loads`: of the clusters that were read; `index`: of the metric among its autoscaler's."""
    target = metric.target
    if target is None:
        return NoProposal(f"a metric of type {metric.type} without its source")
    readings = [load.readings[index] if index < len(load.readings) else Reading(unread="not read") for load in loads]
    for reading in readings:
        if reading.invalid:
            return NoProposal(reading.invalid)
    if metric.type in ("Object", "External"):
        return _of_value(metric, readings, loads, present, now)
    resource = metric.resource or metric.container_resource
    name = resource.name if resource is not None else ""
    if not any(load.pods for load in loads):
        return NoProposal("no pods were found")
    pods = _sorted(zip(loads, readings, strict=True), name == "cpu", now)
    if not pods.ready:
        return NoProposal(_none_received(readings))
    if target.average_value is not None:
        return _by_average(pods, _milli(target.average_value), present)
    if target.average_utilization is not None and name:
        return _by_utilization(pods, target.average_utilization, present)
    return NoProposal("its target says no average")


def _sorted(clusters: Iterable[tuple[ClusterLoad, Reading]], by_cpu: bool, now: datetime) -> _Pods:
    pods = _Pods()
    old = now - STALE
    for load, reading in clusters:
        samples, requests = reading.samples, reading.requests
        for pod in load.pods:
            if pod.leaving or pod.phase == "Failed":
                continue
            request = requests.get(pod.name, 0)
            sample = samples.get(pod.name)
            if pod.phase == "Pending":
                pods.unready += 1
                pods.unready_requested += request
            elif sample is None or sample.value < 0 or sample.at < old:
                pods.missing.append(request)
            elif by_cpu and _unready(pod, sample, now):
                pods.unready += 1
                pods.unready_requested += request
            else:
                pods.ready += 1
                pods.used += sample.value
                pods.requested += request
    return pods


def _unready(pod: PodLoad, sample: Sample, now: datetime) -> bool:
    """Whether what it uses says nothing yet: a pod that starts uses more, or less, than it will."""
    if not pod.ready or pod.started is None:
        return True
    since = pod.ready_since or pod.started
    if pod.started + CPU_INITIALIZATION > now:
        return pod.ready == "False" or sample.at < since + timedelta(seconds=sample.window)
    return pod.ready == "False" and pod.started + INITIAL_READINESS_DELAY > since


def _by_utilization(pods: _Pods, target: int, present: Present) -> Proposal | NoProposal:
    if not pods.requested:
        return NoProposal("its pods request none of it")
    utilization = pods.used * 100 // pods.requested
    ratio, average = utilization / target, pods.used // pods.ready
    up_with_unready = pods.unready > 0 and ratio > 1.0
    if not up_with_unready and not pods.missing:
        return Proposal(_simple(ratio, pods.ready, present), average, utilization=utilization)
    used, requested, counted = pods.used, pods.requested, pods.ready
    if pods.missing and ratio != 1.0:
        # Who is not known to use anything must not change the direction: all of it counts against going down, none of
        # it for going up.
        if ratio < 1.0:
            used += sum(request * max(100, target) // 100 for request in pods.missing)
        requested += sum(pods.missing)
        counted += len(pods.missing)
    if up_with_unready:
        requested += pods.unready_requested
        counted += pods.unready
    return Proposal(
        _careful(ratio, used * 100 // requested / target, counted, present), average, utilization=utilization
    )


def _by_average(pods: _Pods, target: int, present: Present) -> Proposal:
    average = pods.used // pods.ready
    ratio = average / target
    up_with_unready = pods.unready > 0 and ratio > 1.0
    if not up_with_unready and not pods.missing:
        return Proposal(_simple(ratio, pods.ready, present), average)
    used, counted = pods.used, pods.ready
    if pods.missing and ratio != 1.0:
        used += target * len(pods.missing) if ratio < 1.0 else 0
        counted += len(pods.missing)
    if up_with_unready:
        counted += pods.unready
    return Proposal(_careful(ratio, used // counted / target, counted, present), average)


def _simple(ratio: float, ready: int, present: Present) -> int:
    if abs(1.0 - ratio) <= TOLERANCE:
        return present.replicas
    return _whole(ratio * ready / present.calibration)


def _careful(first: float, second: float, counted: int, present: Present) -> int:
    """The number by the second ratio, in which those count whose use is not known; never against the first."""
    turned = (first < 1.0 < second) or (second < 1.0 < first)
    if abs(1.0 - second) <= TOLERANCE or turned:
        return present.replicas
    replicas = _whole(second * counted / present.calibration)
    against = replicas > present.replicas if second < 1.0 else replicas < present.replicas
    return present.replicas if against else replicas


def _of_value(
    metric: Metric, readings: Sequence[Reading], loads: Sequence[ClusterLoad], present: Present, now: datetime
) -> Proposal | NoProposal:
    """A metric that is not counted by pod: what clusters tell of it is added."""
    target = metric.target
    assert target is not None
    values = [
        reading.value
        for reading in readings
        if reading.value is not None and (reading.at is None or reading.at >= now - STALE)
    ]
    if not values:
        return NoProposal(_none_received(readings))
    if min(values) < 0:
        return NoProposal(f"a cluster tells a negative value, {quantity.text(_quantity(min(values)))}")
    usage = sum(values)
    if target.value is not None:
        return _by_value(usage, _milli(target.value), loads, present)
    if target.average_value is None:
        return NoProposal("its target says neither a value nor an average")
    average = _milli(target.average_value)
    observed = present.observed
    replicas = present.replicas
    if not observed or abs(1.0 - usage / (average * observed)) > TOLERANCE:
        replicas = _whole(usage / average / present.calibration)
    return Proposal(replicas, average=math.ceil(usage / observed) if observed else usage)


def _by_value(usage: int, wanted: int, loads: Sequence[ClusterLoad], present: Present) -> Proposal | NoProposal:
    ratio = usage / wanted
    if not present.replicas:
        return Proposal(_whole(ratio), value=usage)
    if abs(1.0 - ratio) <= TOLERANCE:
        return Proposal(present.replicas, value=usage)
    pods = [pod for load in loads for pod in load.pods]
    if not pods:
        return NoProposal("no pods were found")
    ready = sum(1 for pod in pods if pod.phase == "Running" and pod.ready == "True")
    return Proposal(_whole(ratio * ready / present.calibration), value=usage)


def _whole(replicas: float) -> int:
    return min(MOST, math.ceil(replicas))


def _milli(text: str) -> int:
    """Rounded up, as Kubernetes does; a finding says so where it is no amount above 0."""
    return max(1, quantity.parse(text).milli)


def _quantity(milli: int) -> quantity.Quantity:
    return quantity.Quantity(milli * 10**6)


def _none_received(readings: Sequence[Reading]) -> str:
    unread = next(iter(_unread(readings)), "")
    return "no values were received of any ready pod or object" + (f": {unread}" if unread else "")


def _unread(readings: Iterable[Reading]) -> Iterator[str]:
    return (reading.unread for reading in readings if reading.unread)
