"""Cron expressions: what is taken, what is refused and how, and when the next run is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import cron

VECTORS = Path(__file__).with_name("cron_vectors.tsv")
"""Expression, zone, after, and the next run as robfig/cron 3.0.1 gives it, with Go's time zones."""


def test_runs_are_those_of_robfig_cron() -> None:
    rows = [line.split("\t") for line in VECTORS.read_text().splitlines()]
    assert len(rows) > 500
    wrong = []
    for expression, zone, after, expected in rows:
        if expected == "never":
            assert cron.why_not(expression) == "names a day that no year has", expression
            continue
        assert cron.why_not(expression) == "", expression
        found = cron.next_run(expression, zone, datetime.fromisoformat(after))
        assert found is not None
        if found != datetime.fromisoformat(expected):
            wrong.append((expression, zone, after, expected, found.isoformat()))
    assert wrong == []


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("0 0 30 2 *", "names a day that no year has"),
        ("0 0 31 4,jun *", "names a day that no year has"),
        ("0 0 30 2 mon", ""),
        ("0 0 29 2 *", ""),
        (" 5 4 * * sun ", ""),
        ("* * * *", "has 4 fields, not 5: minute, hour, day of the month, month, day of the week"),
        ("0 * * * * *", "has 6 fields, not 5: minute, hour, day of the month, month, day of the week"),
        ("", "has 0 fields, not 5: minute, hour, day of the month, month, day of the week"),
        ("60 * * * *", "has 60 as minute, not 0 to 59"),
        ("* * 0 * *", "has 0 as day of the month, not 1 to 31"),
        ("* * * * 7", "has 7 as day of the week, not 0 to 6; Sunday is 0"),
        ("* * * foo *", "has foo as month, not 1 to 12"),
        ("5-1 * * * *", "has a minute that ends before it begins: 5-1"),
        ("*/0 * * * *", "has a step of 0 in the minute: */0"),
        ("1,,2 * * * *", "has no minute: 1,,2"),
        ("* * L * *", "has l as day of the month, not 1 to 31"),
        ("99999999999999999999 * * * *", "has 99999999999999999999 as minute, not 0 to 59"),
        (
            "@every 5m",
            "is @every 5m, and only @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly are known; "
            "write steps, like */5 * * * *",
        ),
    ],
)
def test_what_is_wrong_with_an_expression(expression: str, why: str) -> None:
    assert cron.why_not(expression) == why


@pytest.mark.parametrize(
    ("zone", "why"),
    [
        ("Europe/Berlin", ("", "")),
        ("Europe/Berln", ("is Europe/Berln, and there is no such time zone", "did you mean Europe/Berlin?")),
        (
            "../../etc/passwd",
            ("is ../../etc/passwd, and there is no such time zone", "a name of the tz database, like Europe/Berlin"),
        ),
        ("Local", ("is Local, and there is no such time zone", "a name of the tz database, like Europe/Berlin")),
    ],
)
def test_what_is_wrong_with_a_time_zone(zone: str, why: tuple[str, str]) -> None:
    assert cron.why_not_zone(zone) == why


@given(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 * * 1", "15 1,2,3 * * *", "59 23 31 * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.datetimes(datetime(2011, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - hypothesis wants them so
)
def test_no_minute_between_two_runs_matches(expression: str, zone: str, moment: datetime) -> None:
    """The clock of the zone is looked at every minute until the next run: the first match is that run."""
    start = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    found = cron.next_run(expression, zone, start)
    assert found is not None
    minute, hour, day, _, week = (_allowed(one) for one in expression.split())
    clock = start
    while clock < min(found, start + timedelta(days=3)):
        clock += timedelta(minutes=1)
        wall = clock.astimezone(ZoneInfo(zone))
        matches = (
            _in(minute, wall.minute) and _in(hour, wall.hour) and _in(day, wall.day)
            and _in(week, wall.isoweekday() % 7)
        )  # fmt: skip
        assert matches is (clock == found), (clock, found)


def _allowed(field: str) -> set[int] | None:
    if field == "*":
        return None
    if field.startswith("*/"):
        return set(range(0, 60, int(field[2:])))
    return set(map(int, field.split(",")))


def _in(allowed: set[int] | None, value: int) -> bool:
    return allowed is None or value in allowed
