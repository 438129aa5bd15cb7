"""The members of a fleet: `gitfed.io/clusters/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NotRequired

from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterFacts
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs
from gitfed.placement.failover import remedies, step
from gitfed.placement.scheduling.cluster import Candidate, candidate
from gitfed.planning import place
from gitfed.views import capacity
from gitfed.views.value import View


class NodeCount(View):
    """How many nodes a cluster has."""

    ready: int
    total: int


class ClusterView(View):
    """One cluster."""

    name: str
    version: str
    """Of Kubernetes; "" until the cluster was observed."""
    mode: str
    """Push or Pull."""
    state: str
    """Ready, NotReady or Unknown."""
    assumed: bool
    """The cluster was not observed: it is taken to be ready."""
    region: str
    provider: str
    zones: list[str]
    taints: list[str]
    remedyActions: list[str]
    """That Remedies ask for there now, sorted; see who controls the traffic."""
    objects: int
    """That are placed there."""
    labels: dict[str, str]
    declared: str | None
    """`FILE:LINE:COLUMN`; null: only the facts know it."""
    apiEndpoint: str
    proxyURL: str
    nodes: NodeCount | None
    """null: not known."""
    room: dict[str, capacity.RoomView] | None
    """What pods ask for of what nodes have, by resource; null: not known."""


class ClusterList(View):
    """Clusters, by name."""

    schema: Literal["gitfed.io/clusters/v1"]
    items: list[ClusterView]
    total: NotRequired[int]
    """Of the whole list, in an answer of the API."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def candidates(repo: RepoSnapshot, facts: Mapping[ClusterName, ClusterFacts], plan: Plan) -> list[Candidate]:
    """Every cluster, declared or only in the facts, as placement sees it, with the taints of `plan`; by name."""
    every = (
        candidate(repo.clusters.get(name), facts.get(name) or ClusterFacts(name, assumed=True))
        for name in sorted(repo.clusters.keys() | facts.keys())
    )
    tainted = step.marked(tuple(every), plan.records, plan.outage, repo, plan.now)
    return [replace(cluster, capacity=place.capacity_of(cluster, repo.settings)) for cluster in tainted]


def item(cluster: Candidate, repo: RepoSnapshot, objects: int) -> ClusterView:
    """`objects`: how many are placed there."""
    facts, declared = cluster.facts, repo.clusters.get(cluster.name)
    elsewhere = ((facts.declared if facts else None) or {}).get("spec") or {}
    proxy = declared.spec.proxy_url if declared else elsewhere.get("proxyURL", "")
    return {
        "name": cluster.name,
        "version": facts.kubernetes_version if facts else "",
        "mode": (declared.spec.sync_mode if declared else elsewhere.get("syncMode", "")) or "",
        "state": cluster.reach.value,
        "assumed": facts is None or facts.assumed,
        "region": cluster.region,
        "provider": cluster.provider,
        "zones": list(cluster.zones),
        "taints": [str(taint) for taint in cluster.taints],
        "remedyActions": [*remedies.actions(repo.remedies, cluster.name, facts.conditions if facts else ())],
        "objects": objects,
        "labels": dict(cluster.labels),
        "declared": str(declared.origin) if declared else None,
        "apiEndpoint": (declared.spec.api_endpoint if declared else elsewhere.get("apiEndpoint", "")) or "",
        "proxyURL": inputs.without_credentials(proxy or ""),
        "nodes": _nodes(facts),
        "room": capacity.item(capacity.of_cluster(facts)),
    }


def _nodes(facts: ClusterFacts | None) -> NodeCount | None:
    counted = capacity.node_count(facts)
    return None if counted is None else {"ready": counted[0], "total": counted[1]}
