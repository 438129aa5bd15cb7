"""Times that other programs and people wrote: RFC 3339, or any other text in its place.

A commit, a state branch and a member's objects may hold any text. What is no moment, or one that no calendar can reckon
with (the last hours of the year 9999), is None here, so that nothing further on has to think of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_FIRST: Final = datetime(1, 1, 3, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 29, tzinfo=UTC)


def read(text: object) -> datetime | None:
    """In UTC. Without an offset it is UTC: who writes by hand forgets it."""
    if not isinstance(text, str):
        return None
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        when = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return when if _FIRST <= when <= _LAST else None


def ago(when: datetime, now: datetime) -> str:
    """`3 minutes ago`: the largest unit that says enough."""
    seconds = int((now - when).total_seconds())
    if seconds < 5:
        return "just now"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' * (number != 1)} ago"
    return "just now"
