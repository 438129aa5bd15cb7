"""Replicas that a cluster cannot run after all: they are taken back, so that the next build places them elsewhere.

Only Deployments that are divided by room are looked at: their replicas may go anywhere, and the sum that no longer
adds up makes the scheduler scale up again, with the trimmed cluster among the candidates (Karmada: scheduling §7).
Nothing but decisions changes here; where the replicas go is decided by the same build as everything else. Who calls
this, and how often, is the daemon's business; what is stuck is counted from observed pods (`model.capacity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Decisions, Descheduled, Share
from gitfed.model.declared.policy import Placement
from gitfed.model.fleet import Stuck
from gitfed.placement.scheduling import strategy


class Trim(NamedTuple):
    """So many replicas were taken back."""

    key: ObjectKey
    cluster: ClusterName
    replicas: int


def deschedule(
    decisions: Decisions, observed: Mapping[ObjectKey, Mapping[ClusterName, Stuck]], now: datetime
) -> tuple[Decisions, tuple[Trim, ...]]:
    """The decisions without what is stuck, and what was taken back, sorted. The same decisions when nothing was.

    A trimmed decision remembers the one before it (`undone`): if the scheduler has no better answer, that one stands.
    """
    bindings, trims = dict(decisions.bindings), []
    for key in sorted(observed.keys() & decisions.bindings.keys()):
        decision = bindings[key]
        if not _may_move(decision):
            continue
        shares = tuple(_trimmed_share(share, observed[key].get(share.cluster)) for share in decision.scheduled.shares)
        if shares != decision.scheduled.shares:
            here = [
                Trim(key, before.cluster, (before.replicas or 0) - (after.replicas or 0))
                for before, after in zip(decision.scheduled.shares, shares, strict=True)
                if before != after
            ]
            bindings[key] = replace(
                decision,
                scheduled=replace(decision.scheduled, shares=shares),
                rescheduling=replace(
                    decision.rescheduling, descheduled=Descheduled(now, sentence(here)), undone=decision
                ),
            )
            trims += here
    return (replace(decisions, bindings=bindings), tuple(trims)) if trims else (decisions, ())


def trimmed(assigned: int, stuck: Stuck) -> int:
    """What stays assigned. What is ready is never taken back; a count above what is assigned is not believed."""
    if not 0 < stuck.unschedulable <= assigned:
        return assigned
    left = assigned - stuck.unschedulable
    return stuck.ready if left < stuck.ready <= assigned else left


def sentence(trims: Iterable[Trim]) -> str:
    """What is said about one workload's trims."""
    listed = list(trims)
    where = ", ".join(f"{trim.replicas} replica(s) in cluster({trim.cluster})" for trim in listed)
    total = sum(trim.replicas for trim in listed)
    return f"Binding has been descheduled, {where}, {total} total descheduled replica(s)"


def sentences(trims: Iterable[Trim]) -> dict[ObjectKey, str]:
    """The same for each workload."""
    return {key: sentence(group) for key, group in groupby(trims, key=lambda trim: trim.key)}


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
