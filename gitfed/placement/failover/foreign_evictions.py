"""Evictions that another writer put on the state branch: whether anything is behind one, and what holds without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName, Kind
from gitfed.model.decisions import Decision, Share
from gitfed.model.fleet import LiveObject, Reach
from gitfed.placement.failover import eviction
from gitfed.placement.failover.failover_context import FailoverContext
from gitfed.placement.failover.taints import FAILOVER

if TYPE_CHECKING:
    from gitfed.model.declared.placement import Toleration


def is_backed(
    decision: Decision,
    cluster: ClusterName,
    tolerations: tuple[Toleration, ...],
    copies: Mapping[ClusterName, LiveObject],
    scene: FailoverContext,
) -> bool | None:
    """Whether something that is so now is behind an eviction: a taint that is not tolerated, a cluster that fails, or a
    copy that is ill. None: that cannot be told yet, and nothing is deleted there meanwhile."""
    seen, record = scene.clusters.get(cluster), scene.tainted.records.get(cluster)
    if seen is None or not seen.asked or scene.tainted.cut_off:
        return None
    if record is not None and record.reach is not Reach.READY:
        # Its taint comes when the cluster has failed for long enough; what comes back before that is looked at then.
        return True if eviction.because_of_taints(record, tolerations, scene, []) else None
    if record is not None:
        # Ready again, it may bear our own taint for a moment: that one is no reason any more.
        present = replace(record, taints=tuple(taint for taint in record.taints if taint.by != FAILOVER))
        if eviction.because_of_taints(present, tolerations, scene, []):
            return True
    if not seen.inventory_read or Kind(decision.key.group, decision.key.kind) in seen.unread:
        return None
    copy = copies.get(cluster)
    return copy is not None and bool(copy.uid) and scene.reader.collect(copy)[0] is False


def without(decision: Decision, cluster: ClusterName, copies: Mapping[ClusterName, LiveObject]) -> Decision:
    """As if it had never been evicted: a copy that is there is one of its targets again, so that nothing deletes it."""
    tasks = [task for task in decision.failover.evictions if task.from_cluster == cluster]
    copy, shares = copies.get(cluster), decision.scheduled.shares
    if copy is not None and copy.uid and copy.ours and all(share.cluster != cluster for share in shares):
        count = tasks[0].raw.get("replicas") if tasks else None
        replicas = (
            count if isinstance(count, int) and decision.scheduled.replicas is not None else decision.scheduled.replicas
        )
        shares = tuple(sorted((*shares, Share(cluster, replicas))))
    return replace(
        decision,
        scheduled=replace(decision.scheduled, shares=shares),
        failover=replace(
            decision.failover,
            evictions=tuple(task for task in decision.failover.evictions if task.from_cluster != cluster),
            cleared=tuple(name for name in decision.failover.cleared if name != cluster),
        ),
    )
