"""Where the Service of a MultiClusterService goes: to its providers and its consumers (Karmada: §6).

A MultiClusterService is a policy for one object, and comes before any other that selects it, as in the reference. What
is not ours under that name is left alone: the reference takes it over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gitfed.model.declared.placement import ClusterAffinity, Placement, ResourceSelector
from gitfed.model.declared.policy import Propagation, PropagationSpec
from gitfed.model.declared.services import GATE, MultiClusterService
from gitfed.model.repo import RepoSnapshot


class ServicePolicy(Propagation):
    """What a MultiClusterService says as a policy."""

    kind: Literal["MultiClusterService"]  # type: ignore[assignment]


def policies(repo: RepoSnapshot) -> tuple[Propagation, ...]:
    """One for each MultiClusterService that crosses clusters; none where the feature gate is off."""
    return tuple(policy(service) for service in acted_on(repo))


def acted_on(repo: RepoSnapshot) -> Iterable[MultiClusterService]:
    return (
        (service for service in repo.multicluster_services if service.crosses_clusters)
        if repo.settings.gate(GATE)
        else ()
    )


def policy(declared: MultiClusterService) -> Propagation:
    providers, consumers = declared.providers, declared.consumers
    # Where either names none, every cluster is one.
    named = tuple(sorted({*providers, *consumers})) if providers and consumers else ()
    key = declared.service
    spec = PropagationSpec(
        resource_selectors=(ResourceSelector(api_version="v1", kind=key.kind, namespace=key.namespace, name=key.name),),
        placement=Placement(cluster_affinity=ClusterAffinity(cluster_names=named) if named else None),
    )
    made = ServicePolicy(
        api_version=declared.api_version, kind="MultiClusterService", metadata=declared.metadata, spec=spec
    )
    return made.at(declared.origin)
