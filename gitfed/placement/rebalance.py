"""WorkloadRebalancer: place these workloads anew, whatever they have now (Karmada: scheduling §7).

In a cluster a rebalancer acts when it is created. In a repository it stands in a file, and the moment that counts is
the first time it is seen: that moment is kept with the decisions, so a file that stays does not rebalance for ever. A
workload that is added to the file later counts from when it was added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gitfed.model.base import ObjectKey, group_of
from gitfed.model.decisions import Decisions

if TYPE_CHECKING:
    from gitfed.model.declared.policy import WorkloadRebalancer

SUCCESSFUL = "Successful"
FAILED = "Failed"
NOT_FOUND = "ReferencedBindingNotFound"

Seen = Mapping[str, Mapping[str, datetime]]
"""By rebalancer's name, by workload as `identity` writes it: when it was first seen."""


class Observed(NamedTuple):
    """What became of one workload: Karmada's `status.observedWorkloads[]`."""

    rebalancer: str
    workload: str
    """`apiVersion kind namespace name`"""
    result: str
    reason: str = ""


def rebalance(
    rebalancers: Iterable[WorkloadRebalancer], decisions: Decisions, seen: Seen, now: datetime
) -> tuple[Decisions, Seen, tuple[Observed, ...]]:
    """(decisions with the moment to place anew, what to remember, the outcome sorted by rebalancer and workload).

    The decisions are the same object, and so is `seen`, when nothing is new.
    """
    bindings, changed = dict(decisions.bindings), False
    remembered: dict[str, dict[str, datetime]] = {}
    outcome: list[Observed] = []
    for rebalancer in sorted(rebalancers, key=lambda item: item.metadata.name):
        name = rebalancer.metadata.name
        known = seen.get(name, {})
        for workload in rebalancer.spec.workloads:
            key = ObjectKey(group_of(workload.api_version), workload.kind, workload.namespace, workload.name)
            identity = f"{workload.api_version} {workload.kind} {workload.namespace} {workload.name}"
            when = remembered.setdefault(name, {})[identity] = known.get(identity, now)
            decision = bindings.get(key)
            if decision is None:
                outcome.append(Observed(name, identity, FAILED, NOT_FOUND))
                continue
            if decision.reschedule_triggered is None or when > decision.reschedule_triggered:
                bindings[key], changed = replace(decision, reschedule_triggered=when), True
            outcome.append(Observed(name, identity, SUCCESSFUL))
    outcome.sort()
    return (
        replace(decisions, bindings=bindings) if changed else decisions,
        seen if remembered == seen else remembered,
        tuple(outcome),
    )
