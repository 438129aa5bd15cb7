"""Dividing replicas by the room that clusters have (Karmada: scheduling §4.3, §4.4).

What runs stays where it is as far as possible: more replicas go where there is room, fewer are taken in proportion to
what is there. An explicit reschedule forgets the present distribution. *Aggregated* uses as few clusters as it can.
With overflow affinities the tiers are filled one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from gitfed.placement.scheduling import divide
from gitfed.placement.scheduling.scored_cluster import Option, Unplaceable

SHORT = "Clusters available replicas are not enough to schedule."


class Division(NamedTuple):
    """An amount that is divided by weights, and what clusters have before that."""

    amount: int
    weights: Mapping[str, int]
    base: Mapping[str, int]


def by_tier(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool, uid: str) -> dict[str, int]:
    """Each tier gets what it can hold, in order. Raises Unplaceable when something is left over."""
    return given(tiers(options, replicas, aggregated=aggregated, fresh=fresh), uid)


def tiers(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool) -> list[Division]:
    """What `by_tier` divides by what, tier by tier. Raises Unplaceable when something is left over."""
    divided = []
    remaining = replicas
    for _, members in groupby(sorted(options, key=lambda option: option.tier), key=lambda option: option.tier):
        tier = list(members)
        share = min(remaining, sum(option.available for option in tier))
        if share == 0:
            continue
        divided.append(division(tier, share, aggregated=aggregated, fresh=fresh))
        remaining -= share
    if remaining:
        raise Unplaceable("Unschedulable", SHORT)
    return divided


def by_room(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool, uid: str) -> dict[str, int]:
    """Replicas of every cluster that gets some. Raises Unplaceable when there is too little room.

    Among equals the order of `options` decides, or the name where replicas are taken away.
    """
    return given([division(options, replicas, aggregated=aggregated, fresh=fresh)], uid)


def given(divisions: Sequence[Division], uid: str) -> dict[str, int]:
    """What comes of dividing, by cluster."""
    result: dict[str, int] = {}
    for division in divisions:
        result.update(division.base)
        for name, seats in divide.by_weight(division.amount, division.weights, uid).items():
            if seats:
                result[name] = seats + division.base.get(name, 0)
    return result


def division(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool) -> Division:
    """What `by_room` divides by what. Raises Unplaceable when there is too little room."""
    present = {option.candidate.name: option.assigned for option in options if option.assigned > 0}
    placed = sum(present.values())
    base: dict[str, int] = {}
    if fresh:
        weights = {option.name: option.available for option in options}
        amount, step = replicas, "failed to do fresh scale"
    elif placed > replicas:
        weights = {option.name: option.assigned for option in sorted(options, key=lambda option: option.name)}
        amount, step = replicas, "failed to scale down"
    elif placed < replicas:
        weights, base = {option.candidate.name: option.free for option in options}, present
        amount, step = replicas - placed, "failed to scale up"
    else:
        return Division(0, {}, present)
    names, rooms = list(weights), list(weights.values())
    _suffices(sum(rooms), amount, step)
    if aggregated:
        names, rooms = _fewest(names, rooms, amount, base)
    return Division(amount, dict(zip(names, rooms, strict=True)), base)


def at_first(names: Sequence[str], free: Sequence[int], replicas: int, *, aggregated: bool, uid: str) -> dict[str, int]:
    """`by_room` for a workload that runs nowhere yet: the clusters by name, and the room of each."""
    _suffices(sum(free), replicas, "failed to scale up")
    if not aggregated:
        return divide.given(replicas, names, free, uid)
    most = max(free, default=0)
    if most >= replicas:
        return {names[free.index(most)]: replicas} if replicas > 0 else {}
    names, free = _fewest(names, free, replicas, {})
    return {
        name: seats
        for name, seats in divide.by_weight(replicas, dict(zip(names, free, strict=True)), uid).items()
        if seats
    }


def _suffices(room: int, amount: int, step: str) -> None:
    if room < amount:
        message = f"{step}: Clusters available replicas {room} are not enough to schedule."
        raise Unplaceable("Unschedulable", message)


def _fewest(
    names: Sequence[str], rooms: Sequence[int], amount: int, base: Mapping[str, int]
) -> tuple[list[str], list[int]]:
    """The first clusters that can hold the amount together: those in `base`, then the roomiest; equals in order."""
    order = sorted(range(len(names)), key=rooms.__getitem__, reverse=True)  # keeps the order of equals
    if base:
        order.sort(key=lambda at: names[at] not in base)
    held = count = 0
    while count < len(order) and held < amount:
        held += rooms[order[count]]
        count += 1
    chosen = order[:count]
    return [names[at] for at in chosen], [rooms[at] for at in chosen]
