"""The room of clusters and nodes in words: what is asked for of what there is.

These are requests of pods, not measurements of what they use: requests are what placement goes by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from gitfed.model.fleet import ClusterFacts, NodeFacts
from gitfed.text import quantity
from gitfed.text.quantity import NANO
from gitfed.text.values import dataclass
from gitfed.views.value import View

NONE = "–"
SHOWN = ("cpu", "memory", "pods")
_UNITS = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


Number: TypeAlias = int | float


class RoomView(View):
    """One resource of a cluster: cores, bytes or pieces."""

    allocatable: Number
    """What its nodes have for pods."""
    requested: Number
    """What its pods ask for."""


@dataclass(frozen=True, slots=True)
class Utilization:
    """One resource, in billionths: what pods request of what nodes offer."""

    offered: int = 0
    asked: int = 0

    @property
    def percent(self) -> int | None:
        """Rounded up, so that a little use is not 0 %. None: nothing is offered."""
        return -(-100 * self.asked // self.offered) if self.offered > 0 else None


def of_cluster(facts: ClusterFacts | None) -> dict[str, Utilization] | None:
    """By resource; None: not known."""
    summary = facts.resource_summary if facts is not None else None
    if summary is None:
        return None
    parts = [summary.get(member) or {} for member in ("allocated", "allocating")]
    return {
        name: Utilization(_nano(value), sum(_nano(part.get(name, 0)) for part in parts))
        for name, value in (summary.get("allocatable") or {}).items()
    }


def of_node(node: NodeFacts) -> dict[str, Utilization]:
    """Of one node, or of one of a class."""
    return {
        name: Utilization(_nano(value), _nano(node.requested.get(name, 0))) for name, value in node.allocatable.items()
    }


def node_count(facts: ClusterFacts | None) -> tuple[int, int] | None:
    """(ready, all); None: not known. A file of facts may give capacities without nodes."""
    if facts is None or not facts.nodes:
        return None
    return sum(node.count for node in facts.nodes if node.ready), sum(node.count for node in facts.nodes)


def nodes_text(counted: tuple[int, int] | None) -> str:
    """`3/4`: ready of all."""
    return NONE if counted is None else f"{counted[0]}/{counted[1]}"


def cells(usage: Mapping[str, Utilization] | None, *, percent: bool = False) -> list[str]:
    """`asked/offered` of the resources that are shown, each followed by the share if wanted."""
    texts: list[str] = []
    for name in SHOWN:
        use = usage.get(name) if usage is not None else None
        texts.append(NONE if use is None else f"{amount(name, use.asked)}/{amount(name, use.offered)}")
        if percent:
            texts.append(NONE if use is None or use.percent is None else f"{use.percent}%")
    return texts


def item(usage: Mapping[str, Utilization] | None) -> dict[str, RoomView] | None:
    """For programs: exact numbers of cores, bytes and pieces."""
    if usage is None:
        return None
    return {name: {"allocatable": _number(use.offered), "requested": _number(use.asked)} for name, use in usage.items()}


def of_item(shown: Mapping[str, RoomView] | None) -> dict[str, Utilization] | None:
    """What `item` was made of."""
    if shown is None:
        return None
    return {
        name: Utilization(round(view["allocatable"] * NANO), round(view["requested"] * NANO))
        for name, view in shown.items()
    }


def amount(name: str, nano: int) -> str:
    """Short: two places of cores, one of the largest unit of bytes that fits."""
    if name == "memory":
        size = nano // NANO
        for unit, suffix in _UNITS:
            if abs(size) >= unit:
                return _short(size / unit, 1) + suffix
        return str(size)
    return _short(nano / NANO, 2)


def _short(value: float, places: int) -> str:
    return f"{value:.{places}f}".rstrip("0").rstrip(".")


def _number(nano: int) -> Number:
    return nano // NANO if nano % NANO == 0 else nano / NANO


def _nano(value: Any) -> int:
    try:
        return quantity.parse(value).nano
    except quantity.QuantityError:
        return 0
