"""From what is seen of a cluster to what is believed of it, and from that to what is written down.

Three pure steps stand between a probe and a decision:

- `believe` damps: a cluster becomes, or stops being, ready only after that was seen for a while (Karmada: cluster
  status collection, failure and success thresholds); `next_look` sees to it that it is looked at when that is over.
- `due` says which clusters' written facts are out of date. A decision is taken from what is *written* on the facts
  branch, so that a preview, the decision and a replay see the same numbers; so a change that matters is written at
  once, and a change of room only when it is large enough and not too soon after the last one.
- `written` is the form that is written: nodes that are alike become one class.

Which module looks is `edges.kube.facts` and `edges.kube.capacity`; who writes is `daemon.facts_record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from gitfed.model.base import Body, ClusterName
from gitfed.model.capacity import billionths
from gitfed.model.fleet import ClusterFacts, NodeFacts, QuotaFacts, Reach
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.scheduling import strategy
from gitfed.text import canonical, quantity
from gitfed.text.quantity import NANO, Quantity
from gitfed.text.values import dataclass

APART = timedelta(minutes=5)
"""Between two commits that tell of nothing but room."""
_PERCENT = 5
"""Of what is allocatable. A smaller change of room is not written."""
MOST_CLASSES = 100
"""Classes of nodes in one cluster's facts: above, nodes that are nearly alike become alike."""
_STEPS = (0, 40, 20, 10, 5, 2)
"""How fine free amounts are told, as parts of the amount; 0 is exactly."""
_IDENTITY = ("kubernetes.io/hostname",)
_MANY = 10
"""Nodes from which on a label with another value on each of them is taken for a name."""


# -- believing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Seconds that a change must have been seen before it counts (Karmada's defaults)."""

    failure: float = 30.0
    success: float = 30.0


@dataclass(frozen=True, slots=True)
class Belief:
    """What is published of a cluster. `contrary_since`: when first the opposite was seen; None: it is not."""

    facts: ClusterFacts
    contrary_since: float | None = None


def believe(seen: ClusterFacts, before: Belief | None, now: float, thresholds: Thresholds = Thresholds()) -> Belief:
    """What to publish after a look at `now` (seconds of any clock that does not go back).

    At once: the first look after a start (`before` None), a cluster without a Ready condition, and every change that
    does not cross the line between ready and not ready. What is withheld is withheld as a whole.
    """
    recorded = before.facts if before is not None else None
    if before is None or recorded is None or not any(condition.type == "Ready" for condition in recorded.conditions):
        return Belief(seen)
    was_ready = recorded.reach is Reach.READY
    if was_ready == (seen.reach is Reach.READY):
        return Belief(seen)
    since = now if before.contrary_since is None else before.contrary_since
    if now >= since + (thresholds.failure if was_ready else thresholds.success):
        return Belief(seen)
    return Belief(recorded, since)


def next_look(
    belief: Belief | None, now: float, *, every: float, longest: float, thresholds: Thresholds = Thresholds()
) -> float:
    """Seconds from `now` until a cluster should be looked at again, with a look `every` so many seconds.

    While the opposite of what is believed is seen, a look ends with the threshold, so that the change is believed then
    and not at the next look: of a cluster that gives no answer a look takes `longest`.
    """
    if belief is None or belief.contrary_since is None:
        return every
    ready = belief.facts.reach is Reach.READY
    due = belief.contrary_since + (thresholds.failure if ready else thresholds.success)
    last = due - longest if ready and now < due - longest else due
    one_more = now + every + (longest if ready else 0.0) < last
    return every if one_more else max(0.0, last - now)


def reads_capacity(repo: RepoSnapshot) -> bool:
    """Whether any policy asks how much room clusters have: then Nodes and Pods are watched."""
    return any(_by_room(policy.spec.placement) for policy in repo.propagation)


def _by_room(placement: Any) -> bool:
    return placement is not None and (strategy.by_room(placement) or strategy.spreads(placement))


# -- writing down --------------------------------------------------------------------------------------------------


