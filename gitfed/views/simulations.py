"""What a simulated failover showed: `gitfed.io/simulation/v1`, `gitfed.io/n-minus-one/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from gitfed.model.plan import Binding
from gitfed.simulation import capacity_loss, simulation
from gitfed.views.value import GroupedRef, View, grouped

SCHEMA: Literal["gitfed.io/simulation/v1"] = "gitfed.io/simulation/v1"
EACH_SCHEMA: Literal["gitfed.io/n-minus-one/v1"] = "gitfed.io/n-minus-one/v1"
Each: TypeAlias = Sequence[tuple[str, Sequence[capacity_loss.Loss]]]
"""What every cluster and every region would cost alone."""


class MomentView(View):
    """Something that happened."""

    after: float
    """Seconds."""
    kind: str
    """event, decision or change."""
    text: str


class ShareView(View):
    """A cluster, and its part of the work."""

    name: str
    replicas: int | None


class MoveView(GroupedRef):
    """Where an object was before, and is after."""

    before: list[ShareView]
    after: list[ShareView]
    evicting: list[Any]
    """As in Karmada's `gracefulEvictionTasks`."""


class PendingView(GroupedRef):
    """What waits at the end, and for what."""

    reason: str


class RecoveryView(GroupedRef):
    """An object that will be deleted when its cluster is back."""

    cluster: str


class LossView(GroupedRef):
    """A workload that is short of replicas."""

    running: int | None
    wanted: int | None
    reason: str


class SimulationView(View):
    """A failover simulated on a virtual clock."""

    schema: Literal["gitfed.io/simulation/v1"]
    commit: str
    until: float
    timeline: list[MomentView]
    placement: list[MoveView]
    pending: list[PendingView]
    deletedOnRecovery: list[RecoveryView]
    losses: list[LossView]
    fallsDue: float | None
    """Seconds until more would happen, had the clock not stopped."""
    loadNotPlayed: list[GroupedRef]
    """FederatedHPAs whose numbers stay as they were decided: a simulation has no load."""


class TargetLosses(View):
    """What one failure would cost."""

    target: str
    """`cluster/NAME` or `region/NAME`."""
    losses: list[LossView]


class EachView(View):
    """What every cluster and every region would cost alone."""

    schema: Literal["gitfed.io/n-minus-one/v1"]
    commit: str
    targets: list[TargetLosses]


def document(story: simulation.SimulationResult, commit: str, until: float) -> SimulationView:
    return {
        "schema": SCHEMA,
        "commit": commit,
        "until": until,
        "timeline": [{"after": moment.after, "kind": moment.kind, "text": moment.text} for moment in story.timeline],
        "placement": [
            {
                **grouped(key),
                "before": _shares(story.before[key]) if key in story.before else [],
                "after": _shares(binding),
                "evicting": [task.raw for task in binding.evictions],
            }
            for key, binding in story.plan.bindings.items()
        ],
        "pending": [{**grouped(key), "reason": text} for key, text in story.pending],
        "deletedOnRecovery": [{"cluster": cluster, **grouped(key)} for cluster, key in story.on_recovery],
        "losses": [_loss(loss) for loss in story.losses],
        "fallsDue": story.falls_due,
        "loadNotPlayed": [grouped(key) for key in story.load_not_played],
    }


def each_document(each: Each, commit: str) -> EachView:
    return {
        "schema": EACH_SCHEMA,
        "commit": commit,
        "targets": [{"target": target, "losses": [_loss(loss) for loss in lost]} for target, lost in each],
    }


def _loss(loss: capacity_loss.Loss) -> LossView:
    return {**grouped(loss.key), "running": loss.running, "wanted": loss.wanted, "reason": loss.why}


def _shares(binding: Binding) -> list[ShareView]:
    return [{"name": share.cluster, "replicas": share.replicas} for share in binding.scheduled.shares]
