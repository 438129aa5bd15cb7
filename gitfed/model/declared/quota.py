"""FederatedResourceQuota: how much a namespace may use over all clusters together (Karmada: policies §1.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from gitfed.model.declared import names
from gitfed.model.declared.placement import Path
from gitfed.model.declared.shape import Declared, Finding, Part, Quantities, Required
from gitfed.text import quantity

_NANO = 10**9
_COUNTED = frozenset(
    {
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
"""What Kubernetes counts; of it there are no parts."""


class StaticAssignment(Part):
    cluster_name: Required
    hard: Quantities


class QuotaSpec(Part):
    overall: Quantities
    static_assignments: tuple[StaticAssignment, ...] = ()


class FederatedResourceQuota(Declared):
    kind: Literal["FederatedResourceQuota"]
    spec: QuotaSpec

    def findings(self) -> Iterator[Finding]:
        if len(self.metadata.name) > 63:
            message = f"the name has {len(self.metadata.name)} characters, at most 63 are allowed"
            yield Finding(("metadata", "name"), message)
        overall, wrong = _amounts(self.spec.overall, ("spec", "overall"))
        yield from wrong
        sums = dict.fromkeys(overall, 0)
        seen: set[str] = set()
        for i, assignment in enumerate(self.spec.static_assignments):
            where = ("spec", "staticAssignments", i)
            if why := names.why_not_dns_label(assignment.cluster_name, 48):
                yield Finding((*where, "clusterName"), f"the cluster name {assignment.cluster_name} {why}")
            if assignment.cluster_name in seen:
                yield Finding((*where, "clusterName"), f"the cluster {assignment.cluster_name} stands twice")
            seen.add(assignment.cluster_name)
            hard, wrong = _amounts(assignment.hard, (*where, "hard"))
            yield from wrong
            for resource, amount in hard.items():
                if resource not in self.spec.overall:
                    yield Finding((*where, "hard", resource), f"{resource} is not in spec.overall", "add it there")
                elif resource in sums:
                    sums[resource] += amount
        for resource, amount in overall.items():
            if amount < sums[resource]:
                message = f"overall {resource} {self.spec.overall[resource]} is less than its static assignments"
                yield Finding(("spec", "overall", resource), message)


def _amounts(quantities: Mapping[str, str], path: Path) -> tuple[dict[str, int], list[Finding]]:
    """Billionths by resource, and what is no amount of that resource."""
    amounts: dict[str, int] = {}
    wrong: list[Finding] = []
    for resource, text in quantities.items():
        try:
            amount = quantity.parse(text).nano
        except quantity.QuantityError:
            wrong.append(Finding((*path, resource), f"{text} is not a quantity", "examples: 500m, 2, 1.5Gi"))
            continue
        if amount < 0:
            wrong.append(Finding((*path, resource), f"{resource} is {text}, it must not be negative"))
        elif amount % _NANO and _is_counted(resource):
            wrong.append(Finding((*path, resource), f"{resource} is {text}, it must be a whole number"))
        else:
            amounts[resource] = amount
    return amounts, wrong


def _is_counted(resource: str) -> bool:
    """Whether only whole numbers are amounts (Kubernetes: integer and extended resources); memory has parts, too."""
    extended = "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")
    return resource in _COUNTED or extended
