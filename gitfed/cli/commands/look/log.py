"""gitfed log"""

from __future__ import annotations

import contextlib

import click

from gitfed.cli import complete, load, options, parameters
from gitfed.cli.output import formatting, plain, structured, table
from gitfed.cli.output.table import Cell
from gitfed.documents.state_commits import VERBS
from gitfed.errors import NothingDecided, NotThere, SourceError
from gitfed.model.base import ObjectKey
from gitfed.offline.state_log import Chronicle, StateLogEntry
from gitfed.planning import decision_text
from gitfed.views import history, names

_MOST = 5
"""Reasons of one commit that are shown without -o wide."""


@click.command("log")
@click.argument("what", metavar="[KIND/[NS/]NAME]", required=False, default="", shell_complete=complete.workloads)
@options.source
@parameters.option(
    "-n",
    "--max-count",
    "count",
    shared=False,
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="At most so many entries.",
)
@parameters.option("--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT does not name it.")
@options.output("text", "wide", "json", "yaml", "name")
def command(what: str, inputs: options.Inputs, count: int, namespace: str, output: options.Output) -> int:
    """Show what was decided, newest first: when, for which commit, from which facts, and why.

    It is the history of the state branch; with an object only what concerns it.

    \b
    gitfed log
    gitfed log deploy/shop/web -n 5
    gitfed log -o json

    \b
    Exit codes: 0 done, also where nothing was decided yet · 2 bad usage · 4 the state branch was not fetched.
    """
    session = load.CommandSession(inputs)
    key = key_of(session, what, namespace) if what else None
    try:
        entries = Chronicle(session.opened, session.repo).entries(limit=count, key=key)
    except NothingDecided as nothing:
        entries = []
        load.note(str(nothing))
    if output.format in ("json", "yaml"):
        structured.echo(
            {"schema": history.SCHEMA, "entries": [history.entry(entry) for entry in entries]}, output.format
        )
    elif output.format == "name":
        for entry in entries:
            click.echo(entry.commit)
    else:
        for entry in entries:
            _print(session, entry, output, key)
    return 0


def key_of(session: load.CommandSession, what: str, namespace: str = "") -> ObjectKey:
    """An object of the repository, or one that was decided for, however long ago. Raises UsageError."""
    try:
        return names.find(what, {*session.repo.manifests, *session.decisions().bindings}, namespace=namespace)
    except NotThere:
        with contextlib.suppress(NotThere, SourceError):
            return names.find(what, Chronicle(session.opened, session.repo).gone(), namespace=namespace)
        raise


def said(session: load.CommandSession, entry: StateLogEntry) -> str:
    """`3f2c1a9 More web (Ada)`: the source commit as its author called it."""
    if entry.source is None:
        return ""
    info = session.opened.repository.info(entry.source)
    author = info.author.partition(" <")[0]
    return plain.clean(f"{info.commit[:7]} {info.subject} ({author})")


def _print(session: load.CommandSession, entry: StateLogEntry, output: options.Output, key: ObjectKey | None) -> None:
    """With `key` what was decided for it, and of the rest how much there was."""
    paint, fold = output.paint, output.fold

    def say(*parts: Cell | str, indent: int = 4, hang: int = 2) -> None:
        for line in table.flow(parts, indent=indent, hang=hang, width=fold):
            click.echo(line, color=True)

    what = entry.what if entry.source is None or entry.act is None else f"{VERBS[entry.act]} {said(session, entry)}"
    # What hangs below its first line stands further in than the reasons, which come next.
    say(Cell(entry.commit[:7], paint.changed), f"  {formatting.time(entry.when)}  {what}", indent=0, hang=9)
    if output.quiet:
        return
    own = [line for line in entry.reasons if key is not None and decision_text.about(key, [line])]
    others = [line for line in entry.reasons if line not in own]
    most = len(others) if output.format == "wide" else 0 if key is not None and entry.decides else _MOST
    for line in (*own, *others[:most]):
        say(line)
    if len(others) > most:
        of = " of other objects" if own else ""
        say(f"and {len(others) - most} more{of} (-o wide shows them)")
    if entry.facts:
        say(Cell(f"facts {entry.facts[:7]}", paint.faint))
