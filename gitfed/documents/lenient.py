"""Members of a document that a person may have edited by hand: what is something else is as good as not there.

Only what a document cannot do without is asked for with `mapping`, which refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from gitfed.errors import InputError

_GO_ZERO = datetime(1, 1, 1, tzinfo=UTC)
"""What Go prints for a time that was never set."""


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """Raises InputError that names the member."""
    if type(value) is not dict and not isinstance(value, Mapping):  # the second test alone takes ten times as long
        raise InputError(f"{where} is not an object" if value is not None else f"{where} is missing")
    return value


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def time(value: object) -> datetime | None:
    """RFC 3339; without an offset it is UTC."""
    return _time(value) if isinstance(value, str) and value else None


@lru_cache(maxsize=4096)
def _time(text: str) -> datetime | None:
    """Thousands of bindings are decided at the same moment."""
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        when = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the last hours of the year 9999
        return None
    return None if when <= _GO_ZERO else when
