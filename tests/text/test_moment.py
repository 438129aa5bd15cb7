"""How long ago something was, in the unit that a person would take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitfed.text import moment

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-60, "just now"), (4, "just now"), (5, "5 seconds ago"), (60, "1 minute ago"), (179, "2 minutes ago"),
        (3600, "1 hour ago"), (86399, "23 hours ago"), (86400, "1 day ago"), (40 * 86400, "40 days ago"),
    ],
)  # fmt: skip
def test_an_age_is_said_in_its_largest_unit(seconds: int, said: str) -> None:
    assert moment.ago(NOW - timedelta(seconds=seconds), NOW) == said
