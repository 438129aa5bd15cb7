"""How far a long command is, on stderr: one line that counts to a total, and stays as the end of what it counted.

    2456 of 2456 files read
    1200 of 9000 objects planned

Nothing is said of what is quick. Where stderr is no terminal, nothing is said but with --progress=always: then each
count gets a line when it is over. Every command counts this way: `of_command().count`, handed down to what takes long.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import IO

import click

from gitfed.cli.output import plain

_PATIENCE = 1.0
"""Seconds of work of which nothing is said."""
_OFTEN = 0.1
"""Seconds between two states of a line."""
_KEY = "gitfed.progress"


class Progress:
    def __init__(
        self,
        choice: str = "auto",
        stream: IO[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`choice`: --progress."""
        self._stream = stream
        self._clock = clock
        self._choice = choice
        self._what = ""
        self._began = self._drawn = 0.0
        self._text = ""
        """What stands in the present line of the terminal."""
        self._state = (0, 0)

    def count(self, what: str, done: int, of: int) -> None:
        """`("files read", 12, 400)`. Another `what`, or one that begins again, ends the count before."""
        now = self._clock()
        if what != self._what or done < self._state[0]:
            self.end()
            self._what, self._began = what, now
        self._state = (done, of)
        over = done >= of
        patient = self._choice != "always" and now - self._began < _PATIENCE
        if self._choice == "never" or (patient and not self._text):
            return
        if self._rewrites and (over or not self._text or now - self._drawn >= _OFTEN):
            self._draw(now)
        if over:
            self.end()  # results may be printed next

    def end(self) -> None:
        """The line of the present count stays as it is, and what is printed next begins a new one."""
        if self._text:
            if self._text != self._line:
                self._draw(self._clock())
            click.echo("", file=self._out, err=True)
        elif self._what and self._choice == "always" and not self._rewrites:
            click.echo(self._line, file=self._out, err=True)
        self._what, self._text, self._state = "", "", (0, 0)

    def _draw(self, now: float) -> None:
        gap = " " * (plain.width(self._text) - plain.width(self._line))
        click.echo(f"\r{self._line}{gap}", nl=False, file=self._out, err=True)
        self._text, self._drawn = self._line, now

    @property
    def _line(self) -> str:
        done, of = self._state
        return f"{done} of {of} {plain.clean(self._what)}"

    @property
    def _rewrites(self) -> bool:
        return self._out.isatty()

    @property
    def _out(self) -> IO[str]:
        return self._stream if self._stream is not None else sys.stderr


def begin(choice: str) -> Progress:
    """The progress of the command that begins, as its --progress says; its line ends with the command."""
    made = Progress(choice)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_KEY] = made
        context.call_on_close(made.end)
    return made


def of_command() -> Progress:
    """That of the present command; of one without --progress a silent one."""
    context = click.get_current_context(silent=True)
    current = context.meta.get(_KEY) if context is not None else None
    return current if isinstance(current, Progress) else Progress("never")
