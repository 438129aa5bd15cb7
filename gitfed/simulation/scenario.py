"""What a person lets happen to a fleet on the virtual clock, and how it is written.

The same words stand on the command line (`gitfed simulate`) and in a PlacementTest: `cluster/NAME`, `region/NAME`,
`zone/NAME` or `provider/NAME`; a taint as `TARGET:KEY[=VALUE]:EFFECT`. On the command line a time may follow, `@5m`.
"""

from __future__ import annotations

import re

from gitfed.text.values import dataclass

_NAMED = r"(?P<target>(cluster|region|zone|provider)/[^:=@\s]+)"
_AT = r"(@(?P<at>\S+))?"
_TARGET = re.compile(_NAMED + _AT)
_TAINT = re.compile(_NAMED + r"[:=](?P<key>[^:=@\s]+)(=(?P<value>[^:@\s]*))?:(?P<effect>NoSchedule|NoExecute)" + _AT)


@dataclass(frozen=True, slots=True, order=True)
class ScenarioEvent:
    """`what`: fail, recover or taint. `target`: `cluster/NAME`, `region/NAME`, `zone/NAME` or `provider/NAME`."""

    after: float
    """Seconds from the start."""
    what: str
    target: str
    taint: tuple[str, str, str] = ("", "", "")
    """(key, value, effect)"""

    @property
    def words(self) -> str:
        if self.what == "taint":
            key, value, effect = self.taint
            return f"gets the taint {key}{f'={value}' if value else ''}:{effect}"
        return "fails" if self.what == "fail" else "comes back"


def target(text: str) -> tuple[str, str | None] | None:
    """(target, time as it was written) of `TARGET[@TIME]`; None when it is not one."""
    match = _TARGET.fullmatch(text)
    return (match["target"], match["at"]) if match is not None else None


def taint(text: str) -> tuple[ScenarioEvent, str | None] | None:
    """(what happens at the start, time as it was written) of `TARGET:KEY[=VALUE]:EFFECT[@TIME]`; None as above."""
    match = _TAINT.fullmatch(text)
    if match is None:
        return None
    return ScenarioEvent(0.0, "taint", match["target"], (match["key"], match["value"] or "", match["effect"])), match[
        "at"
    ]


def clock(seconds: float) -> str:
    """`+12m30s`"""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours else "") + f"{rest}s"
    return f"+{text}"
