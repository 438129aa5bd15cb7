"""gitfed log"""

from __future__ import annotations

import click

from gitfed.cli import complete, load, options
from gitfed.cli.output import formatting, plain, structured
from gitfed.errors import NothingDecided
from gitfed.model.base import ObjectKey
from gitfed.offline.state_log import Chronicle, Entry
from gitfed.views import history, names

_MOST = 5
"""Reasons of one commit that are shown without -o wide."""


@click.command("log")
@click.argument("what", metavar="[KIND/[NS/]NAME]", required=False, default="", shell_complete=complete.workloads)
@options.source
@options.option("-n", "--max-count", "count", shared=False, type=click.IntRange(1), default=20, show_default=True,
                metavar="N", help="At most so many entries.")  # fmt: skip
@options.output("text", "wide", "json", "yaml", "name")
def command(what: str, inputs: options.Inputs, count: int, output: options.Output) -> int:
    """Show what was decided, newest first: when, for which commit, from which facts, and why.

    It is the history of the state branch; with an object only what concerns it.

    \b
    gitfed log
    gitfed log deploy/shop/web -n 5
    gitfed log -o json

    \b
    Exit codes: 0 done, also where nothing was decided yet · 2 bad usage · 4 the state branch was not fetched.
    """
    session = load.Session(inputs)
    key = key_of(session, what) if what else None
    try:
        entries = Chronicle(session.opened, session.repo).entries(limit=count, key=key)
    except NothingDecided as nothing:
        entries = []
        load.note(str(nothing))
    if output.format in ("json", "yaml"):
        structured.echo({"schema": history.SCHEMA, "entries": [history.entry(one) for one in entries]}, output.format)
    elif output.format == "name":
        for entry in entries:
            click.echo(entry.commit)
    else:
        for entry in entries:
            _print(session, entry, output)
    return 0


def key_of(session: load.Session, what: str) -> ObjectKey:
    """An object of the repository, or one that was decided for and is gone. Raises UsageError."""
    return names.find(what, {*session.repo.manifests, *session.decisions().bindings})


def said(session: load.Session, entry: Entry) -> str:
    """`3f2c1a9 More web (Ada)`: the source commit as its author called it."""
    if entry.source is None:
        return ""
    info = session.opened.repository.info(entry.source)
    author = info.author.partition(" <")[0]
    return plain.clean(f"{info.commit[:7]} {info.subject} ({author})")


def _print(session: load.Session, entry: Entry, output: options.Output) -> None:
    paint = output.paint
    what = entry.what if entry.source is None else f"{_verb(entry)} {said(session, entry)}"
    click.echo(f"{paint.changed(entry.commit[:7])}  {formatting.time(entry.when)}  {plain.clean(what)}", color=True)
    if output.quiet:
        return
    most = len(entry.reasons) if output.format == "wide" else _MOST
    for line in entry.reasons[:most]:
        click.echo(f"    {plain.clean(line)}")
    if len(entry.reasons) > most:
        click.echo(f"    and {len(entry.reasons) - most} more (-o wide shows them)")
    if entry.facts:
        click.echo(paint.faint(f"    facts {entry.facts[:7]}"), color=True)


def _verb(entry: Entry) -> str:
    return entry.what.rpartition(" ")[0]
