"""FederatedHPA: (what is declared, what was observed, what is recorded, now) → what is recorded next.

One look at one workload, as Kubernetes' autoscaler takes it every 15 seconds (Karmada: other capabilities, §6). The
number goes on the state branch when it changes. What else is told of an autoscaler, its conditions above all, is
written down when it changes and at most every `QUIET`: a metric that comes and goes must not fill the branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gitfed.autoscaling import proposal, stabilization
from gitfed.autoscaling.stabilization import Bounds, Past, Proposed
from gitfed.model.declared.federated_hpa import FederatedHPA, Metric
from gitfed.model.load import Load
from gitfed.model.scaling import (
    AutoscalerCondition,
    AutoscalerRecord,
    ConditionReason,
    ConditionType,
    HorizontalStatus,
    MetricStatus,
    ReplicaChange,
    Scale,
)
from gitfed.text import quantity
from gitfed.text.values import dataclass

QUIET = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ScalingObservation:
    """What one look at a workload found."""

    desired: int
    status: HorizontalStatus
    proposed: tuple[Proposed, ...]
    """To be remembered until the next look."""
    why: str = ""


def bounds(declared: FederatedHPA, decided: Scale | None) -> Bounds:
    """`decided`: by a CronFederatedHPA that has this one as target. Where they contradict the upper bound counts."""
    least, most = declared.spec.min_replicas, declared.spec.max_replicas
    if decided is not None:
        least = least if decided.min_replicas is None else decided.min_replicas
        most = most if decided.max_replicas is None else decided.max_replicas
    return Bounds(min(least, most), most)


def look(
    declared: FederatedHPA,
    limits: Bounds,
    present: int,
    load: Load,
    past: AutoscalerRecord | None,
    proposed: Sequence[Proposed],
) -> ScalingObservation:
    """`present`: the number in force. `proposed`: what the looks before this one found."""
    now = load.taken.replace(microsecond=0)  # as it will be read back
    status = past.status if past is not None and past.target == declared.target else None
    proposals = tuple(proposed) or ((now, present),)
    read = [cluster for cluster in load.clusters.values() if not cluster.unread]
    wanted = sum(cluster.replicas for cluster in read)

    def stays(condition: AutoscalerCondition) -> ScalingObservation:
        metrics = tuple(_status(metric, None) for metric in declared.metrics)
        last = status.last_scale if status is not None else None
        changes = status.changes if status is not None else ()
        return ScalingObservation(
            present, HorizontalStatus(present, present, now, last, metrics, (condition,), changes), proposals
        )

    rival = next(((name, cluster.scaled_by) for name, cluster in load.clusters.items() if cluster.scaled_by), None)
    if rival is not None:
        message = f"{declared.target} is scaled by HorizontalPodAutoscaler {rival[1]} in {rival[0]} too"
        return stays(
            AutoscalerCondition(ConditionType.ABLE_TO_SCALE, False, ConditionReason.SCALED_IN_CLUSTER, message)
        )
    if not present:
        message = "the number of replicas is 0: nothing is scaled until it is more"
        return stays(AutoscalerCondition(ConditionType.ACTIVE, False, ConditionReason.SCALING_DISABLED, message))
    if not wanted:
        unread = next((f"{name}: {cluster.unread}" for name, cluster in load.clusters.items() if cluster.unread), "")
        message = "no cluster has replicas of it" + (f"; {unread}" if unread else "")
        return stays(AutoscalerCondition(ConditionType.ABLE_TO_SCALE, False, ConditionReason.FAILED_GET_SCALE, message))
    if not limits.least <= present <= limits.most:
        desired, low = (limits.least, True) if present < limits.least else (limits.most, False)
        why = f"{'minReplicas' if low else 'maxReplicas'} is {desired}"
        conditions: tuple[AutoscalerCondition, ...] = (
            AutoscalerCondition(ConditionType.ABLE_TO_SCALE, True, ConditionReason.SUCCEEDED_RESCALE),
        )
        metrics = tuple(_status(metric, None) for metric in declared.metrics)
        shown = HorizontalStatus(present, desired, now, metrics=metrics, conditions=conditions)
        return _looked(declared, shown, status, proposals, why)
    observed = sum(cluster.observed for cluster in read)
    having = proposal.Present(present, wanted, observed)
    results = [proposal.propose(metric, i, read, having, now) for i, metric in enumerate(declared.metrics)]
    metrics = tuple(_status(metric, result) for metric, result in zip(declared.metrics, results, strict=True))
    valid = [(result.replicas, i) for i, result in enumerate(results) if isinstance(result, proposal.Proposal)]
    failed = [(i, result.why) for i, result in enumerate(results) if isinstance(result, proposal.NoProposal)]
    best, of = max(valid, key=lambda candidate: (candidate[0], -candidate[1]), default=(present, 0))
    if failed and (not valid or best < present):
        # Some metrics may ask for more, but none for less while another is not known.
        index, why = failed[0]
        message = f"{declared.metrics[index]}: {why}"
        found_ = stays(AutoscalerCondition(ConditionType.ACTIVE, False, ConditionReason.FAILED_GET_METRICS, message))
        return replace(found_, status=replace(found_.status, metrics=metrics))
    changes = status.changes if status is not None else ()
    behavior = declared.spec.behavior
    granted = stabilization.allowed(best, present, limits, behavior, Past(proposals, changes), now)
    active = AutoscalerCondition(
        ConditionType.ACTIVE, True, ConditionReason.VALID_METRIC_FOUND, str(declared.metrics[of])
    )
    why = f"{metrics[of].name} is {metrics[of].current}, {metrics[of].target} is wanted"
    remembered = stabilization.remembered(best, behavior, proposals, now)
    conditions = (granted.conditions[0], active, *granted.conditions[1:])
    shown = HorizontalStatus(present, granted.replicas, now, metrics=metrics, conditions=conditions)
    return _looked(declared, shown, status, remembered, why)


def record(
    declared: FederatedHPA, past: AutoscalerRecord | None, look: ScalingObservation, now: datetime
) -> AutoscalerRecord:
    """What is recorded next; `past` itself when nothing of it is worth writing down."""
    version = declared.spec.scale_target_ref.api_version
    if past is None or past.target != declared.target:
        past, fresh = AutoscalerRecord(declared.key, declared.target, version), True
    else:
        fresh = past.status is None
    status, now = look.status, now.replace(microsecond=0)
    if status.desired != status.current:
        decided = Scale(status.desired, at=now, why=look.why)
        return replace(past, target_version=version, decided=decided, status=status)
    if fresh or past.status is None or (_told(past.status) != _told(status) and past.status.at <= now - QUIET):
        return replace(past, target_version=version, status=status)
    return past


def _told(status: HorizontalStatus) -> list[tuple[ConditionType, bool, ConditionReason]]:
    return [(condition.type, condition.holds, condition.reason) for condition in status.conditions]


def _looked(
    declared: FederatedHPA,
    status: HorizontalStatus,
    past: HorizontalStatus | None,
    proposed: tuple[Proposed, ...],
    why: str,
) -> ScalingObservation:
    """`status` with what goes on from `past`: when it scaled last, and the changes that still count."""
    changes: tuple[ReplicaChange, ...] = past.changes if past is not None else ()
    last = past.last_scale if past is not None else None
    if status.desired != status.current:
        changes = stabilization.changed(status.current, status.desired, declared.spec.behavior, changes, status.at)
        last = status.at
    return ScalingObservation(status.desired, replace(status, last_scale=last, changes=changes), proposed, why)


def _status(metric: Metric, result: proposal.Proposal | proposal.NoProposal | None) -> MetricStatus:
    current = ""
    if isinstance(result, proposal.Proposal):
        if result.utilization is not None:
            current = f"{result.utilization}%"
        else:
            amount = result.value if result.value is not None else result.average or 0
            current = quantity.text(quantity.Quantity(amount * 10**6))
    return MetricStatus(str(metric), metric.type, current, metric.wanted)
