"""How much a namespace uses over all clusters together, and what it may (Karmada: scheduling §6).

A `FederatedResourceQuota` limits the sum over a namespace's workloads of what a replica asks for times the replicas
that are placed; copies count each. A decision that would lift the sum above a limit is not taken: the workload stays
as it was, with the reason `QuotaExceeded`. Static assignments are another matter: an ordinary ResourceQuota for one
cluster, which that cluster enforces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from gitfed.model.base import Body, ClusterName
from gitfed.model.decisions import Share
from gitfed.model.keys import CONFLICT_ANNOTATION, QUOTA_NAME, QUOTA_NAMESPACE
from gitfed.text import quantity
from gitfed.text.quantity import ZERO, Quantity
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.quota import FederatedResourceQuota
    from gitfed.model.fleet import QuotaFacts
    from gitfed.model.plan import Binding

Usage: TypeAlias = Mapping[str, Quantity]


def usage(shares: Sequence[Share], requirements: Body | None, components: Sequence[Body] = ()) -> Usage:
    """What a workload uses where it is placed. Amounts that cannot be read use nothing."""
    if not components:
        return _times(requirements, sum(share.replicas or 0 for share in shares))
    total: dict[str, Quantity] = {}
    for component in components:
        count = int(component.get("replicas") or 0) * len(shares)
        total = dict(_plus(total, _times(component.get("replicaRequirements"), count)))
    return total


_BYTES = re.compile(r"(^|[./])(memory|storage|ephemeral-storage|hugepages-[^/]*)$")
"""Resources that count bytes."""
_REFUSAL = re.compile(
    r"FederatedResourceQuota\(([^()]+)\) exceeded for resource (\S+): "
    r"requested sum ([0-9a-zA-Z.]+), limit ([0-9a-zA-Z.]+)\."
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a quota, `<namespace>/<name>`, does not allow. As text it is the reference's message."""

    quota: str
    resource: str
    requested: Quantity
    limit: Quantity

    def __str__(self) -> str:
        return (
            f"FederatedResourceQuota({self.quota}) exceeded for resource {self.resource}: "
            f"requested sum {self.requested}, limit {self.limit}."
        )

    @classmethod
    def read(cls, message: str) -> tuple[Refusal, ...]:
        """From the text that a condition keeps, as the reference has it: one sentence for each."""
        return tuple(
            cls(name, resource, quantity.parse(requested), quantity.parse(limit))
            for name, resource, requested, limit in _REFUSAL.findall(message)
        )


def refusals(name: str, overall: Usage, used: Usage, delta: Usage) -> list[Refusal]:
    """Why a quota, `<namespace>/<name>`, does not allow so much more, by resource; none: it does.

    Only resources that the quota names exactly count. If one of those that the change touches is named, all limits
    must hold afterwards.
    """
    touched = {resource: amount for resource, amount in delta.items() if amount and resource in overall}
    if not touched:
        return []
    requested = {resource: used.get(resource, ZERO) + touched.get(resource, ZERO) for resource in sorted(overall)}
    return [
        Refusal(name, resource, amount, overall[resource])
        for resource, amount in requested.items()
        if amount.nano > 0 and amount > overall[resource]
    ]


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What of a quota is used, and what it refused. `name` is `<namespace>/<name>`."""

    name: str
    overall: Usage
    used: Usage
    refused: tuple[Refusal, ...] = ()

    def exceeded(self) -> list[str]:
        """Resources of which more is used than allowed: nothing new was let through, a template asks for more."""
        return [resource for resource in sorted(self.overall) if self.used[resource] > self.overall[resource]]


@dataclass(slots=True)
class Ledger:
    """The quotas of a fleet while one build's decisions are taken one after the other."""

    limits: Mapping[str, Sequence[tuple[str, Usage]]]
    """By namespace: (`<namespace>/<name>`, overall)."""
    used: dict[str, Usage] = field(default_factory=dict)
    """By namespace, of what is placed."""
    refusals: list[Refusal] = field(default_factory=list)
    """In the order in which they were given."""

    @classmethod
    def of(cls, quotas: Iterable[FederatedResourceQuota]) -> Ledger:
        limits: dict[str, list[tuple[str, Usage]]] = {}
        for declared in sorted(quotas, key=lambda item: (item.metadata.namespace or "", item.metadata.name)):
            namespace = declared.metadata.namespace or ""
            overall = {name: quantity.parse(text) for name, text in declared.spec.overall.items()}
            limits.setdefault(namespace, []).append((f"{namespace}/{declared.metadata.name}", overall))
        return cls(limits)

    def covers(self, namespace: str) -> bool:
        return namespace in self.limits

    def count(self, namespace: str, amounts: Usage) -> None:
        """Something that is placed already."""
        if namespace in self.limits:
            self.used[namespace] = _plus(self.used.get(namespace, {}), amounts)

    def admit(self, namespace: str, before: Usage, after: Usage) -> tuple[Refusal, ...]:
        """Take a decision into account, or say which quotas do not allow it, and for which resources.

        Using less is always allowed: the reference refuses even that while a limit is exceeded, and then there is no
        way back below it.
        """
        delta = _plus(after, {name: Quantity(-amount.nano, amount.format) for name, amount in before.items()})
        if any(amount.nano > 0 for amount in delta.values()):
            used = self.used.get(namespace, {})
            refused = [
                refusal
                for name, overall in self.limits.get(namespace, ())
                for refusal in refusals(name, overall, used, delta)
            ]
            if refused:
                self.refusals.extend(refused)
                return tuple(refused)
        self.count(namespace, delta)
        return ()

    def states(self) -> Iterator[QuotaState]:
        """Of each quota, in the order of names."""
        for namespace, limits in self.limits.items():
            used = self.used.get(namespace, {})
            for name, overall in limits:
                refused = tuple(refusal for refusal in self.refusals if refusal.quota == name)
                yield QuotaState(name, overall, {resource: used.get(resource, ZERO) for resource in overall}, refused)


