"""How many replicas the ResourceQuotas inside a cluster still allow in a namespace (Karmada: scheduling §5.3).

This limit comes on top of the room of nodes: the smaller answer counts. It is another one for each namespace and
priority class, so it is not part of `fleet_capacity`, which answers for all namespaces alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitfed.model.base import Body, ClusterName
from gitfed.model.fleet import QuotaFacts
from gitfed.text import quantity
from gitfed.text.values import dataclass

MOST = 2**31 - 1


class Space(NamedTuple):
    """What a quota asks of a pod: where it is, and how urgent."""

    namespace: str = ""
    priority_class: str = ""


ANYWHERE = Space()
"""No namespace: no quota counts."""


class Limit(NamedTuple):
    """The quota that allows the fewest, how many, and the resource; `replicas` MOST: none limits it."""

    replicas: int
    quota: str = ""
    by: str = ""


@dataclass(slots=True)
class _Left:
    facts: QuotaFacts
    free: dict[str, int]
    """Billionths; below zero where more is in use than is allowed."""

    @classmethod
    def of(cls, facts: QuotaFacts) -> _Left:
        used = {name: quantity.parse(value).nano for name, value in facts.used.items()}
        return cls(facts, {name: quantity.parse(value).nano - used.get(name, 0) for name, value in facts.hard.items()})


class Allowances:
    """The quotas of a fleet while a build gives room away. Mutable: `take` reduces what later questions find."""

    def __init__(self, quotas: Mapping[ClusterName, Sequence[QuotaFacts]]) -> None:
        self._left = {
            name: [_Left.of(quota) for quota in facts if _is_readable(quota)] for name, facts in quotas.items() if facts
        }
        self._namespaces = {left.facts.namespace for quotas in self._left.values() for left in quotas}

    def cover(self, space: Space) -> bool:
        """Whether any quota of any cluster may limit it."""
        return space.namespace in self._namespaces

    def copy(self) -> Allowances:
        twin = Allowances({})
        twin._left = {
            name: [_Left(left.facts, dict(left.free)) for left in quotas] for name, quotas in self._left.items()
        }
        twin._namespaces = self._namespaces
        return twin

    def limit(self, room: Mapping[str, int | None], space: Space, parts: Sequence[Body]) -> dict[str, int | None]:
        """The room, where quotas leave less than there is. `parts`: see `limit`."""
        replica = total(parts)
        return {
            name: free if free is None else min(free, _limit(self._left.get(name, ()), space, replica).replicas)
            for name, free in room.items()
        }

    def take(self, space: Space, parts: Sequence[Body], counts: Mapping[str, int]) -> None:
        """So many more were placed in these clusters."""
        replica = total(parts)
        for name, count in counts.items():
            for left in self._left.get(name, ()):
                if _matches(left.facts, space):
                    for resource in left.free:
                        left.free[resource] -= count * replica.get(resource, 0)


def limit(quotas: Sequence[QuotaFacts], space: Space, parts: Sequence[Body]) -> Limit:
    """What one cluster's quotas allow of replicas, or of sets.

    `parts`: `{replicas, replicaRequirements}` of each pod template of a set; one part of one replica for a plain
    workload (`of_replica`).
    """
    return _limit([_Left.of(quota) for quota in quotas if _is_readable(quota)], space, total(parts))


def of_replica(requirements: Body | None) -> tuple[Body, ...]:
    return ({"replicas": 1, "replicaRequirements": requirements},)


def total(parts: Iterable[Body]) -> dict[str, int]:
    """What a set asks for, in billionths. Amounts that cannot be read ask for nothing: that is said elsewhere."""
    amounts: dict[str, int] = {}
    for part in parts:
        asked = (part.get("replicaRequirements") or {}).get("resourceRequest") or {}
        for name, value in asked.items():
            try:
                amounts[name] = amounts.get(name, 0) + quantity.parse(value).nano * int(part.get("replicas") or 0)
            except quantity.QuantityError:
                continue
    return amounts


def space_of(body: Body, namespace: str) -> Space:
    """The priority class is that of the pod template (Kubernetes: `spec.template.spec`, or the pod's own spec)."""
    spec = body.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    template = spec.get("template")
    inner = template.get("spec") if isinstance(template, dict) else None
    name = (inner if isinstance(inner, dict) else spec).get("priorityClassName")
    return Space(namespace, name if isinstance(name, str) else "")


def _limit(quotas: Iterable[_Left], space: Space, replica: Mapping[str, int]) -> Limit:
    least = Limit(MOST)
    for left in quotas:
        if not _matches(left.facts, space):
            continue
        for name, free in sorted(left.free.items()):
            if (amount := replica.get(name, 0)) > 0:
                least = min(least, Limit(max(0, free) // amount, left.facts.name, name), key=lambda item: item.replicas)
    return least


def _matches(facts: QuotaFacts, space: Space) -> bool:
    return facts.namespace == space.namespace and all(
        _holds(operator, values, space.priority_class) for operator, values in facts.classes
    )


def _holds(operator: str, values: Sequence[str], name: str) -> bool:
    """Kubernetes: a pod without a class is in no class, so `NotIn` takes it."""
    match operator:
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
    return False


def _is_readable(facts: QuotaFacts) -> bool:
    try:
        for value in (*facts.hard.values(), *facts.used.values()):
            quantity.parse(value)
    except quantity.QuantityError:
        return False
    return True
