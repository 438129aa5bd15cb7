"""How commands that run until they are stopped write their log."""

from __future__ import annotations

import click

from gitfed.cli.parameters import Command, gathered, option
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Log:
    format: str
    level: str

    def set_up(self) -> None:
        from gitfed.daemon import logs

        logs.set_up(self.format, self.level)


_LOG = (
    option(
        "--logging-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Form of the log on stderr.",
    ),
    option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="The least severe lines to write.",
    ),
)


def log(command: Command) -> Command:
    """--logging-format and --log-level → `log: Log`."""
    return gathered(command, "log", _LOG, lambda values: Log(values["logging_format"], values["log_level"]))
