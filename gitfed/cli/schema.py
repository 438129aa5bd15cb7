"""gitfed schema"""

from __future__ import annotations

import click

from gitfed.cli import options, structured
from gitfed.cli.main import meant
from gitfed.errors import UsageError


@click.command("schema")
@click.argument("kind", metavar="[KIND]", default="")
@options.output("json", "yaml", "name")
def command(kind: str, output: options.Output) -> int:
    """Print the JSON Schema of a declared kind; without KIND, the names of all.

    An editor that knows YAML schemas completes and checks policies with it.

    \b
    gitfed schema
    gitfed schema PropagationPolicy > propagation.schema.json

    \b
    Exit codes: 0 done · 2 no such kind.
    """
    from gitfed.model import schema

    names = list(schema.kinds())
    if not kind:
        for name in names:
            click.echo(name)
        return 0
    found = next((name for name in names if name.lower() == kind.lower()), None)
    if found is None:
        raise UsageError(f"no schema of {kind!r}{meant(kind, names)}", hint="gitfed schema lists the kinds")
    if output.format == "name":
        click.echo(found)
    else:
        structured.echo(schema.of_kind(found), output.format)
    return 0
