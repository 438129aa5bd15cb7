"""A cluster that passed the filters, with what is needed to choose among several."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from gitfed.model.base import ClusterName
from gitfed.placement.scheduling.cluster import Candidate


class Unplaceable(Exception):
    """No placement by this group. `reason` and text are those of the condition `Scheduled`. `capacity_unknown_in`: the
    clusters that it could not be decided without."""

    def __init__(self, reason: str, message: str, capacity_unknown_in: tuple[ClusterName, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.capacity_unknown_in = capacity_unknown_in


class Option(NamedTuple):
    candidate: Candidate
    tier: int = 0
    """0: matches the group's own affinity; n: its n-th overflow affinity."""
    score: int = 0
    """100 where the workload is now, else 0."""
    free: int = 0
    """Replicas that fit in addition."""
    assigned: int = 0
    """Replicas that are there by the last decision."""

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def available(self) -> int:
        return self.free + self.assigned


def in_order(options: Iterable[Option]) -> list[Option]:
    """The reference's order of clusters: tier, score, room, name (Karmada: scheduling §3)."""
    by_name = sorted(options, key=_name)
    if any(tier or score or assigned for _, tier, score, _, assigned in by_name):
        return sorted(by_name, key=_order)
    return sorted(by_name, key=_FREE, reverse=True)


_FREE = itemgetter(3)


def _name(option: Option) -> str:
    return option[0].name


def _order(option: Option) -> tuple[int, int, int]:
    """But for the name."""
    _, tier, score, free, assigned = option
    return tier, -score, -free - assigned
