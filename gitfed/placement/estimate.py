"""How many more replicas fit into a cluster, from what is known of it as a whole (Karmada: scheduling §5.1, §5.2).

Two ways: the sum of what is allocatable and not in use; or, where the cluster counts its nodes by grade, the number
of replicas that fit on nodes of those grades. Grades are asked first, because a sum says nothing about a replica that
is larger than any one node's rest. Pod slots limit both.

A cluster of which nothing is known is not empty and not full: `room` then says None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitfed.model.base import Body
from gitfed.text import quantity
from gitfed.text.quantity import Quantity

MOST = 2**31 - 1
_PODS_PER_NODE = 110


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a cluster reports of its room, and how it grades its nodes."""

    summary: Body
    """Karmada's `status.resourceSummary`: allocatable, allocated, allocating, allocatableModelings."""
    grades: Mapping[int, Mapping[str, str]]
    """The least amounts of a node of each grade (`spec.resourceModels`)."""


def room(capacity: Capacity | None, requirements: Body | None) -> int | None:
    """Replicas that fit beside what is there; None: not known, or reported in a way that cannot be read."""
    if capacity is None:
        return None
    try:
        return _room(capacity, requirements)
    except quantity.QuantityError:
        return None


def _room(capacity: Capacity, requirements: Body | None) -> int:
    pods = min(_free(capacity.summary, "pods") // quantity.NANO, MOST)
    if pods <= 0:
        return 0
    if requirements is None:
        return pods
    wanted = {name: _units(name, value) for name, value in (requirements.get("resourceRequest") or {}).items()}
    wanted = {name: amount for name, amount in wanted.items() if amount > 0}
    counts: dict[int, int] = {
        item["grade"]: item["count"] for item in capacity.summary.get("allocatableModelings") or ()
    }
    if counts and capacity.grades:
        return min(
            pods, sum(count * _on_a_node(capacity.grades.get(grade, {}), wanted) for grade, count in counts.items())
        )
    return min([pods, *(_fitting(capacity.summary, name, amount) for name, amount in wanted.items())])


def _on_a_node(least: Mapping[str, str], wanted: Mapping[str, int]) -> int:
    """A node is taken for the smallest of its grade. What the grade does not name is not there."""
    fits = [_units(name, least[name]) // amount if name in least else 0 for name, amount in wanted.items()]
    return min([_PODS_PER_NODE, *fits])


def _fitting(summary: Body, name: str, amount: int) -> int:
    if name not in (summary.get("allocatable") or {}):
        return 0
    free = Quantity(_free(summary, name))
    return max(0, free.milli if name == "cpu" else free.nano // quantity.NANO) // amount


def _free(summary: Body, name: str) -> int:
    """Billionths that are neither in use nor waited for."""
    allocatable, allocated, allocating = (
        _amount((summary.get(member) or {}).get(name)) for member in ("allocatable", "allocated", "allocating")
    )
    return allocatable - allocated - allocating


def _amount(value: Any) -> int:
    return 0 if value is None else quantity.parse(value).nano


def _units(name: str, value: Any) -> int:
    """cpu in thousandths, everything else in whole units, rounded up."""
    amount = quantity.parse(value)
    return amount.milli if name == "cpu" else amount.ceil
