"""Who leads, when several daemons follow one repository, and what an inventory says of who leads in its cluster.

The name in an inventory says what kind of process that is: `run-<folder>-<random>` of a daemon, `apply-…` of one plan
that is carried out, `done-…` of either once it has ended in good order. Any other name was written by somebody of whom
nothing is known.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

DAEMON = "run"
ONE_SHOT = "apply"
_DONE = "done"


def name(kind: str, host: str, folder: str) -> str:
    """How the names of a process begin that works with this data folder, which only one at a time can."""
    return f"{kind}-{hashlib.sha256(f'{host}:{folder}'.encode()).hexdigest()[:12]}"


def kind(leader: str) -> str:
    """`DAEMON` or `ONE_SHOT`; "": it is done, or nobody knows."""
    found = leader.partition("-")[0]
    return found if found in (DAEMON, ONE_SHOT) else ""


def is_done(leader: str) -> bool:
    return leader.startswith(f"{_DONE}-")


def done(leader: str) -> str:
    """The name after its process has ended in good order."""
    return f"{_DONE}-{leader}"


def place(leader: str) -> str:
    """Which data folder a process works with, "" if that is not known."""
    return leader.split("-")[1] if kind(leader) else ""


@dataclass(frozen=True, slots=True)
class Lead:
    """What a lock says. `holder` "": it was given back."""

    holder: str
    seconds: int
    """For how long it counts after `renewed`, unless it is renewed again."""
    acquired: datetime
    renewed: datetime


@dataclass(frozen=True, slots=True)
class Term:
    """Who decides for one cluster, told to whoever carries it out there."""

    repository_id: str
    term: int
    name: str
    """How the inventory names it."""
    adopt: bool = False
    """A person wants the inventory to be theirs, whoever's it is."""
