"""CronFederatedHPA: (rules, what is recorded, now) → what is recorded next.

A rule that is new, changed or no longer suspended counts from now on. A run that nobody could carry out in time is not
made up for (Karmada keeps its clocks in memory, so it does not either), but it is remembered as failed. What a rule
decided stands until a rule decides otherwise, also when that rule is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitfed.model.declared.autoscaling import CronFederatedHPA, CronRule
from gitfed.model.scaling import AutoscalerRecord, CronRun, RuleRecord, Scale
from gitfed.text import cron

LATE = timedelta(minutes=5)
"""A run may be so much late: a daemon is started anew, or the lead goes to another, in less."""
MISSED = "missed: nothing was decided at that time; a run that is more than 5 minutes late is not made up for"
_SECOND = timedelta(seconds=1)


def advance(
    declared: CronFederatedHPA, record: AutoscalerRecord | None, now: datetime, refused: str = ""
) -> AutoscalerRecord:
    """The record as of `now` (whole seconds, UTC); `record` itself when nothing is due.

    `refused`: why the target cannot be scaled. Then runs fail, and what was decided before stands.
    """
    target, version = declared.target, declared.spec.scale_target_ref.api_version
    if record is None or record.target != target:
        # Another target begins with its own number; the rules' histories go on, as in Karmada.
        past = record.rules if record is not None else ()
        record = AutoscalerRecord(declared.key, target, version, tuple(replace(rule, rule={}) for rule in past))
    past_rules = {rule.name: rule for rule in record.rules}
    rules = [_awaited(rule, past_rules.get(rule.name), now) for rule in declared.spec.rules]
    decided = record.decided
    for scheduled, index in sorted(_due(rules, now)):
        rule = declared.spec.rules[index]
        if scheduled < now - LATE:
            rules[index] = _failed(rules[index], rule, CronRun(scheduled, now, message=MISSED))
        elif refused:
            rules[index] = _failed(rules[index], rule, CronRun(scheduled, now, message=refused))
        else:
            applied = Scale(rule.target_replicas, rule.target_min_replicas, rule.target_max_replicas, rule.name, now)
            runs = (CronRun(scheduled, now, applied), *rules[index].successful)
            rules[index] = replace(rules[index], successful=runs[: rule.successful_history_limit])
            decided = _together(decided, applied)
    rules = [
        replace(record, next=cron.next_run(rule.schedule, rule.time_zone or "", now))
        if record.next is not None and record.next <= now
        else record
        for record, rule in zip(rules, declared.spec.rules, strict=True)
    ]
    after = replace(record, target_version=version, rules=tuple(rules), decided=decided)
    return record if after == record else after


def coming(declared: CronFederatedHPA, record: AutoscalerRecord | None) -> Iterator[tuple[datetime, CronRule]]:
    """When each rule that is not suspended runs next, soonest first."""
    times = {rule.name: rule.next for rule in record.rules} if record is not None else {}
    times_and_rules = [(when, rule) for rule in declared.spec.rules if (when := times.get(rule.name)) is not None]
    yield from sorted(times_and_rules, key=lambda coming: coming[0])


def _awaited(rule: CronRule, recorded: RuleRecord | None, now: datetime) -> RuleRecord:
    """The rule with the time that is waited for, which is found anew for a rule that is another one now."""
    written = rule.as_json()
    if recorded is not None and recorded.rule == written:
        return recorded
    time = None if rule.suspend else cron.next_run(rule.schedule, rule.time_zone or "", now)
    past = recorded or RuleRecord(rule.name, written, None)
    return RuleRecord(
        rule.name,
        written,
        time,
        past.successful[: rule.successful_history_limit],
        past.failed[: rule.failed_history_limit],
    )


def _due(rules: list[RuleRecord], now: datetime) -> Iterator[tuple[datetime, int]]:
    """(when, index of the rule): of what was missed only the first of each rule. Rules that fall due together run in
    the order of the file, so that the last one counts."""
    for index, recorded in enumerate(rules):
        time = recorded.next
        if time is None or time > now:
            continue
        schedule, zone = str(recorded.rule["schedule"]), str(recorded.rule.get("timeZone") or "")
        if time < now - LATE:
            yield time, index
            time = cron.next_run(schedule, zone, now - LATE - _SECOND)
        while time is not None and time <= now:
            yield time, index
            time = cron.next_run(schedule, zone, time)


def _failed(recorded: RuleRecord, rule: CronRule, run: CronRun) -> RuleRecord:
    return replace(recorded, failed=(run, *recorded.failed)[: rule.failed_history_limit])


def _together(before: Scale | None, applied: Scale) -> Scale:
    """Of bounds a rule may set only one: the other stays as it was decided."""
    if before is None or applied.replicas is not None:
        return applied
    return replace(
        applied,
        min_replicas=before.min_replicas if applied.min_replicas is None else applied.min_replicas,
        max_replicas=before.max_replicas if applied.max_replicas is None else applied.max_replicas,
    )
