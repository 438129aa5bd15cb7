"""Services across clusters: who provides, who consumes, and what became of it: `gitfed.io/services/v1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.declared.services import MultiClusterIngress
from gitfed.model.fleet import ClusterFacts, LiveObject
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.failover import remedies
from gitfed.services import routes
from gitfed.services.exchange import Seen
from gitfed.services.routes import Route
from gitfed.views.value import ResourceRef, View, resource

SCHEMA: Literal["gitfed.io/services/v1"] = "gitfed.io/services/v1"


class EndpointsView(View):
    """The endpoints of a Service in one cluster."""

    cluster: str
    state: str | None
    """Of a provider: `read`, `unknown` (not read yet, or the daemon is cut off) or `failed` (its endpoints are taken
    out everywhere). null: nobody looked."""
    endpoints: int | None
    """null: nobody looked. Of a consumer those that came from other clusters."""
    ready: int | None
    pending: int | None
    """Slices that are not as they should be here."""
    error: str
    """Why, in the cluster's words."""


class ConditionView(View):
    """As Karmada has it."""

    type: str
    status: str
    reason: str
    message: str


class LocationView(View):
    """Where a backend of a MultiClusterIngress is."""

    name: str
    clusters: list[str]


class ServiceView(View):
    """A MultiClusterService, a ServiceImport, or a MultiClusterIngress."""

    kind: str
    namespace: str
    name: str
    source: ResourceRef | None
    """The Service that is shared; null of an ingress."""
    target: ResourceRef | None
    """The Service that gets the endpoints."""
    providers: list[EndpointsView]
    consumers: list[EndpointsView]
    conditions: list[ConditionView]
    """`ServiceApplied` and `EndpointSliceDispatched`; none while nobody looked."""
    serviceLocations: list[LocationView]
    """Of an ingress."""
    trafficBlockClusters: list[str]
    """Of an ingress: clusters where a Remedy asks for TrafficControl."""
    origin: str


class ServiceList(View):
    """Services across clusters, by kind, namespace and name."""

    schema: Literal["gitfed.io/services/v1"]
    items: list[ServiceView]


Copies = Mapping[ClusterName, LiveObject]


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of clusters; None: nobody looked."""

    facts: Mapping[ClusterName, ClusterFacts]
    copies: Mapping[ObjectKey, Copies] | None = None
    """Of the Services that are shared."""
    seen: Seen | None = None


def items(repo: RepoSnapshot, plan: Plan, look: Look, namespace: str = "") -> Iterator[ServiceView]:
    placed = {key: [share.cluster for share in one.shares] for key, one in plan.bindings.items()}
    for route in routes.of(repo, placed):
        if namespace in ("", route.by.namespace):
            yield _route(repo, route, placed, look)
    for ingress in sorted(repo.multicluster_ingresses, key=lambda one: one.key):
        if namespace in ("", ingress.namespace):
            yield _ingress(repo, ingress, placed, look)


def concerns(item: ServiceView, cluster: ClusterName) -> bool:
    """Whether a cluster has to do with it; "": any."""
    found = {one["cluster"] for one in (*item["providers"], *item["consumers"])}
    found |= {name for one in item["serviceLocations"] for name in one["clusters"]}
    return not cluster or cluster in found


def targets(repo: RepoSnapshot, plan: Plan) -> frozenset[ObjectKey]:
    """The Services of which copies are looked at."""
    placed = {key: [share.cluster for share in one.shares] for key, one in plan.bindings.items()}
    return frozenset(key for route in routes.of(repo, placed) for key in (route.source, route.target))


def _route(repo: RepoSnapshot, route: Route, placed: routes.Placed, look: Look) -> ServiceView:
    key = route.by
    manifest = repo.manifests.get(key)
    origin = manifest.origin if manifest is not None else repo.origins[key]
    providers = [_endpoints(route.source, name, look.seen) for name in sorted(route.providers)]
    consumers = [_endpoints(route.by, name, look.seen) for name in sorted(route.consumers)]
    return {
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "source": resource(route.source, "v1"),
        "target": resource(route.target, "v1"),
        "providers": providers,
        "consumers": consumers,
        "conditions": [*_applied(route, placed, look), *_dispatched(consumers, look)],
        "serviceLocations": [],
        "trafficBlockClusters": [],
        "origin": str(origin),
    }


def _endpoints(key: ObjectKey, cluster: ClusterName, seen: Seen | None) -> EndpointsView:
    found = seen.get((key, cluster)) if seen is not None else None
    return {
        "cluster": cluster,
        "state": found.state or None if found is not None else None,
        "endpoints": found.count if found is not None else None,
        "ready": found.ready if found is not None else None,
        "pending": found.left if found is not None else None,
        "error": found.error if found is not None else "",
    }


def _applied(route: Route, placed: routes.Placed, look: Look) -> Iterator[ConditionView]:
    if look.copies is None:
        return
    copies = look.copies.get(route.target, {})
    without = [name for name in sorted(placed.get(route.target, ())) if name not in copies or not copies[name].ours]
    if without:
        said = f"not in {', '.join(without)}"
        yield _condition("ServiceApplied", "False", "ServiceAppliedFailed", said)
    else:
        said = "Service is propagated to target clusters."
        yield _condition("ServiceApplied", "True", "ServiceAppliedSucceed", said)


def _dispatched(consumers: list[EndpointsView], look: Look) -> Iterator[ConditionView]:
    if look.seen is None:
        return
    late = [f"{one['cluster']}: {one['error'] or 'on its way'}" for one in consumers if one["pending"]]
    if late:
        yield _condition("EndpointSliceDispatched", "False", "EndpointSliceDispatchedFailed", "; ".join(late))
    else:
        said = "EndpointSlice are dispatched successfully"
        yield _condition("EndpointSliceDispatched", "True", "EndpointSliceDispatchedSucceed", said)


def _condition(kind: str, status: str, reason: str, message: str) -> ConditionView:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _ingress(repo: RepoSnapshot, one: MultiClusterIngress, placed: routes.Placed, look: Look) -> ServiceView:
    backends = sorted({backend.service.name for _, backend in one.backends() if backend.service is not None})
    locations: list[LocationView] = [
        {"name": name, "clusters": sorted(placed.get(ObjectKey("", "Service", one.namespace, name), ()))}
        for name in backends
    ]
    blocked = [
        name
        for name in sorted(repo.clusters)
        if "TrafficControl"
        in remedies.actions(repo.remedies, name, look.facts[name].conditions if name in look.facts else ())
    ]
    return {
        "kind": one.kind,
        "namespace": one.namespace,
        "name": one.name,
        "source": None,
        "target": None,
        "providers": [],
        "consumers": [],
        "conditions": [],
        "serviceLocations": locations,
        "trafficBlockClusters": blocked,
        "origin": str(one.origin),
    }
