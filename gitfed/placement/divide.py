"""Dividing a number of replicas by weights: Webster's method (Karmada: scheduling §4.1).

Seats are given one by one to the largest `weight / (2 * seats + 1)`. A tie goes to who has fewer seats, then by name:
ascending, or descending when the FNV-1a hash of the template's uid is odd, so that not every workload puts its odd
replica on the same cluster.

Quotients are IEEE doubles, as in the original: exact arithmetic would break other ties than it does.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

_OFFSET_BASIS = 0x811C9DC5
_PRIME = 0x01000193


def by_weight(replicas: int, weights: Mapping[str, int | float], uid: str = "") -> dict[str, int]:
    """Seats of every name, zeros included. All replicas are given away if any weight is above zero, else none."""
    names = sorted(weights, reverse=names_descend(uid))
    candidates = [name for name in names if weights[name] > 0]
    seats = dict.fromkeys(weights, 0)
    if not candidates or replicas <= 0:
        return seats

    left = replicas
    if (room := 2 * replicas - len(candidates)) > 0:
        total = sum(weights[name] for name in candidates)
        for name in candidates:
            certain = _certain(room, weights[name], total)
            seats[name] = certain
            left -= certain
    heap = [(-(weights[name] / (2 * seats[name] + 1)), seats[name], rank, name) for rank, name in enumerate(candidates)]
    heapq.heapify(heap)
    for _ in range(left):
        _, _, rank, name = heap[0]
        seats[name] += 1
        heapq.heapreplace(heap, (-(weights[name] / (2 * seats[name] + 1)), seats[name], rank, name))
    return seats


def names_descend(uid: str) -> bool:
    """Whether ties between equal seats go to the later name."""
    return bool(uid) and fnv1a(uid.encode()) % 2 == 1


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _OFFSET_BASIS
    for byte in data:
        value = ((value ^ byte) * _PRIME) & 0xFFFFFFFF
    return value


def _certain(room: int, weight: int | float, total: int | float) -> int:
    """Seats that this weight gets whatever the ties: lets a million replicas be divided without a million steps.

    All quotients of at least t = total / (2r - n) make at most (total / t + n) / 2 = r seats, so all of them are
    served; one seat is held back against rounding. `room` is 2r - n.
    """
    return max(0, int((weight * room / total + 1) / 2) - 1)