def due(
    recorded: Mapping[ClusterName, ClusterFacts],
    seen: Mapping[ClusterName, ClusterFacts],
    *,
    last_room: datetime | None,
    now: datetime,
) -> dict[ClusterName, ClusterFacts]:
    """Clusters whose facts are to be written now, in the form to write.

    `last_room`: the last commit that told of room. A commit that is made anyway tells of the room of all: its time is
    taken for the time of everything in it, and replicas that were placed later are counted beside it.
    """
    urgent = {name for name, facts in seen.items() if name not in recorded or is_urgent(recorded[name], facts)}
    if urgent or is_rested(last_room, now):
        urgent |= {name for name, facts in seen.items() if name not in urgent and has_moved(recorded[name], facts)}
    return {name: written(seen[name]) for name in sorted(urgent)}


def is_rested(last_room: datetime | None, now: datetime) -> bool:
    """Whether a commit that tells of nothing but room may be made again."""
    return last_room is None or now - last_room >= APART


def is_urgent(recorded: ClusterFacts, seen: ClusterFacts) -> bool:
    """Whether something else than an amount changed: what a cluster is, serves, or says of itself."""
    return (
        recorded.reach is not seen.reach
        or recorded.kubernetes_version != seen.kubernetes_version
        or recorded.apis != seen.apis
        or (recorded.resource_summary is None) != (seen.resource_summary is None)
        or [(c.type, c.status, c.reason) for c in recorded.conditions]
        != [(c.type, c.status, c.reason) for c in seen.conditions]
    )


def has_moved(recorded: ClusterFacts, seen: ClusterFacts) -> bool:
    """Whether the room changed by more than 5 % of what there is, or ran out, or kinds of nodes came or went."""
    # Both sides in the written form: what rounding took away is no change.
    return (
        _summary_moved(recorded.resource_summary or {}, seen.resource_summary or {})
        or _nodes_moved(recorded.nodes, classes(seen.nodes))
        or _quotas_moved(recorded.quotas, seen.quotas)
    )


def _quotas_moved(recorded: Sequence[QuotaFacts], seen: Sequence[QuotaFacts]) -> bool:
    before, after = (
        {(quota.namespace, quota.name, quota.classes): quota for quota in quotas} for quotas in (recorded, seen)
    )
    if before.keys() != after.keys():
        return True
    for name, quota in before.items():
        was, now = (_room_of({"allocatable": quota.hard, "allocated": quota.used}) for quota in (quota, after[name]))
        if any(_differs(was.get(key, (0, 0)), now.get(key, (0, 0))) for key in was.keys() | now.keys()):
            return True
    return False


def _summary_moved(recorded: Body, seen: Body) -> bool:
    before, after = _room_of(recorded), _room_of(seen)
    if any(_differs(before.get(name, (0, 0)), after.get(name, (0, 0))) for name in before.keys() | after.keys()):
        return True
    grades, graded = _grades(recorded), _grades(seen)
    moved = sum(abs(graded.get(grade, 0) - grades.get(grade, 0)) for grade in grades.keys() | graded.keys())
    return 100 * moved > _PERCENT * max(sum(grades.values()), sum(graded.values()))


def _grades(summary: Body) -> dict[int, int]:
    return {item["grade"]: item["count"] for item in summary.get("allocatableModelings") or ()}


_Room: TypeAlias = tuple[int, int]
"""(allocatable, free), billionths"""


def _room_of(summary: Body) -> dict[str, _Room]:
    offered = billionths(summary.get("allocatable"))
    used = [billionths(summary.get(member)) for member in ("allocated", "allocating")]
    return {name: (amount, amount - sum(amounts.get(name, 0) for amounts in used)) for name, amount in offered.items()}


def _differs(before: _Room, after: _Room) -> bool:
    whole = max(before[0], after[0])
    gone = (before[1] > 0) != (after[1] > 0)
    return gone or 100 * max(abs(before[0] - after[0]), abs(before[1] - after[1])) > _PERCENT * whole


def _nodes_moved(recorded: Sequence[NodeFacts], seen: Sequence[NodeFacts]) -> bool:
    names = _names(recorded) | _names(seen) | frozenset(_IDENTITY)
    before, after = _shapes(recorded, names), _shapes(seen, names)
    if before.keys() != after.keys():
        return True
    for shape, (count, rooms) in before.items():
        other, now = after[shape]
        if 100 * abs(count - other) > _PERCENT * max(count, other):
            return True
        if any(_differs(rooms.get(name, (0, 0)), now.get(name, (0, 0))) for name in rooms.keys() | now.keys()):
            return True
    return False


