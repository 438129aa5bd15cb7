"""Objects that stay in clusters where their template does not go any more, and whether gitfed still manages them.

A deleted policy leaves orphans, a preserved object outlives the move, a namespace stays with what is in it. So no
printer counts these objects among the deleted ones. Objects that only wait for their deletion are not among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from gitfed.model.base import ClusterName, Kind, ObjectKey
from gitfed.model.decisions import Decision
from gitfed.model.keys import PRUNE_ANNOTATION
from gitfed.model.plan import Action, Binding, Change, Plan
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning import build
from gitfed.planning.objects import prune
from gitfed.planning.review import leftovers

Kept = Mapping[ClusterName, Reason]
NONE: Kept = MappingProxyType({})
InUse = Mapping[tuple[ClusterName, ObjectKey], str]
"""Namespaces and definitions that hold something of others, each with what that is."""
_HOLDERS = (Kind("", "Namespace"), Kind("apiextensions.k8s.io", "CustomResourceDefinition"))

UNMANAGED = frozenset(
    {
        ReasonCode.LABEL_STRIPPED,
        ReasonCode.ORPHANED,
        ReasonCode.PRUNING_OFF,
        ReasonCode.PRUNE_DISABLED,
        ReasonCode.PRESERVED,
        ReasonCode.DELETION_PROTECTED,
        ReasonCode.CLUSTER_UNDECLARED,
    }
)
"""What is kept for these reasons stays for good: gitfed neither writes nor deletes it until a person changes that."""
_WAITING = frozenset(
    {
        ReasonCode.TERMINATING,
        ReasonCode.NOT_OBSERVED,
        ReasonCode.REPLACEMENT_AWAITED,
        ReasonCode.EVICTION_WAITS,
    }
)
"""What is kept for these reasons is on its way out."""


def of_changes(changes: Iterable[Change]) -> dict[ObjectKey, dict[ClusterName, Reason]]:
    """By object and cluster: what stays, and why."""
    reasons: dict[ObjectKey, dict[ClusterName, Reason]] = {}
    for change in changes:
        if change.action is Action.KEEP and change.reason.code not in _WAITING:
            reasons.setdefault(change.key, {})[change.cluster] = change.reason
    return reasons


def may_be_in_use(change: Change) -> bool:
    """Whether other objects may go with what a change deletes: it is a namespace, or defines a kind."""
    return change.action is Action.DELETE and change.key[:2] in _HOLDERS


def with_in_use(plan: Plan, in_use: InUse) -> Plan:
    """The plan as it will come out: what holds something of others stays, and says so.

    A build does not know that, so it wants the deletion, and whoever carries it out asks again until it may be done.
    The digest stays that of the build: it is the same plan.
    """
    if not in_use or plan.changes is None:
        return plan
    changes = tuple(
        replace(change, action=Action.KEEP, reason=Reason(ReasonCode.IN_USE_BY_OTHERS, detail=left))
        if may_be_in_use(change) and (left := in_use.get((change.cluster, change.key)))
        else change
        for change in plan.changes
    )
    return replace(plan, changes=changes, totals=build.totals(changes, of_clusters=plan.totals.of_clusters))


def by_decision(binding: Binding | None, past: Decision | None, before: Collection[ClusterName]) -> Kept:
    """The same without a look into the clusters, of the copies in `before`. `past`: the decision on record."""
    if binding is None:
        return (
            dict.fromkeys(before, _LASTING[past.ownership.preserve])
            if past and (past.ownership.preserve or past.ownership.kept)
            else NONE
        )
    left = set(before) - binding.scheduled.clusters
    if not left:
        return NONE
    if leftovers.is_orphan(binding):
        return {name: Reason(ReasonCode.ORPHANED) for name in left if not prune.came_as_dependency(binding, name)}
    if leftovers.outlives(binding):
        return dict.fromkeys(left, _LASTING[binding.terms.preserve])
    behind = past.ownership.left_behind if past is not None else ()
    return {name: Reason(ReasonCode.PRESERVED) for name in left.intersection(behind)}


_LASTING = {
    True: Reason(ReasonCode.PRESERVED),
    False: Reason(ReasonCode.PRUNE_DISABLED, PRUNE_ANNOTATION),
}


def why(said: str, kept: Kept) -> str:
    """The WHY column of an object with copies that stay. `said`: why it does not go there any more."""
    words = in_words(kept.values())
    needed = {str(reason) for reason in kept.values() if reason.code is ReasonCode.NEEDED}
    if len(needed) == 1 and len(kept) == sum(reason.code is ReasonCode.NEEDED for reason in kept.values()):
        return f"{words}: {needed.pop()}"  # that nothing needs it any more is true of the commit, not of what runs
    return "; ".join(filter(None, (said, words)))


def in_words(reasons: Collection[Reason]) -> str:
    """`3 copies stay, not managed any more`; "" when none does. `reasons`: one for each copy."""
    unmanaged = sum(1 for reason in reasons if reason.code in UNMANAGED)
    parts = [
        f"{number} {'copy stays' if number == 1 else 'copies stay'}{said}"
        for number, said in ((unmanaged, ", not managed any more"), (len(reasons) - unmanaged, ""))
        if number
    ]
    return "; ".join(parts)
