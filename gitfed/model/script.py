"""One call of a user's script and its result: the values between the rules and the Lua runtime.

The pure packages decide which script is called with which arguments, and check the answer (`interpret.scripted`);
`edges.lua` runs it. Both know only these values, so that the rules can be tested with a plain function and the runtime
without any rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from gitfed.model.base import Origin
from gitfed.text.values import dataclass


class Script(NamedTuple):
    """The text of one rule, and the name that error messages carry in front of the line."""

    name: str
    text: str
    path: str = ""
    """The file of the repository that it stands in; "" for scripts that come with the program."""
    line: int = 0
    column: int = 0
    """Where its member stands in that file."""
    begins: int = 0
    """The file's line with the script's first; 0 where the lines of one are not lines of the other."""

    def located(self, message: str) -> str:
        """A message about this script with its place in the repository behind it, as exact as the message is."""
        if not self.path:
            return message
        return f"{message} ({self.origin(self._line_of(message))})"

    def headed(self, message: str, line: int) -> str:
        """A message about a line of this script, in Lua's form."""
        return f"{self.name[:NAME_SHOWN]}:{line}: {message}" if line else f"{self.name}: {message}"

    def origin(self, line: int = 0) -> Origin:
        """Where a line of the script, from 1, stands in the repository; 0: the script as a whole."""
        if line and self.begins:
            return Origin(self.path, self.begins + line - 1, 1)
        return Origin(self.path, self.line, self.column)

    def origin_of(self, message: str) -> Origin:
        """The place in the repository that a message about this script names."""
        return self.origin(self._line_of(message))

    def _line_of(self, message: str) -> int:
        head = f"{self.name[:NAME_SHOWN]}:"
        number, colon, _ = message.removeprefix(head).partition(":")
        return int(number) if message.startswith(head) and colon and number.isdecimal() else 0


NAME_SHOWN = 50
"""Characters of a script's name that stand in its messages: Lua cuts longer ones."""


class Call(NamedTuple):
    """Made for every question, so it is a tuple."""

    script: Script
    function: str
    """The global function that the script defines."""
    arguments: tuple[Any, ...]
    """JSON values; None is nil. Never changed: a script works on a copy."""
    results: int = 1
    """How many returned values are of interest."""
    now: str = ""
    """What the script takes for the present time: RFC 3339, UTC, whole seconds; "" is the time of the call."""
    edits: bool = False
    """What the function returns is its first argument, changed: what was changed is of interest (`Returned.edits`)."""


@dataclass(frozen=True, slots=True)
class Returned:
    kinds: tuple[str, ...]
    """Lua's type of each value, "nil" where nothing was returned."""
    values: tuple[Any, ...]
    """JSON values. An empty table is `[]`, because Lua does not tell an empty list from an empty map."""
    edits: tuple[Any, ...] | None = None
    """In place of the value: `[path, value]` for a member of the first argument that has another value, `[path]` for
    one that is gone; a path is names and positions from 0. None: the value is whole."""
    line: int = field(default=0, compare=False)
    """Where the function begins in the script; 0: not known."""
    lasting: bool = field(default=True, compare=False)
    """Whether the same call gives the same at any other time."""


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    permanent: bool = True
    """True: the script itself failed, and the same call fails again. False: it was killed, and nothing is known."""


Run: TypeAlias = Callable[[Sequence[Call]], Sequence[Returned | Failed]]
"""Runs many calls, which may cost far less than as many times one; an answer for each."""
