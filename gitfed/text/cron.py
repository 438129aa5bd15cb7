"""Cron expressions with a time zone: is one valid, and when does it fall due next?

The language is that of Kubernetes' CronJobs (robfig/cron, which Karmada runs too): five fields, lists, ranges, steps,
names of months and days, `@daily` and its like. If neither day field is a star, a day counts when either matches.

The clock on the wall decides. What it never shows, because it is put forward, does not come that day; what it shows
twice comes twice. cronsim walks the calendar, on wall-clock times without a zone; where the offset of the zone changes
is found out here, because cron libraries for Python follow Debian's cron, which moves such runs instead.
"""

from __future__ import annotations

import functools
import re
import zoneinfo
from datetime import UTC, datetime, timedelta

import cronsim

from gitfed.text import nearest

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_ITEM = re.compile(r"(?:(?P<star>[*?])|(?P<first>[0-9a-z]+)(?:-(?P<last>[0-9a-z]+))?)(?:/(?P<step>[0-9]{1,9}))?")
_SECOND = timedelta(seconds=1)
_STRIDE = timedelta(hours=12)
"""No zone changes its offset twice within so little."""
_SOME_DAY = datetime(2024, 1, 1)  # noqa: DTZ001 - of the wall, in no zone


class CronError(ValueError):
    """`str` says what is wrong, as what stands after the name of the field."""


@functools.lru_cache(maxsize=1024)
def why_not(expression: str) -> str:
    """What is wrong with an expression; "" for one that falls due some day."""
    try:
        plain = _plain(expression)
    except CronError as error:
        return str(error)
    return "" if _after(plain, _SOME_DAY) is not None else "names a day that no year has"


def why_not_zone(name: str) -> tuple[str, str]:
    """(what is wrong with the name of a time zone, hint); two empty texts when nothing is."""
    try:
        _zone(name)
    except CronError as error:
        near = nearest.did_you_mean(name, sorted(zoneinfo.available_timezones()))
        return str(error), near or "a name of the tz database, like Europe/Berlin"
    return "", ""


@functools.lru_cache(maxsize=4096)
def next_run(expression: str, zone: str, after: datetime) -> datetime | None:
    """The first time after `after` (both UTC) at which the expression falls due by the clocks of `zone` ("" is UTC).

    None: not before clocks end. Raises CronError for what `why_not` and `why_not_zone` refuse.
    """
    plain, where = _plain(expression), _zone(zone)
    at, since = after.astimezone(UTC).replace(microsecond=0), after.astimezone(UTC)
    while True:
        offset = _offset(where, since)
        wall = _after(plain, (at + offset).replace(tzinfo=None))
        if wall is None:
            return None
        due = wall.replace(tzinfo=UTC) - offset
        change = _next_change(where, since, due)
        if change is None:
            return due
        at, since = change - _SECOND, change  # the clocks show something else from then on


def _plain(expression: str) -> str:
    """The same as five fields of stars and lists of numbers: of all that libraries read differently, nothing is left.

    A star with a step is no star to robfig/cron, and to Debian's cron it is one.
    """
    text = expression.strip().lower()
    if text.startswith("@"):
        if text not in _MACROS:
            hint = "; write steps, like */5 * * * *" if text.startswith("@every") else ""
            raise CronError(f"is {expression.strip()[:40]}, and only {', '.join(_MACROS)} are known{hint}")
        text = _MACROS[text]
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise CronError(f"has {len(fields)} fields, not 5: minute, hour, day of the month, month, day of the week")
    return " ".join(_field(text, *which) for text, which in zip(fields, _FIELDS, strict=True))


def _field(text: str, name: str, low: int, high: int, names: tuple[str, ...]) -> str:
    numbers: set[int] = set()
    star = False
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise CronError(f"has no {name}: {text[:40]}")
        step = int(match["step"] or 1)
        if step == 0:
            raise CronError(f"has a step of 0 in the {name}: {text[:40]}")
        if match["star"]:
            first, last = low, high
            star |= step == 1
        else:
            first = _number(match["first"], name, low, high, names)
            last = _number(match["last"], name, low, high, names) if match["last"] else first
            if match["last"] is None and match["step"]:
                last = high
        if first > last:
            raise CronError(f"has a {name} that ends before it begins: {item[:40]}")
        numbers.update(range(first, last + 1, step))
    return "*" if star else ",".join(map(str, sorted(numbers)))


def _number(text: str, name: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    if not text.isdecimal() or not low <= int(text[:9]) <= high:
        sunday = "; Sunday is 0" if names is _DAYS and text == "7" else ""
        raise CronError(f"has {text[:20]} as {name}, not {low} to {high}{sunday}")
    return int(text)


def _after(plain: str, wall: datetime) -> datetime | None:
    try:
        return next(cronsim.CronSim(plain, wall))
    except (cronsim.CronSimError, StopIteration, OverflowError):
        return None


@functools.lru_cache(maxsize=256)
def _zone(name: str) -> zoneinfo.ZoneInfo:
    if not name:
        name = "UTC"
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CronError(f"is {name[:60]}, and there is no such time zone") from None


def _offset(zone: zoneinfo.ZoneInfo, when: datetime) -> timedelta:
    return when.astimezone(zone).utcoffset() or timedelta()


def _next_change(zone: zoneinfo.ZoneInfo, since: datetime, until: datetime) -> datetime | None:
    """The first second after `since`, and not after `until`, at which the offset is another one."""
    offset = _offset(zone, since)
    before = since
    while before < until:
        after = min(before + _STRIDE, until)
        if _offset(zone, after) != offset:
            while after - before > _SECOND:
                middle = (before + (after - before) / 2).replace(microsecond=0)
                if _offset(zone, middle) == offset:
                    before = middle
                else:
                    after = middle
            return after
        before = after
    return None
