"""Orders of a person, applied to the changes of a plan: what is suspended is skipped, what is to go goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitfed.model.operator_orders import Removal, Suspension
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode

_ACTS = (Action.CREATE, Action.UPDATE, Action.DELETE)


def suspend(changes: Sequence[Change], suspensions: Iterable[Suspension]) -> list[Change]:
    """Nothing is written to what is suspended, deletions included."""
    standing = [suspension for suspension in suspensions if not suspension.scheduling]
    if not standing:
        return list(changes)
    return [_suspended(change, standing) for change in changes]


def _suspended(change: Change, standing: Sequence[Suspension]) -> Change:
    if change.action not in _ACTS:
        return change
    suspension = next((suspension for suspension in standing if suspension.covers(change.cluster, change.key)), None)
    if suspension is None:
        return change
    return replace(change, action=Action.SKIP, reason=Reason(ReasonCode.SUSPENDED_BY_ORDER, detail=str(suspension)))


def remove(changes: Sequence[Change], removals: Iterable[Removal]) -> list[Change]:
    """Objects that were kept, and that a person named one by one, are deleted: those very objects, by their uid.

    No gate counts them: they are named, and there is nobody left to ask.
    """
    wanted = {(removal.cluster, removal.object, removal.uid): removal for removal in removals}
    if not wanted:
        return list(changes)
    return [_removed(change, wanted) for change in changes]


def _removed(change: Change, wanted: dict[tuple[str, str, str], Removal]) -> Change:
    if change.action is not Action.KEEP or change.move or change.live is None or not change.live.ours:
        return change
    removal = wanted.get((change.cluster, str(change.key), change.live.uid))
    if removal is None or change.reason.code is ReasonCode.NOT_OBSERVED:
        return change
    return replace(change, action=Action.DELETE, reason=Reason(ReasonCode.REMOVED_BY_ORDER, removal.by))
