"""gitfed version"""

from __future__ import annotations

import platform

import click

from gitfed import __version__
from gitfed.cli import options
from gitfed.cli.output import structured


@click.command("version")
@options.output("text", "json", "yaml")
def command(output: options.Output) -> int:
    """Print the version of gitfed and of what it runs on.

    \b
    Exit codes: 0.
    """
    if output.format == "text":
        click.echo(f"gitfed {__version__}")
        return 0
    about = {"schema": "gitfed.io/version/v1", "gitfed": __version__, "python": platform.python_version()}
    structured.echo(about, output.format)
    return 0
