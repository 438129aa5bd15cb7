"""How long a workload stays in a tainted cluster (Karmada: failover §2.2, §2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitfed.model.decisions import TimedTaint
from gitfed.model.declared.placement import Toleration
from gitfed.model.keys import NOT_READY, UNREACHABLE
from gitfed.placement.scheduling import filters

if TYPE_CHECKING:
    from gitfed.model.declared.federation import FailoverSettings

_NO_EXECUTE = "NoExecute"
_LONGEST = 100 * 365 * 24 * 3600
"""Seconds: a larger toleration would leave the calendar."""


def due(taints: Iterable[TimedTaint], tolerations: Sequence[Toleration]) -> tuple[datetime, TimedTaint] | None:
    """When the workload has to leave, and because of which taint; None: it may stay for ever.

    A NoExecute taint that nothing tolerates: at once, which is when it was set. Else for each taint the first
    toleration that matches is in use, and the earliest end counts of any taint that one in use tolerates; one without
    seconds never ends. (Kubernetes: GetMatchingTolerations, and the least of what these give.)
    """
    lasting = [taint for taint in taints if taint.effect == _NO_EXECUTE]
    used: list[Toleration] = []
    for taint in lasting:
        first = next((toleration for toleration in tolerations if filters.tolerates(toleration, taint)), None)
        if first is None:
            return taint.added, taint
        used.append(first)
    ends = [
        (taint.added + timedelta(seconds=min(max(toleration.toleration_seconds, 0), _LONGEST)), taint)
        for toleration in used
        if toleration.toleration_seconds is not None
        for taint in lasting
        if filters.tolerates(toleration, taint)
    ]
    return min(ends, default=None)


def outlived(
    taints: Iterable[TimedTaint], policies: Iterable[Sequence[Toleration]], settings: FailoverSettings, now: datetime
) -> frozenset[tuple[Toleration, ...]]:
    """Which of these, with an end, are over in a cluster with these taints: the very rule by which work leaves it, so
    that what leaves does not come back while the taint is there."""
    taints = [taint for taint in taints if taint.effect == _NO_EXECUTE]
    outliving = set()
    for tolerations in policies if taints else ():
        if any(toleration.toleration_seconds is not None for toleration in tolerations):
            end = due(taints, with_defaults(tolerations, settings))
            if end is not None and end[0] <= now:
                outliving.add(tuple(tolerations))
    return frozenset(outliving)


def with_defaults(tolerations: Sequence[Toleration], settings: FailoverSettings) -> tuple[Toleration, ...]:
    """The policy's tolerations, and ours for a cluster that is not ready or does not answer where it has none.

    What a policy says of clusters that are not ready holds for those that do not answer too, if it says nothing of
    them: Karmada calls a member that it reaches itself (syncMode Push) not ready in both cases.

    They count for leaving only: new work never goes to such a cluster.
    """
    completed = tuple(tolerations)
    for key, seconds in (
        (NOT_READY, settings.not_ready_toleration_seconds),
        (UNREACHABLE, settings.unreachable_toleration_seconds),
    ):
        if any(toleration.key in ("", key) and toleration.effect in ("", _NO_EXECUTE) for toleration in tolerations):
            continue
        alike = [
            toleration
            for toleration in tolerations
            if toleration.key == NOT_READY and toleration.effect in ("", _NO_EXECUTE)
        ]
        if alike:
            completed = (*completed, *(toleration.model_copy(update={"key": key}) for toleration in alike))
        else:
            default = Toleration(key=key, operator="Exists", effect=_NO_EXECUTE, toleration_seconds=seconds)
            completed = (*completed, default)
    return completed
