"""One call of a user's script, and what came of it: the values that pass between the rules and whoever runs Lua.

The pure packages decide which script is called with what and what an answer must look like (`interpret.scripted`);
running it is the world's business (`edges.lua`). Both know only these values, so that the rules can be tested with a
plain function and the runtime without any rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Script(NamedTuple):
    """The text of one rule, and the name that error messages carry in front of the line."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    script: Script
    function: str
    """The global function that the script defines."""
    arguments: tuple[Any, ...]
    """JSON values; None is nil. Never changed: a script works on a copy."""
    results: int = 1
    """How many returned values are of interest."""
    now: str = ""
    """What the script takes for the present time: RFC 3339, UTC, whole seconds; "" is the time of the call."""


@dataclass(frozen=True, slots=True)
class Returned:
    kinds: tuple[str, ...]
    """Lua's type of each value, "nil" where nothing was returned."""
    values: tuple[Any, ...]
    """JSON values. An empty table is `[]`, because Lua does not tell an empty list from an empty map."""


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    permanent: bool = True
    """The script's own fault: the same call fails again. Otherwise the script had to be killed: nothing is known."""


Run: TypeAlias = Callable[[Call], Returned | Failed]
