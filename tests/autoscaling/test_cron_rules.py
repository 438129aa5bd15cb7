"""When rules of a CronFederatedHPA run, what they decide, and what is remembered of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.autoscaling import cron_rules
from gitfed.documents import autoscalers
from gitfed.model.scaling import AutoscalerRecord, Scale
from tests.autoscaling.cron import MINUTE, NOON, after, declared, rule


def runs(record: AutoscalerRecord, name: str = "morning") -> list[str]:
    [found] = [one for one in record.rules if one.name == name]
    return [f"{one.scheduled:%d %H:%M} {one.applied or one.message}" for one in (*found.successful, *found.failed)]


def test_a_new_rule_waits_for_its_time_and_decides_nothing() -> None:
    record = after(declared(rule()), None, NOON)
    assert (record.next, record.decided) == (datetime(2026, 3, 3, 8, tzinfo=UTC), None)
    assert cron_rules.advance(declared(rule()), record, NOON + MINUTE) is record


def test_a_rule_that_is_due_decides_and_is_remembered() -> None:
    record = after(declared(rule()), None, NOON, datetime(2026, 3, 3, 8, 0, 20, tzinfo=UTC))
    at = datetime(2026, 3, 3, 8, 0, 20, tzinfo=UTC)
    assert record.decided == Scale(8, rule="morning", at=at)
    assert runs(record) == ["03 08:00 replicas 8"]
    assert record.next == datetime(2026, 3, 4, 8, tzinfo=UTC)


def test_of_rules_that_fall_due_together_the_last_of_the_file_counts() -> None:
    one = declared(rule("a", "* * * * *", 3), rule("b", "* * * * *", 5))
    record = after(one, None, NOON, NOON + MINUTE)
    assert record.decided is not None
    assert (record.decided.replicas, record.decided.rule) == (5, "b")
    assert (runs(record, "a"), runs(record, "b")) == (["02 12:01 replicas 3"], ["02 12:01 replicas 5"])


def test_a_late_look_carries_out_what_fell_due_in_order() -> None:
    one = declared(rule("up", "1 12 * * *", 9), rule("down", "3 12 * * *", 2))
    record = after(one, None, NOON, NOON + 4 * MINUTE)
    assert record.decided is not None
    assert record.decided.replicas == 2


def test_a_run_that_was_missed_is_said_and_not_made_up_for() -> None:
    record = after(declared(rule()), None, NOON, datetime(2026, 3, 3, 8, 5, 1, tzinfo=UTC))
    assert record.decided is None
    assert runs(record) == [
        "03 08:00 missed: nothing was decided at that time; a run that is more than 5 minutes late is not made up for"
    ]
    assert record.next == datetime(2026, 3, 4, 8, tzinfo=UTC)


def test_after_a_long_absence_the_first_missed_run_stands_for_all() -> None:
    one = declared(rule(schedule="*/10 * * * *"))
    record = after(one, None, NOON, NOON + timedelta(days=400, minutes=2))
    assert runs(record) == ["06 12:00 replicas 8", "02 12:10 " + cron_rules.MISSED]
    assert record.decided is not None


def test_a_changed_rule_waits_from_now_on_and_keeps_its_history() -> None:
    record = after(declared(rule(schedule="* * * * *")), None, NOON, NOON + MINUTE)
    late = NOON + timedelta(minutes=1, seconds=30)
    other = after(declared(rule(schedule="15 * * * *", replicas=4)), record, late)
    assert other.next == NOON + timedelta(minutes=15)
    assert runs(other) == ["02 12:01 replicas 8"]
    assert other.decided == record.decided


def test_a_suspended_rule_has_no_next_time_and_what_it_decided_stands() -> None:
    record = after(declared(rule(schedule="* * * * *")), None, NOON, NOON + MINUTE)
    suspended = after(declared(rule(schedule="* * * * *", suspend=True)), record, NOON + timedelta(hours=1))
    assert (suspended.next, suspended.decided) == (None, record.decided)
    again = after(declared(rule(schedule="* * * * *")), suspended, NOON + timedelta(hours=2))
    assert again.next == NOON + timedelta(hours=2, minutes=1)
    assert runs(again) == ["02 12:01 replicas 8"], "nothing that came while it was suspended counts"


def test_what_a_rule_decided_outlives_it() -> None:
    record = after(declared(rule("a", "* * * * *"), rule("b")), None, NOON, NOON + MINUTE)
    gone = after(declared(rule("b")), record, NOON + 2 * MINUTE)
    assert [one.name for one in gone.rules] == ["b"]
    assert gone.decided == record.decided


def test_another_target_begins_with_its_own_number() -> None:
    record = after(declared(rule(schedule="* * * * *")), None, NOON, NOON + MINUTE)
    other = after(declared(rule(schedule="* * * * *"), name="api"), record, NOON + timedelta(seconds=90))
    assert (other.decided, other.target.name, runs(other)) == (None, "api", ["02 12:01 replicas 8"])
    assert other.next == NOON + 2 * MINUTE


def test_a_run_without_a_target_fails_and_the_next_one_is_tried() -> None:
    record = after(declared(rule(schedule="* * * * *")), None, NOON, NOON + MINUTE, refused="there is no web")
    assert (record.decided, runs(record)) == (None, ["02 12:01 there is no web"])
    assert record.next == NOON + 2 * MINUTE


@pytest.mark.parametrize(
    ("limits", "kept"), [({}, (3, 3)), ({"successfulHistoryLimit": 1, "failedHistoryLimit": 0}, (1, 0))]
)
def test_histories_are_as_long_as_the_rule_says(limits: dict[str, int], kept: tuple[int, int]) -> None:
    one = declared(rule(schedule="* * * * *", **limits))
    record = after(one, None, *(NOON + count * MINUTE for count in range(6)))
    record = after(one, record, *(NOON + count * MINUTE for count in range(6, 12)), refused="no")
    assert (len(record.rules[0].successful), len(record.rules[0].failed)) == kept


def test_bounds_that_a_rule_leaves_out_stay_as_they_were_decided() -> None:
    hpa = {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA"}
    one = declared(
        rule("both", "1 12 * * *", None, targetMinReplicas=2, targetMaxReplicas=9),
        rule("most", "2 12 * * *", None, targetMaxReplicas=20),
        **hpa,
    )  # fmt: skip
    record = after(one, None, NOON, NOON + MINUTE, NOON + 2 * MINUTE)
    assert record.decided is not None
    assert str(record.decided) == "minReplicas 2, maxReplicas 20"


@pytest.mark.parametrize(
    ("day", "times"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=UTC), []),
        (datetime(2026, 10, 24, 12, tzinfo=UTC), ["25 00:30", "25 01:30"]),
    ],
    ids=["the hour that is left out", "the hour that comes twice"],
)
def test_a_run_by_a_clock_that_is_put_forward_or_back(day: datetime, times: list[str]) -> None:
    one = declared(rule(schedule="30 2 * * *", timeZone="Europe/Berlin"))
    record = after(one, None, *(day + count * MINUTE for count in range(0, 24 * 60, 1)))
    assert [text[:8] for text in reversed(runs(record))] == times


@given(st.lists(st.integers(1, 4000), max_size=30), st.booleans())
def test_looking_more_often_decides_the_same(pauses: list[int], suspended: bool) -> None:
    """As long as nobody is away for longer than a run may be late, it does not matter when one looks."""
    one = declared(rule("a", "*/7 * * * *", 3), rule("b", "*/5 * * * *", 6, suspend=suspended))
    often = seldom = cron_rules.advance(one, None, NOON)
    now = NOON
    for pause in pauses:
        now += timedelta(seconds=min(pause, 300))
        seldom = cron_rules.advance(one, seldom, now)
    clock = NOON
    while clock < now:
        clock = min(clock + timedelta(seconds=30), now)
        often = cron_rules.advance(one, often, clock)
    assert [one.next for one in often.rules] == [one.next for one in seldom.rules]
    of = [(one.decided.replicas, one.decided.rule) if one.decided else None for one in (often, seldom)]
    assert of[0] == of[1]


@given(st.lists(st.integers(1, 4000), max_size=12))
def test_a_record_is_read_as_it_was_written(pauses: list[int]) -> None:
    one = declared(rule("a", "*/7 * * * *", 3, timeZone="Europe/Berlin"), rule("b", "@hourly", 0))
    record, now = cron_rules.advance(one, None, NOON), NOON
    for pause in pauses:
        now += timedelta(seconds=pause)
        record = cron_rules.advance(one, record, now, "there is no web" if pause % 3 == 0 else "")
    read = autoscalers.record_of(autoscalers.document(record))
    # Only what is in force has the name of its rule once more.
    assert replace(read, rules=()) == replace(record, rules=())
    assert read.rules == record.rules
