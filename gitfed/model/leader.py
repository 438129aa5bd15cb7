"""Which of several daemons of one repository leads, and what a cluster's inventory says of its leader.

The name in an inventory tells the kind of process: `run-<folder>-<random>` is a daemon, `apply-…` one `gitfed apply`,
`done-…` either of them once it has ended in good order. Any other name was written by an unknown program.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from gitfed.text.values import dataclass

DAEMON = "run"
ONE_SHOT = "apply"
_DONE = "done"


def name(kind: str, host: str, folder: str) -> str:
    """The prefix of the name of a process that works with this data folder. Only one process at a time can."""
    return f"{kind}-{hashlib.sha256(f'{host}:{folder}'.encode()).hexdigest()[:12]}"


def kind(leader: str) -> str:
    """`DAEMON` or `ONE_SHOT`; "" if it is done or unknown."""
    process = leader.partition("-")[0]
    return process if process in (DAEMON, ONE_SHOT) else ""


def is_done(leader: str) -> bool:
    return leader.startswith(f"{_DONE}-")


def done(leader: str) -> str:
    """The name after its process has ended in good order."""
    return f"{_DONE}-{leader}"


def place(leader: str) -> str:
    """The data folder that a process works with; "" if unknown."""
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
    """Who decides for one cluster, told to the member that applies there."""

    repository_id: str
    term: int
    name: str
    """How the inventory names it."""
    adopt: bool = False
    """A person orders to take the inventory over, even from another repository."""
