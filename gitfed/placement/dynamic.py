"""Dividing replicas by the room that clusters have (Karmada: scheduling §4.3, §4.4).

What runs stays where it is as far as possible: more replicas go where there is room, fewer are taken in proportion to
what is there. An explicit reschedule forgets the present distribution. *Aggregated* uses as few clusters as it can.
With overflow affinities the tiers are filled one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gitfed.placement import divide
from gitfed.placement.option import Option, Unplaceable

SHORT = "Clusters available replicas are not enough to schedule."


def by_tier(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool, uid: str) -> dict[str, int]:
    """Each tier gets what it can hold, in order. Raises Unplaceable when something is left over."""
    given: dict[str, int] = {}
    remaining = replicas
    for _, members in groupby(sorted(options, key=lambda option: option.tier), key=lambda option: option.tier):
        tier = list(members)
        share = min(remaining, sum(option.available for option in tier))
        if share == 0:
            continue
        given.update(by_room(tier, share, aggregated=aggregated, fresh=fresh, uid=uid))
        remaining -= share
    if remaining:
        raise Unplaceable("Unschedulable", SHORT)
    return given


def by_room(options: Sequence[Option], replicas: int, *, aggregated: bool, fresh: bool, uid: str) -> dict[str, int]:
    """Replicas of every cluster that gets some. Raises Unplaceable when there is too little room.

    Among equals the order of `options` decides, or the name where replicas are taken away.
    """
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
        return present
    if (total := sum(weights.values())) < amount:
        message = f"{step}: Clusters available replicas {total} are not enough to schedule."
        raise Unplaceable("Unschedulable", message)
    if aggregated:
        order = sorted(weights, key=weights.__getitem__, reverse=True)  # keeps the order of equals
        if base:
            order.sort(key=lambda name: name not in base)
        weights = {name: weights[name] for name in _shortest(order, weights, amount)}
    result = dict(base)
    for name, seats in divide.by_weight(amount, weights, uid).items():
        if seats:
            result[name] = seats + base.get(name, 0)
    return result


def _shortest(order: Sequence[str], weights: dict[str, int], amount: int) -> list[str]:
    """The first clusters that can hold the amount together."""
    chosen: list[str] = []
    held = 0
    for name in order:
        if held >= amount:
            break
        chosen.append(name)
        held += weights[name]
    return chosen
