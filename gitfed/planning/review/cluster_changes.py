"""Clusters that two commits declare otherwise, and the policies to which that makes a difference.

A label, a region or a taint of one cluster matters to few of a repository's templates: to those whose policy chooses
clusters by it, and to those that an override changes by it. What is observed of a cluster is not looked at here; for
two plans from the same facts it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.fleet import ClusterFacts
from gitfed.placement.failover.taints import NO_EXECUTE
from gitfed.placement.scheduling import affinity, cluster, filters
from gitfed.placement.scheduling.affinity import Predicate
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.cluster import Cluster
    from gitfed.model.declared.policy import Override, Placement, Propagation


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A cluster that both commits declare, and not alike."""

    before: Candidate
    after: Candidate

    @property
    def drives_out(self) -> bool:
        """Whether what runs there may have to leave: then the time of it counts, and how many do."""
        sides = [{taint for taint in side.taints if taint.effect == NO_EXECUTE} for side in (self.before, self.after)]
        return sides[0] != sides[1]


def of(base: Mapping[ClusterName, Cluster], head: Mapping[ClusterName, Cluster]) -> list[Relabelled]:
    """By name. Clusters that only one side declares are left out."""
    names = sorted(name for name in base.keys() & head.keys() if base[name] is not head[name])
    both = (
        Relabelled(*(cluster.candidate(side[name], ClusterFacts(name)) for side in (base, head)))
        for name in names
        if base[name] != head[name]
    )
    return [change for change in both if change.before != change.after]


def overriding(clusters: Sequence[Relabelled], policies: Sequence[Override]) -> Iterator[Override]:
    """Override policies of which a rule hits one of the clusters on one side only."""
    for policy in policies:
        targets = [affinity.compile(rule.target_cluster) for rule in policy.spec.rules]
        if any(_differs(matches, change) for matches in targets for change in clusters):
            yield policy


def choosing(clusters: Sequence[Relabelled], policies: Sequence[Propagation]) -> Iterator[Propagation]:
    """Propagation policies that choose clusters by what differs."""
    for policy in policies:
        if any(_chooses(policy.spec.placement, change) for change in clusters):
            yield policy


def repelled(change: Relabelled, policies: Sequence[Propagation]) -> Iterator[Propagation]:
    """Propagation policies whose templates a taint keeps out on one side only: those that are not there already."""
    for policy in policies:
        placement = policy.spec.placement
        demand = filters.FilterQuery("", "", affinity.everywhere, placement.cluster_tolerations or ())
        kept_out = [any(filters.untolerated(demand, side)) for side in (change.before, change.after)]
        if kept_out[0] is not kept_out[1] and any(matches(change.after) for matches in _targets(placement)):
            yield policy


def _targets(placement: Placement) -> list[Predicate]:
    return [matches for term in affinity.terms(placement) for matches in (term.matches, *term.overflow)]


def _chooses(placement: Placement, change: Relabelled) -> bool:
    matching = _targets(placement)
    preference = placement.replica_scheduling.weight_preference if placement.replica_scheduling is not None else None
    if preference is not None:
        matching += [affinity.compile(entry.target_cluster) for entry in preference.static_weight_list or ()]
    where = [(side.provider, side.region, side.zones) for side in (change.before, change.after)]
    return any(_differs(matches, change) for matches in matching) or (
        bool(placement.spread_constraints) and where[0] != where[1]
    )


def _differs(matches: Predicate, change: Relabelled) -> bool:
    return matches(change.before) is not matches(change.after)
