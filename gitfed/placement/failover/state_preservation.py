"""State that goes with a workload: read from a copy's last known status, put as labels on the copy that takes over.

The values are written down while the cluster is well (`Decision.preserved`), so that a cluster which dies takes
nothing with it. Whether the new copy gets them is Karmada's rule (failover §2.7): the last eviction is Directly, there
is exactly one target, and it is none of the clusters that had the work before an application failover. Unlike there,
the labels stay as long as that copy does: a label that vanishes would change a running workload.

Paths are Kubernetes' JSONPath templates; `find` (`text.jsonpath.label_value`) evaluates one and is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Labels, Share
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.failover import StatePreservation
    from gitfed.model.declared.policy import Propagation

Find: TypeAlias = Callable[[str, Body], str]
"""(template, status) → the value of a label. Raises ValueError that says what was found instead."""


@dataclass(slots=True)
class States:
    """Values of the last statuses seen, kept from build to build: the same status is not read twice."""

    find: Find
    _known: dict[tuple[ObjectKey, ClusterName, int], tuple[Body, object, Labels | str]] = field(default_factory=dict)

    def values(
        self, wanted: StatePreservation, key: ObjectKey, cluster: ClusterName, status: Body | None
    ) -> Labels | str:
        """The labels, sorted, or why there are none. One path that leads nowhere is enough to have none."""
        if status is None:
            return "it has no status yet"
        place = (key, cluster, id(wanted))
        cached = self._known.get(place)
        if cached is None or cached[0] is not status or cached[1] is not wanted:
            if len(self._known) > 100_000:
                self._known.clear()
            cached = self._known[place] = (status, wanted, _read(wanted, status, self.find))
        return cached[2]


def _read(wanted: StatePreservation, status: Body, find: Find) -> Labels | str:
    labels: dict[str, str] = {}
    for rule in wanted.rules:
        try:
            labels[rule.alias_label_name] = find(rule.json_path, status)
        except ValueError as error:
            return str(error)
    return tuple(sorted(labels.items()))


def of_cluster(policy: Propagation) -> StatePreservation | None:
    """What a policy preserves when a cluster fails."""
    failover = policy.spec.failover
    return failover.cluster.state_preservation if failover is not None and failover.cluster is not None else None


def of_application(policy: Propagation) -> StatePreservation | None:
    failover = policy.spec.failover
    return failover.application.state_preservation if failover and failover.application else None


def preserves(policy: Propagation) -> bool:
    return of_cluster(policy) is not None or of_application(policy) is not None


def injected(
    decision: Decision | None, shares: tuple[Share, ...], *, enabled: bool
) -> tuple[tuple[ClusterName, Labels], ...]:
    """The labels on each copy, given where the work is now. `enabled`: gate StatefulFailoverInjection."""
    if decision is None or not enabled:
        return ()
    here = {share.cluster for share in shares}
    if decision.failover.evictions and len(shares) == 1:
        last, target = decision.failover.evictions[-1], shares[0].cluster
        if last.purge_mode == "Directly" and last.preserved and target not in last.clusters_before:
            return ((target, last.preserved),)
    return tuple(item for item in decision.failover.injected if item[0] in here)


def of(pairs: tuple[tuple[ClusterName, Labels], ...]) -> Mapping[ClusterName, Labels]:
    return dict(pairs)
