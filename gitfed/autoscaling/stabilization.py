"""From a proposed number to one that is not too far, too fast or too soon: (proposed, present, past) → allowed.

Kubernetes' stabilisation windows, scaling policies and bounds, with `behavior` and without it (Karmada: other
capabilities, §6). What was proposed before is remembered by who asks; what was changed before stands in the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from gitfed.model.declared.federated_hpa import Behavior, ScalingPolicy, ScalingRules
from gitfed.model.scaling import AutoscalerCondition, ConditionReason, ConditionType, ReplicaChange
from gitfed.text.values import dataclass

DOWN_WINDOW = timedelta(minutes=5)
"""So long the highest proposal counts before a number goes down, where nothing else is declared."""
_MOST, _LEAST = 2**31 - 1, -(2**31)

Proposed = tuple[datetime, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Past:
    proposed: tuple[Proposed, ...] = ()
    """By metrics, before anything limited it."""
    changes: tuple[ReplicaChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    replicas: int
    conditions: tuple[AutoscalerCondition, ...]


def allowed(
    proposed: int, present: int, bounds: Bounds, behavior: Behavior | None, past: Past, now: datetime
) -> Allowed:
    if behavior is None:
        stable = max([proposed, *(number for at, number in past.proposed if at >= now - DOWN_WINDOW)])
        reason = ConditionReason.SCALE_DOWN_STABILIZED
        limited, why = _within_rules(stable, present, bounds)
    else:
        up, down = _window(behavior.scale_up, timedelta()), _window(behavior.scale_down, DOWN_WINDOW)
        lowest = min([proposed, *(number for at, number in past.proposed if at > now - up)])
        highest = max([proposed, *(number for at, number in past.proposed if at > now - down)])
        stable = min(max(present, lowest), highest)
        rising = proposed >= present
        reason = ConditionReason.SCALE_UP_STABILIZED if rising else ConditionReason.SCALE_DOWN_STABILIZED
        limited, why = _within_rates(stable, present, bounds, behavior, past.changes, now)
    calm = ConditionReason.READY_FOR_NEW_SCALE if stable == proposed else reason
    return Allowed(
        limited,
        (
            AutoscalerCondition(ConditionType.ABLE_TO_SCALE, True, calm),
            AutoscalerCondition(ConditionType.LIMITED, limited != stable, why),
        ),
    )


def remembered(
    proposed: int, behavior: Behavior | None, past: Sequence[Proposed], now: datetime
) -> tuple[Proposed, ...]:
    """What is to be remembered of proposals; the newest counts last."""
    windows = [DOWN_WINDOW]
    if behavior is not None:
        windows = [_window(behavior.scale_up, timedelta()), _window(behavior.scale_down, DOWN_WINDOW)]
    return (*(sample for sample in past if sample[0] >= now - max(windows)), (now, proposed))


def changed(
    before: int, after: int, behavior: Behavior | None, past: Sequence[ReplicaChange], now: datetime
) -> tuple[ReplicaChange, ...]:
    """The changes that still count for a policy, with this one."""
    if behavior is None:
        return ()
    longest = max(policy.period_seconds for policy in (*behavior.up_policies, *behavior.down_policies))
    since = now - timedelta(seconds=longest)
    return (*(change for change in past if change.at >= since), ReplicaChange(now, after - before))


def _window(rules: ScalingRules, default: timedelta) -> timedelta:
    seconds = rules.stabilization_window_seconds
    return default if seconds is None else timedelta(seconds=seconds)


def _within_rules(wanted: int, present: int, bounds: Bounds) -> tuple[int, ConditionReason]:
    """Without a behavior a number is doubled at most, to four at least."""
    limit = max(2 * present, 4)
    most, why = bounds.most, ConditionReason.TOO_MANY_REPLICAS
    if most > limit:
        most, why = limit, ConditionReason.SCALE_UP_LIMIT
    if wanted < bounds.least:
        return bounds.least, ConditionReason.TOO_FEW_REPLICAS
    if wanted > most:
        return most, why
    return wanted, ConditionReason.DESIRED_WITHIN_RANGE


def _within_rates(
    wanted: int, present: int, bounds: Bounds, behavior: Behavior, changes: Sequence[ReplicaChange], now: datetime
) -> tuple[int, ConditionReason]:
    if wanted > present:
        limit = max(present, _up_limit(present, behavior, changes, now))
        most, why = bounds.most, ConditionReason.TOO_MANY_REPLICAS
        if most > limit:
            most, why = limit, ConditionReason.SCALE_UP_LIMIT
        if wanted > most:
            return most, why
    elif wanted < present:
        limit = min(present, _down_limit(present, behavior, changes, now))
        least, why = bounds.least, ConditionReason.TOO_FEW_REPLICAS
        if least < limit:
            least, why = limit, ConditionReason.SCALE_DOWN_LIMIT
        if wanted < least:
            return least, why
    return wanted, ConditionReason.DESIRED_WITHIN_RANGE


def _up_limit(present: int, behavior: Behavior, changes: Sequence[ReplicaChange], now: datetime) -> int:
    def allows(policy: ScalingPolicy, start: int) -> int:
        if policy.type == "Pods":
            return start + policy.value
        return math.ceil(start * (1 + policy.value / 100))

    choose = min if behavior.scale_up.select_policy == "Min" else max
    return _limit(behavior.scale_up, behavior.up_policies, allows, choose, present, _Period(changes, now, present))


def _down_limit(present: int, behavior: Behavior, changes: Sequence[ReplicaChange], now: datetime) -> int:
    def allows(policy: ScalingPolicy, start: int) -> int:
        if policy.type == "Pods":
            return start - policy.value
        return int(start * (1 - policy.value / 100))

    choose = max if behavior.scale_down.select_policy == "Min" else min
    return _limit(behavior.scale_down, behavior.down_policies, allows, choose, present, _Period(changes, now, present))


@dataclass(frozen=True, slots=True)
class _Period:
    changes: Sequence[ReplicaChange]
    now: datetime
    present: int

    def start(self, seconds: int) -> int:
        """The number as it was so many seconds ago."""
        since = self.now - timedelta(seconds=seconds)
        return self.present - sum(change.by for change in self.changes if change.at > since)


def _limit(
    rules: ScalingRules,
    policies: Sequence[ScalingPolicy],
    allows: Callable[[ScalingPolicy, int], int],
    choose: Callable[[list[int]], int],
    present: int,
    period: _Period,
) -> int:
    if rules.select_policy == "Disabled":
        return present
    bound = choose([allows(policy, period.start(policy.period_seconds)) for policy in policies])
    return max(_LEAST, min(_MOST, bound))
