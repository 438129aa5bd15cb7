"""Services across clusters: who provides, who consumes, and what became of it: `gitfed.io/services/v1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from gitfed.text.values import dataclass
from gitfed.views.value import ResourceRef, View, resource

SCHEMA: Literal["gitfed.io/services/v1"] = "gitfed.io/services/v1"


class EndpointsView(View):
    """The endpoints of a Service in one cluster."""

    cluster: str
    state: str | None
    """Of a provider: `read`, `unknown` (not read yet, or the daemon is cut off) or `failed` (its endpoints are taken
    out everywhere). null: the cluster was not observed."""
    endpoints: int | None
    """null: the cluster was not observed. Of a consumer: those that came from other clusters."""
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
    """`ServiceApplied` and `EndpointSliceDispatched`; none until the clusters were observed."""
    serviceLocations: list[LocationView]
    """Of an ingress."""
    trafficBlockClusters: list[str]
    """Of an ingress: clusters where a Remedy asks for TrafficControl."""
    origin: str


class ServiceList(View):
    """Services across clusters, by kind, namespace and name."""

    schema: Literal["gitfed.io/services/v1"]
    items: list[ServiceView]


LiveObjects = Mapping[ClusterName, LiveObject]


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed of clusters; None: they were not observed."""

    facts: Mapping[ClusterName, ClusterFacts]
    live: Mapping[ObjectKey, LiveObjects] | None = None
    """The Services that are shared, as clusters have them."""
    seen: Seen | None = None


def items(repo: RepoSnapshot, plan: Plan, observed: Observed, namespace: str = "") -> Iterator[ServiceView]:
    placed = {key: [share.cluster for share in binding.scheduled.shares] for key, binding in plan.bindings.items()}
    for route in routes.of(repo, placed):
        if namespace in ("", route.by.namespace):
            yield _route(repo, route, placed, observed)
    for ingress in sorted(repo.multicluster_ingresses, key=lambda declared: declared.key):
        if namespace in ("", ingress.namespace):
            yield _ingress(repo, ingress, placed, observed)


def concerns(item: ServiceView, cluster: ClusterName) -> bool:
    """Whether it involves a cluster; "": any."""
    involved = {endpoints["cluster"] for endpoints in (*item["providers"], *item["consumers"])}
    involved |= {name for location in item["serviceLocations"] for name in location["clusters"]}
    return not cluster or cluster in involved


def targets(repo: RepoSnapshot, plan: Plan) -> frozenset[ObjectKey]:
    """The Services that are looked at in clusters."""
    placed = {key: [share.cluster for share in binding.scheduled.shares] for key, binding in plan.bindings.items()}
    return frozenset(key for route in routes.of(repo, placed) for key in (route.source, route.target))


def _route(repo: RepoSnapshot, route: Route, placed: routes.Placed, observed: Observed) -> ServiceView:
    key = route.by
    manifest = repo.manifests.get(key)
    origin = manifest.origin if manifest is not None else repo.origins[key]
    providers = [_endpoints(route.source, name, observed.seen) for name in sorted(route.providers)]
    consumers = [_endpoints(route.by, name, observed.seen) for name in sorted(route.consumers)]
    return {
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "source": resource(route.source, "v1"),
        "target": resource(route.target, "v1"),
        "providers": providers,
        "consumers": consumers,
        "conditions": [*_applied(route, placed, observed), *_dispatched(consumers, observed)],
        "serviceLocations": [],
        "trafficBlockClusters": [],
        "origin": str(origin),
    }


def _endpoints(key: ObjectKey, cluster: ClusterName, seen: Seen | None) -> EndpointsView:
    endpoints = seen.get((key, cluster)) if seen is not None else None
    return {
        "cluster": cluster,
        "state": endpoints.state or None if endpoints is not None else None,
        "endpoints": endpoints.count if endpoints is not None else None,
        "ready": endpoints.ready if endpoints is not None else None,
        "pending": endpoints.left if endpoints is not None else None,
        "error": endpoints.error if endpoints is not None else "",
    }


def _applied(route: Route, placed: routes.Placed, observed: Observed) -> Iterator[ConditionView]:
    if observed.live is None:
        return
    live = observed.live.get(route.target, {})
    without = [name for name in sorted(placed.get(route.target, ())) if name not in live or not live[name].ours]
    if without:
        said = f"not in {', '.join(without)}"
        yield _condition("ServiceApplied", "False", "ServiceAppliedFailed", said)
    else:
        said = "Service is propagated to target clusters."
        yield _condition("ServiceApplied", "True", "ServiceAppliedSucceed", said)


def _dispatched(consumers: list[EndpointsView], observed: Observed) -> Iterator[ConditionView]:
    if observed.seen is None:
        return
    late = [
        f"{consumer['cluster']}: {consumer['error'] or 'on its way'}" for consumer in consumers if consumer["pending"]
    ]
    if late:
        yield _condition("EndpointSliceDispatched", "False", "EndpointSliceDispatchedFailed", "; ".join(late))
    else:
        said = "EndpointSlice are dispatched successfully"
        yield _condition("EndpointSliceDispatched", "True", "EndpointSliceDispatchedSucceed", said)


def _condition(kind: str, status: str, reason: str, message: str) -> ConditionView:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _ingress(
    repo: RepoSnapshot, ingress: MultiClusterIngress, placed: routes.Placed, observed: Observed
) -> ServiceView:
    backends = sorted({backend.service.name for _, backend in ingress.backends() if backend.service is not None})
    locations: list[LocationView] = [
        {"name": name, "clusters": sorted(placed.get(ObjectKey("", "Service", ingress.namespace, name), ()))}
        for name in backends
    ]
    blocked = [
        name
        for name in sorted(repo.clusters)
        if "TrafficControl"
        in remedies.actions(repo.remedies, name, observed.facts[name].conditions if name in observed.facts else ())
    ]
    return {
        "kind": ingress.kind,
        "namespace": ingress.namespace,
        "name": ingress.name,
        "source": None,
        "target": None,
        "providers": [],
        "consumers": [],
        "conditions": [],
        "serviceLocations": locations,
        "trafficBlockClusters": blocked,
        "origin": str(ingress.origin),
    }
