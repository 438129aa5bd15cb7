"""Whether a schedule in the five-field notation of cron can be read, in the words of Kubernetes' parser."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class _Bounds(NamedTuple):
    low: int
    high: int
    names: tuple[str, ...] = ()
    first: int = 0


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _MONTHS, 1),
    _Bounds(0, 6, _DAYS, 0),
)
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")


def error(schedule: str) -> str:
    """The complaint about a schedule; empty for a good one."""
    if not schedule:
        return "empty spec string"
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        return _descriptor(schedule)
    parts = schedule.split()
    if len(parts) != 5:
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    for part, bounds in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            if complaint := _range(expression, bounds):
                return complaint
    return ""


def _descriptor(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if text.startswith("@every "):
        span = text.removeprefix("@every ")
        if span in ("0", "+0", "-0") or (span and not _DURATION.sub("", span)):
            return ""
        return f'failed to parse duration {text}: time: invalid duration "{span}"'
    return f"unrecognized descriptor: {text}"


def _range(expression: str, bounds: _Bounds) -> str:
    parts = expression.split("/")
    ends = parts[0].split("-")
    low, high, step = bounds.low, bounds.high, 1
    try:
        if ends[0] not in ("*", "?"):
            low = high = _number(ends[0], bounds)
            if len(ends) == 2:
                high = _number(ends[1], bounds)
            elif len(ends) > 2:
                return f"too many hyphens: {expression}"
        if len(parts) > 2:
            return f"too many slashes: {expression}"
        if len(parts) == 2:
            step = _number(parts[1])
            high = bounds.high if len(ends) == 1 else high
    except ValueError as problem:
        return str(problem)
    if low < bounds.low:
        return f"beginning of range ({low}) below minimum ({bounds.low}): {expression}"
    if high > bounds.high:
        return f"end of range ({high}) above maximum ({bounds.high}): {expression}"
    if low > high:
        return f"beginning of range ({low}) beyond end of range ({high}): {expression}"
    return "" if step else f"step of range should be a positive number: {expression}"


def _number(text: str, bounds: _Bounds | None = None) -> int:
    if bounds and text.lower() in bounds.names:
        return bounds.names.index(text.lower()) + bounds.first
    if not re.fullmatch("[+-]?[0-9]+", text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise ValueError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