def _shapes(nodes: Sequence[NodeFacts], names: frozenset[str]) -> dict[bytes, tuple[int, dict[str, _Room]]]:
    """Nodes by what a workload can ask of them besides amounts and `names`."""
    shapes: dict[bytes, tuple[int, dict[str, _Room]]] = {}
    for node in nodes:
        labels = {key: value for key, value in node.labels.items() if key not in names}
        shape = canonical.dumps([labels, list(node.taints), node.unschedulable, node.ready])
        count, rooms = shapes.get(shape, (0, {}))
        asked = billionths(node.requested)
        for name, amount in billionths(node.allocatable).items():
            whole, free = rooms.get(name, (0, 0))
            rooms[name] = (whole + node.count * amount, free + node.count * (amount - asked.get(name, 0)))
        shapes[shape] = (count + node.count, rooms)
    return shapes


# -- the written form ----------------------------------------------------------------------------------------------


def written(facts: ClusterFacts) -> ClusterFacts:
    """The facts as they are written: nodes by class, times to the second."""
    conditions = tuple(
        replace(condition, last_transition=condition.last_transition.replace(microsecond=0))
        if condition.last_transition
        else condition
        for condition in facts.conditions
    )
    return replace(facts, conditions=conditions, nodes=classes(facts.nodes), declared=None)


def classes(nodes: Iterable[NodeFacts]) -> tuple[NodeFacts, ...]:
    """Nodes that are alike in labels, taints, size and free amounts as one, with a count.

    With few nodes nothing is lost but the names of equal ones. With many, free amounts are rounded down, each time a
    little more, until there are few classes; rounding never promises room that is not there. A node that is like no
    other keeps its name and all its labels; else labels that only tell nodes apart (the hostname) are left out.
    """
    nodes = list(nodes)
    names = _names(nodes)
    grouped: tuple[NodeFacts, ...] = ()
    for parts in _STEPS:
        grouped = _grouped(nodes, names, parts)
        if len(grouped) <= MOST_CLASSES:
            break
    return grouped


def _grouped(nodes: Iterable[NodeFacts], names: frozenset[str], parts: int) -> tuple[NodeFacts, ...]:
    groups: dict[bytes, NodeFacts] = {}
    for node in nodes:
        requested = _rounded(node, parts) if parts else _offered(node)
        labels = {key: value for key, value in node.labels.items() if key not in names}
        like = canonical.dumps(
            [labels, list(node.taints), dict(node.allocatable), dict(requested), node.unschedulable, node.ready]
        )
        group = groups.get(like)
        groups[like] = (
            replace(node, requested=requested)
            if group is None
            else replace(group, name="", labels=labels, count=group.count + node.count)
        )
    return tuple(groups[like] for like in sorted(groups))


def _offered(node: NodeFacts) -> dict[str, str]:
    """What is asked for of what the node has at all."""
    return {name: value for name, value in sorted(node.requested.items()) if name in node.allocatable}


def _rounded(node: NodeFacts, parts: int) -> dict[str, str]:
    """What is asked for, so that what is free is a round amount: at most one part of `parts` smaller than it is."""
    asked, rounded = billionths(node.requested), {}
    for name, offered in billionths(node.allocatable).items():
        free = offered - asked.get(name, 0)
        unit = NANO // 1000 if name == "cpu" else NANO
        parsed = quantity.parse(node.allocatable[name])
        step = unit * (_power_of_two if parsed.format is quantity.Format.BINARY else _round_number)(
            free // (parts * unit)
        )
        rest = offered - (free - free % step if free > 0 else free)
        if rest:
            rounded[name] = str(Quantity(rest, parsed.format))
    return dict(sorted(rounded.items()))


def _power_of_two(most: int) -> int:
    return 1 << (most.bit_length() - 1) if most > 0 else 1


def _round_number(most: int) -> int:
    """The largest of 1, 2, 5, 10, 20, … that is not above."""
    tens = 1
    while tens * 10 <= most:
        tens *= 10
    return next((times * tens for times in (5, 2) if times * tens <= most), tens)


def _names(nodes: Iterable[NodeFacts]) -> frozenset[str]:
    """Labels that tell nodes apart and nothing else."""
    values: dict[str, list[str]] = {}
    for node in nodes:
        for key, value in node.labels.items():
            values.setdefault(key, []).extend([value] * min(node.count, 2))
    apart = {key for key, texts in values.items() if len(texts) >= _MANY and len(set(texts)) == len(texts)}
    return frozenset(apart | {key for key in _IDENTITY if len(values.get(key, ())) > 1})
