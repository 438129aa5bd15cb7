"""How many more replicas fit into one cluster, and what limits them (Karmada: scheduling §5).

Estimators are asked and the smallest answer counts. The *general* one takes the cluster as a whole: what is
allocatable and not in use; or, where the cluster counts its nodes by grade, the replicas that fit on nodes of those
grades, because a sum says nothing about a replica that is larger than any one node's rest. The *node* one looks at the
nodes themselves, with their labels and taints (`nodes`). Pod slots limit both. Where a cluster has ResourceQuotas, what
they allow in the namespace is a third answer (`allowance`).

A cluster of which nothing is known is not empty and not full: `room` then says None. One cluster at a time, slowly and
with reasons: that is this module. `fleet_capacity` gives the same numbers for a whole fleet at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gitfed.model.base import Body
from gitfed.model.fleet import NodeFacts, QuotaFacts
from gitfed.placement.capacity import allowance, nodes
from gitfed.placement.capacity.allowance import ANYWHERE, Space
from gitfed.text import quantity
from gitfed.text.quantity import Quantity
from gitfed.text.values import dataclass

MOST = 2**31 - 1
PODS = "pods"
PODS_OF_A_GRADE = 110
"""Pod slots of a node of which only the grade is known."""
_MOST_SETS = 1_000
"""Sets of components beyond this are not counted: it is enough to know that many fit."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a cluster reports of its room, and how it grades its nodes."""

    summary: Body | None
    """Karmada's `status.resourceSummary`: allocatable, allocated, allocating, allocatableModelings. None: not known."""
    grades: Mapping[int, Mapping[str, str]]
    """The least amounts of a node of each grade (`spec.resourceModels`)."""
    nodes: tuple[NodeFacts, ...] = ()
    """Empty: not known."""
    quotas: tuple[QuotaFacts, ...] = ()


class Estimate(NamedTuple):
    """What one estimator says, and the resource that limits it; `by` "" when nothing in particular does."""

    estimator: str
    replicas: int
    by: str


def room(capacity: Capacity | None, requirements: Body | None, space: Space = ANYWHERE) -> int | None:
    """Replicas that fit beside what is there; None: not known, or reported in a way that cannot be read."""
    answers = estimates(capacity, requirements, space)
    return min(answer.replicas for answer in answers) if answers else None


def estimates(capacity: Capacity | None, requirements: Body | None, space: Space = ANYWHERE) -> tuple[Estimate, ...]:
    """Each estimator's answer. Empty: the room is not known."""
    if capacity is None:
        return ()
    try:
        shown = [] if capacity.summary is None else [_general(capacity.summary, capacity.grades, requirements)]
        if capacity.nodes:
            shown.append(_by_node(capacity.nodes, requirements))
    except quantity.QuantityError:
        return ()
    return (*shown, *_by_quota(capacity, space, allowance.of_replica(requirements))) if shown else ()


def _by_quota(capacity: Capacity, space: Space, parts: Sequence[Body]) -> tuple[Estimate, ...]:
    """Nothing where no quota limits it."""
    limit = allowance.limit(capacity.quotas, space, parts)
    return (Estimate(f"quota {space.namespace}/{limit.quota}", limit.replicas, limit.by),) if limit.quota else ()


def sets(capacity: Capacity | None, components: Sequence[Body], space: Space = ANYWHERE) -> int | None:
    """How many complete sets of these components fit (Karmada: scheduling §5.4). None: not known."""
    if capacity is None or (capacity.summary is None and not capacity.nodes):
        return None
    try:
        parts = list(parts_of(components))
        limits = [MOST]
        if (summary := capacity.summary) is not None:
            spare = {name: free_in(summary, name) for name in table(summary, "allocatable") if name != PODS}
            limits.append(sets_in_sum(pods_in(summary), spare, parts))
            if graded := grade_rows(summary, capacity.grades):
                limits.append(sets_on(graded, parts))
        if capacity.nodes:
            limits.append(sets_on([Row.of(node) for node in capacity.nodes], parts))
        limits += [estimate.replicas for estimate in _by_quota(capacity, space, components)]
    except quantity.QuantityError:
        return None
    return max(0, min(limits))


def why_not(requirements: Body | None, components: Sequence[Body] = ()) -> str | None:
    """Why nothing can be estimated for such a workload: its numbers cannot be read. None: they can."""
    parts = [(requirements, 0), *((part.get("replicaRequirements"), part.get("replicas", 0)) for part in components)]
    for needs, replicas in parts:
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
            return f"a component has {replicas!r} replicas"
        try:
            wanted(needs)
        except (quantity.QuantityError, AttributeError) as error:
            return f"what one replica needs cannot be read: {error}"
    return None


# -- what one replica, one node and one cluster amount to ----------------------------------------------------------


def wanted(requirements: Body | None) -> dict[str, int]:
    """What one replica asks for, in thousandths of a cpu and whole units of everything else. Zero asks for nothing."""
    asked = (requirements or {}).get("resourceRequest") or {}
    return {name: amount for name, value in sorted(asked.items()) if (amount := units(name, value)) > 0}


def units(name: str, value: Any) -> int:
    """cpu in thousandths, everything else in whole units, rounded up."""
    amount = quantity.parse(value)
    return amount.milli if name == "cpu" else amount.ceil


def free_in(summary: Body, name: str) -> int:
    """What is neither in use nor waited for; below zero where more is promised than there is."""
    free = Quantity(
        _nano(summary, "allocatable", name) - _nano(summary, "allocated", name) - _nano(summary, "allocating", name)
    )
    return free.milli if name == "cpu" else free.nano // quantity.NANO


def pods_in(summary: Body) -> int:
    return max(0, free_in(summary, PODS))


