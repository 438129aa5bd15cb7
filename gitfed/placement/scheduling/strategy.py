"""Which kind of division a placement asks for."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement


class Strategy(Enum):
    DUPLICATED = "Duplicated"
    STATIC = "static weights"
    DYNAMIC = "dynamic weights"
    AGGREGATED = "Aggregated"


@dataclass(frozen=True, slots=True)
class Form:
    """What a placement amounts to, read once: it is asked of each of thousands of workloads."""

    strategy: Strategy
    spreads: bool
    by_room: bool
    places_sets: bool

    @classmethod
    def of(cls, placement: Placement) -> Form:
        return cls(of(placement), spreads(placement), by_room(placement), places_sets(placement))


def of(placement: Placement) -> Strategy:
    """No `replicaScheduling` at all means Duplicated; an empty division preference Weighted (admission fills it in)."""
    scheduling = placement.replica_scheduling
    if scheduling is None or scheduling.replica_scheduling_type == "Duplicated":
        return Strategy.DUPLICATED
    if scheduling.replica_division_preference == "Aggregated":
        return Strategy.AGGREGATED
    preference = scheduling.weight_preference
    return Strategy.DYNAMIC if preference is not None and preference.dynamic_weight else Strategy.STATIC


def spreads(placement: Placement) -> bool:
    """Whether spread constraints choose among the fitting clusters (Karmada: scheduling §3).

    Constraints by zone or provider only filter, those by label do nothing. Static weights switch constraints off,
    unless the preference is there and empty.
    """
    if not any(item.spread_by_field in ("cluster", "region") for item in placement.spread_constraints):
        return False
    if of(placement) is not Strategy.STATIC or placement.replica_scheduling is None:
        return True
    preference = placement.replica_scheduling.weight_preference
    return preference is not None and not preference.static_weight_list


def by_room(placement: Placement) -> bool:
    """Whether replicas are divided by the room that clusters have."""
    return of(placement) in (Strategy.DYNAMIC, Strategy.AGGREGATED)


def places_sets(placement: Placement) -> bool:
    """Whether the components of a workload must all find room in one cluster (Karmada: scheduling §5.4)."""
    return any(
        item.spread_by_field == "cluster" and item.min_groups == item.max_groups == 1
        for item in placement.spread_constraints
    )
