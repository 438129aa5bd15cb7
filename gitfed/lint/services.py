"""Services across clusters that reach nothing: no Service, no export, ports that it lacks, clusters that cannot.

All are warnings: what is missing may come with the next commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitfed.model.base import ClusterName, ObjectKey, Origin, Problem, Severity
from gitfed.model.declared.services import GATE, IngressBackend, MultiClusterIngress, MultiClusterService
from gitfed.model.plan import Plan
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.services import derived, routes
from gitfed.text import nearest

_Path = tuple[str | int, ...]
_MOST = 4
"""Clusters that a sentence names."""


def check(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    off = not repo.settings.gate(GATE)
    for service in repo.multicluster_services:
        if off and service.crosses_clusters:
            hint = "it is on unless spec.featureGates of the Federation says otherwise"
            yield _warning(service.origin, f"nothing is done: the feature gate {GATE} is off", hint)
        elif service.crosses_clusters:
            yield from _exposed(repo, plan, service)
    for manifest in derived.imports(repo.manifests):
        yield from _imported(repo, plan, manifest)
    for manifest in derived.exports(repo.manifests):
        yield from _exported(repo, plan, manifest)
    for ingress in repo.multicluster_ingresses:
        yield from _ingress(repo, ingress)


def _exposed(repo: RepoSnapshot, plan: Plan, service: MultiClusterService) -> Iterator[Problem]:
    manifest = repo.manifests.get(service.service)
    if manifest is None:
        message = f"there is no Service {service.namespace}/{service.name}, so nothing is shared"
        yield _warning(service.origin, message, "it has the same namespace and name", ("metadata", "name"))
        return
    yield from _kind_of_service(service.origin, manifest)
    ports = routes.ports_of(manifest)
    for i, port in enumerate(service.spec.ports):
        if not any(_is(port.name, port.port, offered) for offered in ports):
            said = f"{port.name} ({port.port})" if port.name else str(port.port)
            message = f"the Service {service.namespace}/{service.name} has no port {said}"
            yield _warning(service.origin, message, _known(ports), ("spec", "ports", i))
    for field, clusters in (("providerClusters", service.providers), ("consumerClusters", service.consumers)):
        for i, name in enumerate(clusters):
            if name not in repo.clusters:
                hint = nearest.did_you_mean(name, repo.clusters)
                yield _warning(service.origin, f"no cluster {name} is declared", hint, ("spec", field, i, "name"))
    there = (
        {share.cluster for share in plan.bindings[service.service].scheduled.shares}
        if service.service in plan.bindings
        else set()
    )
    if there and service.providers and not there.intersection(service.providers):
        yield _warning(service.origin, "the Service goes to none of the providers: it has no endpoints anywhere", "")


def _imported(repo: RepoSnapshot, plan: Plan, manifest: Manifest) -> Iterator[Problem]:
    key = manifest.key
    made = derived.service(manifest)
    if made is None:
        yield _warning(manifest.origin, f"{_said(key)} gets no Service: {derived.why_none(manifest)}", "")
    elif (mine := repo.manifests.get(made.key)) is not None:
        message = f"{_said(key)} gets no Service of its own: {mine.origin} defines it"
        yield _warning(manifest.origin, message, "its endpoints are added to that one")
    exported = ObjectKey(*derived.EXPORT, key.namespace, key.name)
    if exported not in repo.manifests:
        hint = "a ServiceExport of the same namespace and name, in the clusters that provide it"
        yield _warning(manifest.origin, f"{_said(key)} imports what no cluster exports", hint)
    elif not _placed(plan).get(exported):
        yield _warning(manifest.origin, f"{_said(key)} imports what is exported nowhere", "let a policy place it")


def _exported(repo: RepoSnapshot, plan: Plan, manifest: Manifest) -> Iterator[Problem]:
    key = manifest.key
    source = ObjectKey("", "Service", key.namespace, key.name)
    service = repo.manifests.get(source)
    if service is None:
        message = f"there is no Service {key.namespace}/{key.name} to be exported"
        yield _warning(manifest.origin, message, "it has the same namespace and name")
        return
    yield from _kind_of_service(manifest.origin, service)
    placed = _placed(plan)
    without = sorted(set(placed.get(key, ())) - set(placed.get(source, ())))
    if without:
        message = f"{_said(key)} goes to {_listed(without)}, where the Service does not go"
        yield _warning(manifest.origin, message, "let the policy of the Service select it too")


def _kind_of_service(origin: Origin, service: Manifest) -> Iterator[Problem]:
    spec = service.body.get("spec")
    if isinstance(spec, Mapping) and spec.get("type") == "ExternalName":
        message = f"the Service {service.key.namespace}/{service.key.name} is of type ExternalName: it has no endpoints"
        yield _warning(origin, message, "share one that selects pods")


def _ingress(repo: RepoSnapshot, ingress: MultiClusterIngress) -> Iterator[Problem]:
    said: set[str] = set()
    for where, backend in ingress.backends():
        service = backend.service
        if service is None or service.name in said:
            continue
        said.add(service.name)
        manifest = repo.manifests.get(ObjectKey("", "Service", ingress.namespace, service.name))
        if manifest is None:
            message = f"there is no Service {ingress.namespace}/{service.name}"
            yield _warning(ingress.origin, message, "", (*where, "service", "name"))
        elif not any(_has_port(backend, port) for port in routes.ports_of(manifest)):
            port = service.port.name or service.port.number
            message = f"the Service {ingress.namespace}/{service.name} has no port {port}"
            yield _warning(ingress.origin, message, _known(routes.ports_of(manifest)), (*where, "service", "port"))


def _has_port(backend: IngressBackend, port: Mapping[str, Any]) -> bool:
    assert backend.service is not None
    wanted = backend.service.port
    return bool(wanted.name and port.get("name") == wanted.name) or (
        wanted.number is not None and port.get("port") == wanted.number
    )


def _is(name: str, number: int, port: Mapping[str, Any]) -> bool:
    return port.get("port") == number and (not name or port.get("name") == name)


def _known(ports: Sequence[Mapping[str, Any]]) -> str:
    said = [f"{port['name']} ({port.get('port')})" if port.get("name") else str(port.get("port")) for port in ports]
    return f"it has {', '.join(said)}" if said else "it has none"


def _said(key: ObjectKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"


def _placed(plan: Plan) -> dict[ObjectKey, list[ClusterName]]:
    return {key: [share.cluster for share in binding.scheduled.shares] for key, binding in plan.bindings.items()}


def _listed(clusters: list[ClusterName]) -> str:
    shown = " ".join(clusters[:_MOST])
    return f"{shown} and {len(clusters) - _MOST} more" if len(clusters) > _MOST else shown


def _warning(origin: Origin, message: str, hint: str, path: _Path = ()) -> Problem:
    return Problem(origin, message, hint, Severity.WARNING, path=path)
