"""What a plan decided, in sentences: the body of a commit on the state branch, and the timeline of a rehearsal.

Both are made here, so that what `gitfed simulate` foretells reads like what the daemon will record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, Share
from gitfed.model.plan import Plan
from gitfed.placement import damper

_MOST = 200
"""Sentences in one commit."""


def lines(plan: Plan, decisions: Decisions, recorded: Collection[ObjectKey]) -> Iterator[str]:
    """Every decision of `plan` that is not in `decisions`, clusters first. `recorded`: what is remembered now."""
    yield from plan.said
    yield from plan.scaling.said
    for key, binding in plan.bindings.items():
        if binding.decision is None or binding.decision is (previous := decisions.bindings.get(key)):
            continue
        if previous is not None:
            yield from _evictions(key, binding.decision, previous)
        if previous is None or _placed(binding.decision) != _placed(previous):
            policy = f" by {binding.scheduled.policy}" if binding.scheduled.policy else ""
            yield f"{key} → {_listed(binding.scheduled.shares) or 'nowhere'} ({binding.reasons.why}{policy})"
        if damper.has_stopped(previous, binding.decision):
            yield f"{key} stops: {damper.STOPPED}"
        descheduled = binding.decision.rescheduling.descheduled
        if descheduled is not None and (previous is None or previous.rescheduling.descheduled != descheduled):
            yield f"{key}: {descheduled.message}"
    for key in sorted(key for key in decisions.bindings if key not in recorded):
        yield f"{key} is gone"


def about(key: ObjectKey, sentences: Iterable[str]) -> list[str]:
    """Those of these sentences that are about an object, without its name."""
    name = str(key)
    return [
        sentence.removeprefix(name).removeprefix(":").strip().removeprefix("→ ")
        for sentence in sentences
        if sentence.startswith((f"{name} ", f"{name}: "))
    ]


def body(plan: Plan, decisions: Decisions, recorded: Collection[ObjectKey]) -> tuple[str, ...]:
    """The reasons that a state commit names: what was decided and why."""
    written = list(lines(plan, decisions, recorded))
    if len(written) > _MOST:
        written = [*written[:_MOST], f"… and {len(written) - _MOST} more"]
    return tuple(written)


def facts(plan: Plan) -> str:
    """Where the facts come from that it was decided from, and their commit if they have one."""
    return f"{plan.facts.source} {plan.facts.commit}".rstrip()


def _placed(decision: Decision) -> object:
    return (
        decision.scheduled.shares,
        decision.scheduled.policy,
        decision.placement,
        decision.scheduled.replicas,
        decision.scheduled.condition,
        decision.last_scheduled,
    )


@lru_cache(maxsize=4096)
def _listed(shares: tuple[Share, ...]) -> str:
    """Where a cluster fails, thousands of workloads move to the same hundred others."""
    return " ".join(
        share.cluster if share.replicas is None else f"{share.cluster}:{share.replicas}" for share in shares
    )


def _evictions(key: ObjectKey, decision: Decision, previous: Decision) -> Iterator[str]:
    """What began or ended for a workload that leaves a cluster."""
    before = previous.failover.clusters_left
    after = decision.failover.clusters_left
    for task in decision.failover.evictions:
        if task.from_cluster not in before:
            yield (
                f"{key} leaves {task.from_cluster} "
                f"({task.purge_mode}, {task.raw.get('reason')}: {task.raw.get('message')})"
            )
    for task in previous.failover.evictions:
        if task.from_cluster not in after:
            yield f"{key} has left {task.from_cluster}: its copy there may go"
    for name in decision.failover.cleared:
        if name not in previous.failover.cleared:
            yield f"{key} waits no longer for the deletion in {name}: its new copy may start"
    for name in previous.failover.released:
        if name not in decision.failover.released:
            yield f"{key} is gone from {name}"
    states = dict(previous.failover.preserved)
    for name, labels in decision.failover.preserved:
        if states.get(name) != labels:
            yield f"{key} in {name}: state {', '.join(f'{label}={value}' for label, value in labels)}"
    ill = dict(previous.failover.unhealthy)
    for name, _ in decision.failover.unhealthy:
        if name not in ill:
            yield f"{key} is unhealthy in {name}"
