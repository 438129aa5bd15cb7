"""How commands that run until they are stopped write their log."""

from __future__ import annotations

import click

from gitfed.cli.parameters import Command, option

_FORMAT = option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the log on stderr.",
)
_LEVEL = option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least severe lines to write.",
)


def log(command: Command) -> Command:
    """--logging-format and --log-level → `logging_format: str`, `log_level: str`."""
    return _FORMAT(_LEVEL(command))
