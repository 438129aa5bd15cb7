"""Dividing a number of replicas by weights: Webster's method (Karmada: scheduling §4.1).

Seats are given one by one to the largest `weight / (2 * seats + 1)`. A tie goes to who has fewer seats, then by name:
ascending, or descending when the FNV-1a hash of the template's uid is odd, so that not every workload puts its odd
replica on the same cluster.

Quotients are IEEE doubles, as in the original: exact arithmetic would break other ties than it does.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import lru_cache

_OFFSET_BASIS = 0x811C9DC5
_PRIME = 0x01000193
_EXACT = 2**53
"""Whole numbers up to here are doubles: their order is that of their quotients."""


def by_weight(replicas: int, weights: Mapping[str, int | float], uid: str = "") -> dict[str, int]:
    """Seats of every name, zeros included. All replicas are given away if any weight is above zero, else none."""
    names = sorted(weights)
    return dict.fromkeys(weights, 0) | given(replicas, names, [weights[name] for name in names], uid)


def given(replicas: int, names: Sequence[str], weights: Sequence[int | float], uid: str = "") -> dict[str, int]:
    """The same for names in ascending order and the weight of each; only who has seats."""
    if names_descend(uid):
        names, weights = names[::-1], weights[::-1]
    return {names[at]: count for at, count in _seats(replicas, weights).items()}


@lru_cache(maxsize=1 << 16)
def names_descend(uid: str) -> bool:
    """Whether ties between equal seats go to the later name. Asked of every workload in every build."""
    return bool(uid) and fnv1a(uid.encode()) % 2 == 1


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _OFFSET_BASIS
    for byte in data:
        value = ((value ^ byte) * _PRIME) & 0xFFFFFFFF
    return value


def _seats(replicas: int, weights: Sequence[int | float]) -> dict[int, int]:
    """Seats by position, of those that have any; among equals the earlier position comes first."""
    order = sorted(range(len(weights)), key=weights.__getitem__, reverse=True)
    while order and weights[order[-1]] <= 0:
        order.pop()
    if not order or replicas <= 0:
        return {}
    if weights[order[0]] > _EXACT:
        order.sort()
        order.sort(key=lambda at: float(weights[at]), reverse=True)
    if 2 * replicas > len(order):
        seats = _certain(replicas, weights, order)
        if seats:
            return _one_by_one(replicas - sum(seats.values()), weights, seats, order)
    if replicas <= len(order) and weights[order[0]] / 3 <= weights[order[replicas - 1]]:
        return dict.fromkeys(order[:replicas], 1)  # nobody gets a second one before so many have their first
    return _one_by_one(replicas, weights, {}, order)


def _one_by_one(
    left: int, weights: Sequence[int | float], seats: dict[int, int], order: Sequence[int]
) -> dict[int, int]:
    """`order`: best first. Who has no seat yet waits in that order, who has one in a heap: a few of them, mostly."""
    waiting = [at for at in order if at not in seats] if seats else order
    heap = [(-(weights[at] / (2 * count + 1)), count, at) for at, count in seats.items()]
    heapq.heapify(heap)
    next_one = 0
    for _ in range(left):
        if next_one < len(waiting) and (not heap or weights[waiting[next_one]] / 1 >= -heap[0][0]):
            at, count = waiting[next_one], 1
            next_one += 1
            heapq.heappush(heap, (-(weights[at] / 3), 1, at))
        else:
            _, count, at = heap[0]
            count += 1
            heapq.heapreplace(heap, (-(weights[at] / (2 * count + 1)), count, at))
        seats[at] = count
    return seats


def _certain(replicas: int, weights: Sequence[int | float], order: Sequence[int]) -> dict[int, int]:
    """Seats that weights get whatever the ties: lets a million replicas be divided without a million steps.

    All quotients of at least t = total / (2r - n) make at most (total / t + n) / 2 = r seats, so all of them are
    served; one seat is held back against rounding.
    """
    room, total = 2 * replicas - len(order), sum(weights[at] for at in order)
    seats = {at: int((weights[at] * room / total + 1) / 2) - 1 for at in order}
    return {at: count for at, count in seats.items() if count > 0}
