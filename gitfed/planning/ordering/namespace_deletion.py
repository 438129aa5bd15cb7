"""A namespace goes when what is in it has gone: as far as the plan knows, here; the rest is asked of the cluster.

The plan sees objects of ours, and those of others that were looked at because they are in our way. What else somebody
put into a namespace only the cluster knows: whoever deletes it asks first (`edges.kube.deletion_check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import LiveState
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode


def hold(changes: Sequence[Change], live: LiveState) -> list[Change]:
    """The changes, with the deletions of namespaces that still hold something we see turned into keeps."""
    going = {(change.cluster, change.key.name) for change in changes if _is_deletion(change)}
    if not going:
        return list(changes)
    left = _left(live, going)
    return [
        replace(
            change,
            action=Action.KEEP,
            reason=Reason(ReasonCode.NAMESPACE_IN_USE, str(left[change.cluster, change.key.name])),
        )
        if _is_deletion(change) and (change.cluster, change.key.name) in left
        else change
        for change in changes
    ]


def _is_deletion(change: Change) -> bool:
    return change.action is Action.DELETE and change.key.kind == "Namespace" and not change.key.group


def _left(live: LiveState, going: set[tuple[ClusterName, str]]) -> Mapping[tuple[ClusterName, str], ObjectKey]:
    clusters: dict[str, list[ClusterName]] = {}
    for cluster, space in going:
        clusters.setdefault(space, []).append(cluster)
    remaining: dict[tuple[ClusterName, str], ObjectKey] = {}
    for key, copies in live.objects.items():
        for cluster in clusters.get(key.namespace, ()):
            copy = copies.get(cluster)
            if copy is not None and copy.uid:
                remaining.setdefault((cluster, key.namespace), key)
    return remaining
