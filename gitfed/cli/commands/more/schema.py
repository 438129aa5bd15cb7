"""gitfed schema"""

from __future__ import annotations

import click

from gitfed.cli import complete, options, parameters
from gitfed.cli.main import meant
from gitfed.cli.output import structured
from gitfed.errors import UsageError


@click.command("schema")
@click.argument("kind", metavar="[KIND]", default="", shell_complete=complete.declared)
@parameters.option("--all", "all_kinds", shared=False, is_flag=True, help="One schema for all kinds, for an editor.")
@options.output("json", "yaml", "name")
def command(kind: str, all_kinds: bool, output: options.Output) -> int:
    """Print the JSON Schema of a declared kind; without KIND, the names of all.

    An editor that knows YAML schemas completes and checks policies with it.

    \b
    gitfed schema
    gitfed schema PropagationPolicy > propagation.schema.json
    gitfed schema --all > gitfed.schema.json

    \b
    Exit codes: 0 done · 2 no such kind.
    """
    from gitfed.model import schema

    if all_kinds:
        if kind:
            raise UsageError("--all is about every kind", hint="leave out KIND")
        structured.echo(schema.of_all(), "json" if output.format == "name" else output.format)
        return 0
    names = list(schema.kinds())
    if not kind:
        for name in names:
            click.echo(name)
        return 0
    declared_kind = next((name for name in names if name.lower() == kind.lower()), None)
    if declared_kind is None:
        raise UsageError(f"no schema of {kind!r}{meant(kind, names)}", hint="gitfed schema lists the kinds")
    if output.format == "name":
        click.echo(declared_kind)
    else:
        structured.echo(schema.of_kind(declared_kind), output.format)
    return 0
