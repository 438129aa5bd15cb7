"""WorkloadRebalancer: place these workloads anew, whatever they have now (Karmada: scheduling §7).

In a cluster a rebalancer acts when it is created. In a repository it stands in a file, so it acts when a decision is
taken that does not name it yet; the decision then names it, and a file that stays does not rebalance for ever. A
workload that is added to the file later is placed anew then, and one that does not exist yet is not, once it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gitfed.model.base import ObjectKey, group_of
from gitfed.model.decisions import Decision

if TYPE_CHECKING:
    from gitfed.model.declared.policy import WorkloadRebalancer


def wanted(rebalancers: Iterable[WorkloadRebalancer]) -> dict[ObjectKey, tuple[str, ...]]:
    """The names of the rebalancers that ask for each workload, sorted."""
    names_by_key: dict[ObjectKey, set[str]] = {}
    for rebalancer in rebalancers:
        for key in workloads(rebalancer):
            names_by_key.setdefault(key, set()).add(rebalancer.metadata.name)
    return {key: tuple(sorted(names)) for key, names in names_by_key.items()}


def workloads(rebalancer: WorkloadRebalancer) -> list[ObjectKey]:
    return [
        ObjectKey(group_of(item.api_version), item.kind, item.namespace, item.name)
        for item in rebalancer.spec.workloads
    ]


def triggered(decision: Decision | None, names: Iterable[str], now: datetime) -> Decision | None:
    """The decision with the moment of an explicit reschedule, if one of these rebalancers was not served yet."""
    if decision is None or set(names) <= set(decision.rescheduling.rebalancers):
        return decision
    if decision.rescheduling.triggered is not None and decision.rescheduling.triggered >= now:
        return decision
    return replace(decision, rescheduling=replace(decision.rescheduling, triggered=now))
