"""Who leads, when several daemons follow one repository."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Lead:
    """What a lock says. `holder` "": it was given back."""

    holder: str
    seconds: int
    """For how long it counts after `renewed`, unless it is renewed again."""
    acquired: datetime
    renewed: datetime