def used(namespace: str, bindings: Iterable[Binding], cluster: ClusterName | None = None) -> Usage:
    """What is placed uses of each resource, in all clusters together or in one."""
    total: dict[str, Quantity] = {}
    for binding in bindings:
        if binding.key.namespace == namespace:
            shares = [share for share in binding.scheduled.shares if cluster in (None, share.cluster)]
            total = _plus(total, usage(shares, binding.requirements, binding.scheduled.components))
    return total


def status(
    declared: FederatedResourceQuota, amounts: Usage, members: Mapping[ClusterName, Sequence[QuotaFacts]]
) -> dict[str, Any]:
    """As Karmada's status of a FederatedResourceQuota. `members`: what is known of ResourceQuotas in each cluster."""
    assigned = []
    for cluster, body in sorted(assignments(declared, members).items()):
        space, name = declared.metadata.namespace, declared.metadata.name
        present = next((facts for facts in members[cluster] if (facts.namespace, facts.name) == (space, name)), None)
        item: dict[str, Any] = {"clusterName": cluster, "hard": body["spec"]["hard"]}
        assigned.append(item if present is None else {**item, "used": dict(present.used)})
    return {
        "overall": dict(declared.spec.overall),
        "overallUsed": {resource: str(amounts.get(resource, ZERO)) for resource in sorted(declared.spec.overall)},
        "aggregatedStatus": assigned,
    }


def in_words(resource: str, amount: Quantity, limit: Quantity) -> tuple[str, str]:
    """An amount and its limit in units that people write; exactly where rounding would make them look the same."""
    binary = _BYTES.search(resource) is not None
    texts = quantity.readable(amount, binary=binary), quantity.readable(limit, binary=binary)
    return (str(amount), str(limit)) if texts[0] == texts[1] and amount != limit else texts


def assignments(declared: FederatedResourceQuota, clusters: Iterable[ClusterName]) -> dict[ClusterName, Body]:
    """The ResourceQuota of each existing cluster that the quota assigns something to; twice named, the first counts."""
    existing = set(clusters)
    assigned: dict[ClusterName, Body] = {}
    for assignment in declared.spec.static_assignments:
        if assignment.cluster_name in existing - assigned.keys():
            metadata: dict[str, Any] = {
                "name": declared.metadata.name,
                "namespace": declared.metadata.namespace,
                "labels": {
                    QUOTA_NAMESPACE: declared.metadata.namespace,
                    QUOTA_NAME: declared.metadata.name,
                },
            }
            if said := (declared.metadata.annotations or {}).get(CONFLICT_ANNOTATION):
                metadata["annotations"] = {CONFLICT_ANNOTATION: said}
            assigned[assignment.cluster_name] = {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": metadata,
                "spec": {"hard": dict(assignment.hard)},
            }
    return assigned


def _times(requirements: Body | None, count: int) -> dict[str, Quantity]:
    asked: Mapping[str, Any] = (requirements or {}).get("resourceRequest") or {}
    amounts: dict[str, Quantity] = {}
    for name, value in asked.items():
        try:
            amounts[name] = quantity.parse(value) * count
        except quantity.QuantityError:
            continue
    return {name: amount for name, amount in amounts.items() if amount}


def _plus(left: Usage, other: Usage) -> dict[str, Quantity]:
    names = dict.fromkeys((*left, *other))
    return {name: left.get(name, ZERO) + other.get(name, ZERO) for name in names}