def grade_rows(summary: Body, grades: Mapping[int, Mapping[str, str]]) -> list[Row]:
    """Nodes that are known by their grade only: each is taken for the smallest of its grade, without labels."""
    counts: dict[int, int] = {}
    listed = summary.get("allocatableModelings") or ()
    if not isinstance(listed, list | tuple):
        raise quantity.QuantityError("allocatableModelings is no list")
    for item in listed:
        if not isinstance(item, Mapping) or not all(isinstance(item.get(name), int) for name in ("grade", "count")):
            raise quantity.QuantityError(f"{item!r} is no number of nodes by grade")
        counts[item["grade"]] = item["count"]
    if not counts or not grades:
        return []
    return [
        Row(
            max(0, count),
            PODS_OF_A_GRADE,
            {name: units(name, least) for name, least in grades.get(grade, {}).items()},
            None,
        )
        for grade, count in counts.items()
    ]


class Row(NamedTuple):
    """So many equal nodes: what is free on each, and the node to ask about labels and taints (None: no such)."""

    number: int
    slots: int
    free: Mapping[str, int]
    node: NodeFacts | None

    @classmethod
    def of(cls, node: NodeFacts) -> Row:
        spare = {name: _spare(node, name) for name in node.allocatable}
        return cls(max(0, node.count), spare.pop(PODS, 0), spare, node)

    def holds(self, replica: Mapping[str, int]) -> int:
        """Replicas on one node of the row."""
        return max(0, min([self.slots, *(self.free.get(name, 0) // amount for name, amount in replica.items())]))


def _spare(node: NodeFacts, name: str) -> int:
    nano = quantity.parse(node.allocatable[name]).nano
    if used := node.requested.get(name):
        nano -= quantity.parse(used).nano
    return Quantity(nano).milli if name == "cpu" else nano // quantity.NANO


def _nano(summary: Body, member: str, name: str) -> int:
    value = table(summary, member).get(name)
    return 0 if value is None else quantity.parse(value).nano


def table(summary: Body, member: str) -> Mapping[str, Any]:
    table = summary.get(member) or {}
    if not isinstance(table, Mapping):
        raise quantity.QuantityError(f"{member} of the resource summary is no table of amounts")
    return table


# -- the estimators ------------------------------------------------------------------------------------------------


def _general(summary: Body, grades: Mapping[int, Mapping[str, str]], requirements: Body | None) -> Estimate:
    pods = min(pods_in(summary), MOST)
    if pods <= 0 or requirements is None:
        return Estimate("resource summary", max(0, pods), PODS)
    replica = wanted(requirements)
    if rows := grade_rows(summary, grades):
        held, by = _limited(rows, replica)
        return Estimate("node grades", pods, PODS) if pods <= held else Estimate("node grades", held, by)
    count, by = pods, PODS
    for name, amount in replica.items():
        here = max(0, free_in(summary, name)) // amount if name in table(summary, "allocatable") else 0
        if here < count:
            count, by = here, name
    return Estimate("resource summary", count, by)


def _by_node(all_nodes: Iterable[NodeFacts], requirements: Body | None) -> Estimate:
    takes = nodes.filter_of(requirements)
    rows = [Row.of(node) for node in all_nodes if takes(node)]
    if not rows:
        return Estimate("nodes", 0, "node selector, affinity or taints")
    held, by = _limited(rows, wanted(requirements))
    return Estimate("nodes", held, by)


def _limited(rows: Sequence[Row], replica: Mapping[str, int]) -> tuple[int, str]:
    """(what fits, the resource without whose limit the most would fit in addition)"""
    held = min(MOST, sum(row.number * row.holds(replica) for row in rows))
    gains = {PODS: sum(row.number * row._replace(slots=MOST).holds(replica) for row in rows)}
    for name in replica:
        others = {other: amount for other, amount in replica.items() if other != name}
        gains[name] = sum(row.number * row.holds(others) for row in rows)
    by = max(gains, key=lambda name: gains[name])
    return held, by if gains[by] > held else ""


# -- components ----------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """One component of a set: so many equal pods."""

    number: int
    replica: Mapping[str, int]
    takes: nodes.Filter


def parts_of(components: Iterable[Body]) -> Iterable[Part]:
    for component in components:
        requirements = component.get("replicaRequirements") or None
        yield Part(max(0, int(component.get("replicas") or 0)), wanted(requirements), nodes.filter_of(requirements))


def sets_in_sum(pods: int, spare: Mapping[str, int], parts: Sequence[Part]) -> int:
    """By the cluster as a whole."""
    count = sum(part.number for part in parts)
    limits = [MOST if count == 0 else max(0, pods) // count]
    for name in {name for part in parts for name in part.replica}:
        whole = sum(part.number * part.replica.get(name, 0) for part in parts)
        if whole:
            limits.append(max(0, spare.get(name, 0)) // whole)
    return min(limits)


def sets_on(rows: Sequence[Row], parts: Sequence[Part]) -> int:
    """Set after set, each pod on the first node that can take it, until one does not fit. At most a thousand."""
    if not any(part.number for part in parts):
        return MOST
    state = [row for row in rows if row.number > 0]
    for done in range(_MOST_SETS):
        for part in parts:
            for _ in range(part.number):
                if not _place(state, part):
                    return done
    return _MOST_SETS


def _place(state: list[Row], part: Part) -> bool:
    for index, row in enumerate(state):
        if row.holds(part.replica) > 0 and (row.node is None or part.takes(row.node)):
            spare = {name: free - part.replica.get(name, 0) for name, free in row.free.items()}
            used = Row(1, row.slots - 1, spare, row.node)
            state[index : index + 1] = [used] if row.number == 1 else [used, row._replace(number=row.number - 1)]
            return True
    return False
