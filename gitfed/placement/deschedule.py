"""Replicas that a cluster cannot run after all: they are taken back, so that the next build places them elsewhere.

Only Deployments that are divided by room are looked at: their replicas may go anywhere, and the sum that no longer
adds up makes the scheduler scale up again (Karmada: scheduling §7). Who calls this, and how often, is the daemon's
business; what is stuck is counted from observed pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Decisions, Share
from gitfed.model.declared.policy import Placement
from gitfed.placement import strategy

_NOT_KNOWN = -1


class Stuck(NamedTuple):
    """One workload in one cluster, as observed."""

    ready: int
    """-1: its status does not say."""
    unschedulable: int
    """Pods that the cluster's scheduler has found no node for, for longer than the threshold."""


class Trim(NamedTuple):
    """So many replicas were taken back."""

    key: ObjectKey
    cluster: ClusterName
    replicas: int


def deschedule(
    decisions: Decisions, observed: Mapping[ObjectKey, Mapping[ClusterName, Stuck]]
) -> tuple[Decisions, tuple[Trim, ...]]:
    """The decisions without what is stuck, and what was taken back, sorted. The same decisions when nothing was."""
    bindings, trims = dict(decisions.bindings), []
    for key in sorted(observed.keys() & decisions.bindings.keys()):
        decision = bindings[key]
        if not _may_move(decision):
            continue
        shares = tuple(_trimmed_share(share, observed[key].get(share.cluster)) for share in decision.shares)
        if shares != decision.shares:
            bindings[key] = replace(decision, shares=shares)
            for before, after in zip(decision.shares, shares, strict=True):
                if before != after:
                    trims.append(Trim(key, before.cluster, (before.replicas or 0) - (after.replicas or 0)))
    return (replace(decisions, bindings=bindings), tuple(trims)) if trims else (decisions, ())


def trimmed(assigned: int, stuck: Stuck) -> int:
    """What stays assigned. What is ready is never taken back; a count above what is assigned is not believed."""
    if not 0 < stuck.unschedulable <= assigned:
        return assigned
    left = assigned - stuck.unschedulable
    return stuck.ready if left < stuck.ready <= assigned else left


def unschedulable(pods: Iterable[Body], replica_set: str, now: datetime, threshold: timedelta) -> int:
    """Pods of that ReplicaSet (the newest of its Deployment, by name) that wait for a node for too long."""
    return sum(1 for pod in pods if _belongs(pod, replica_set) and _waits_since(pod, now - threshold))


def sentence(trims: Iterable[Trim]) -> str:
    """What is said about one workload's trims."""
    found = list(trims)
    where = ", ".join(f"{trim.replicas} replica(s) in cluster({trim.cluster})" for trim in found)
    total = sum(trim.replicas for trim in found)
    return f"Binding has been descheduled, {where}, {total} total descheduled replica(s)"


def _may_move(decision: Decision) -> bool:
    if decision.api_version != "apps/v1" or decision.key.kind != "Deployment" or decision.placement is None:
        return False
    try:
        return strategy.by_room(Placement.model_validate(decision.placement))
    except ValueError:  # pydantic's ValidationError is one: who knows what such a placement meant
        return False


def _trimmed_share(share: Share, stuck: Stuck | None) -> Share:
    if stuck is None or share.replicas is None or stuck.ready >= share.replicas:
        return share
    left = trimmed(share.replicas, stuck)
    return share if left == share.replicas else Share(share.cluster, left)


def _belongs(pod: Body, replica_set: str) -> bool:
    metadata = pod.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return False
    owners = metadata.get("ownerReferences") or ()
    return any(owner.get("kind") == "ReplicaSet" and owner.get("name") == replica_set for owner in owners)


def _waits_since(pod: Body, latest: datetime) -> bool:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if (
            condition.get("type") == "PodScheduled"
            and condition.get("status") == "False"
            and condition.get("reason") == "Unschedulable"
        ):
            try:
                since = datetime.fromisoformat(str(condition.get("lastTransitionTime")).replace("Z", "+00:00"))
            except ValueError:
                return False
            return since < latest
    return False
