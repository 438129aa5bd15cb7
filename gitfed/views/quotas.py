"""Federated quotas, and what is used of them: `gitfed.io/quotas/v1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NotRequired

from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterFacts
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.capacity import quota
from gitfed.planning.ordering import gate as gates
from gitfed.text import quantity
from gitfed.views.value import View

SCHEMA: Literal["gitfed.io/quotas/v1"] = "gitfed.io/quotas/v1"


class QuotaName(View):
    """Where a quota is."""

    namespace: str
    name: str


class AssignedView(View):
    """A part of a quota that one cluster has for itself."""

    clusterName: str
    hard: dict[str, str]
    used: NotRequired[dict[str, str]]
    """As the cluster counts it; missing until the cluster was observed."""


class QuotaStatus(View):
    """As Karmada's status of a FederatedResourceQuota."""

    overall: dict[str, str]
    overallUsed: dict[str, str]
    aggregatedStatus: list[AssignedView]


class UsedView(View):
    """One resource that a quota limits, in all clusters or where a part of it is assigned."""

    cluster: str | None
    """null: all clusters together."""
    resource: str
    used: str
    limit: str
    state: str
    """ok, exceeded, or `refuses work`."""


class QuotaView(View):
    """One quota."""

    apiVersion: str
    kind: str
    metadata: QuotaName
    status: QuotaStatus
    resources: list[UsedView]
    origin: str


class QuotaList(View):
    """Quotas, by namespace and name."""

    schema: Literal["gitfed.io/quotas/v1"]
    items: list[QuotaView]


def items(
    repo: RepoSnapshot, facts: Mapping[ClusterName, ClusterFacts], plan: Plan, namespace: str = "", cluster: str = ""
) -> Iterator[QuotaView]:
    """Of one namespace, or all; `resources` of one cluster, or all."""
    inside = {name: facts[name].quotas if name in facts else () for name in plan.clusters}
    held = {gate.name for gate in plan.gates if gate.held}
    placed = tuple(plan.bindings.values())
    for declared in sorted(repo.quotas, key=lambda declared: declared.key):
        space = declared.metadata.namespace or ""
        if namespace and space != namespace:
            continue
        used = quota.used(space, placed)
        status = quota.status(declared, used, inside)
        parts: list[tuple[str | None, Mapping[str, str], quota.Usage]] = [(None, declared.spec.overall, used)]
        for part in status["aggregatedStatus"]:
            where = part["clusterName"]
            parts.append((where, part["hard"], quota.used(space, placed, where)))
        name = f"{space}/{declared.metadata.name}"
        yield {
            "apiVersion": declared.api_version,
            "kind": declared.kind,
            "metadata": {"namespace": space, "name": declared.metadata.name},
            "status": {
                "overall": dict(sorted(status["overall"].items())),
                "overallUsed": status["overallUsed"],
                "aggregatedStatus": status["aggregatedStatus"],
            },
            "resources": [view for part in parts if cluster in ("", part[0]) for view in _resources(name, *part, held)],
            "origin": str(declared.origin),
        }


def _resources(
    name: str, cluster: str | None, limits: Mapping[str, str], amounts: quota.Usage, held: set[str]
) -> Iterator[UsedView]:
    for resource, text in sorted(limits.items()):
        amount, limit = amounts.get(resource, quantity.ZERO), quantity.parse(text)
        used, most = quota.in_words(resource, amount, limit)
        refuses = cluster is None and gates.of_quota(name, resource) in held
        state = "exceeded" if amount > limit else "refuses work" if refuses else "ok"
        yield {"cluster": cluster, "resource": resource, "used": used, "limit": most, "state": state}


def typed(view: QuotaView) -> str:
    """`FederatedResourceQuota/shop/budget`."""
    return f"{view['kind']}/{view['metadata']['namespace']}/{view['metadata']['name']}"
