"""gitfed replay"""

from __future__ import annotations

from typing import Any

import click

from gitfed.cli import complete, exits, load, options
from gitfed.cli.commands.look.log import said
from gitfed.cli.output import formatting, manifest_text, plain, structured
from gitfed.offline import replay
from gitfed.offline.replay import Replay
from gitfed.offline.state_log import Chronicle
from gitfed.views import history

SCHEMA = "gitfed.io/replay/v1"
_MOST = 20


@click.command("replay")
@click.argument("commit", metavar="[COMMIT]", required=False, default="", shell_complete=complete.revisions)
@options.source
@options.output("text", "json", "yaml")
def command(commit: str, inputs: options.Inputs, output: options.Output) -> int:
    """Decide again what was decided, from the same commit, facts, decisions and time, and compare every byte.

    COMMIT is one of the state branch, or the one that was decided for; without it the newest decision is replayed.
    What a decision took from the copies in the clusters (how far an eviction is, whether a copy is left) is not
    recorded: such a decision is named with its reason, and taken as it is for what follows from it.

    \b
    gitfed replay
    gitfed replay 3f2c1a9

    \b
    Exit codes: 0 the same bytes, wherever that can be told · 1 other bytes · 2 bad usage · 4 an input is not here,
    or nothing was decided yet.
    """
    session = load.CommandSession(inputs)
    history = Chronicle(session.opened, session.repo)
    result = replay.of(history, history.find(commit))
    if output.format in ("json", "yaml"):
        structured.echo(_document(result), output.format)
    else:
        _print(session, result, output)
    return exits.DIFFERENT if result.differing else exits.OK


def _print(session: load.CommandSession, result: Replay, output: options.Output) -> None:
    entry = result.entry
    about = f"{said(session, entry)}, decided {formatting.time(entry.when)}"
    if entry.facts:
        about += f" from facts {entry.facts[:7]}"
    if not result.differing:
        number = result.files - len(result.seen)
        click.echo(f"The same bytes: {formatting.count(number, 'decision')} for {about}.")
    else:
        number = len(result.differing)
        verb = "differs" if number == 1 else "differ"
        click.echo(f"{number} of {formatting.count(result.files, 'decision')} {verb}: {about}")
        for path, recorded, now in result.differing[:_MOST] if not output.quiet else ():
            click.echo(output.paint.strong(plain.clean(path)), color=True)
            old, new = (side.decode("utf-8", "replace") for side in (recorded, now))
            lines = ["--- recorded", "+++ now", *manifest_text.hunks(old, new)]
            for line in lines:
                click.echo(manifest_text.painted(line, output.paint), color=True)
        if number > _MOST:
            click.echo(f"and {number - _MOST} more")
    if result.seen:
        click.echo(
            f"{formatting.count(len(result.seen), 'decision')} cannot be replayed: it takes the copies of that time."
        )
        for path, why in result.seen[:_MOST] if not output.quiet else ():
            click.echo(f"  {plain.clean(path)}: {why}")
    click.echo(f"plan {result.digest}")


def _document(result: Replay) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "entry": history.entry(result.entry),
        "digest": result.digest,
        "decisions": result.files,
        "same": not result.differing,
        "differing": [path for path, _, _ in result.differing],
        "notReplayed": [{"path": path, "why": why} for path, why in result.seen],
    }
