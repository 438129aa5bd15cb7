"""What each cluster gets to do of a plan."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.reason import ReasonCode
from gitfed.text.values import dataclass


@dataclass(slots=True)
class WorkList:
    changes: list[Change] = field(default_factory=list)
    orphans: list[InventoryEntry] = field(default_factory=list)
    """Entries of the inventory whose object is left where it is from now on."""


def work_lists(
    plan: Plan, clusters: Collection[ClusterName], waiting: Collection[ObjectKey]
) -> dict[ClusterName, WorkList]:
    """Of each of these clusters. `waiting`: objects that are not to be touched yet; another plan will hand them
    over."""
    lists = {name: WorkList() for name in clusters}
    for change in plan.changes or ():
        work = lists.get(change.cluster)
        if work is None or change.turn.waits or change.key in waiting:
            continue
        if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE):
            work.changes.append(change)
        elif change.action is Action.KEEP and change.reason.code is ReasonCode.ORPHANED and change.live is not None:
            entry = change.live.entry
            if entry is not None and not entry.orphaned:
                work.orphans.append(replace(entry, orphaned=True))
    return lists
