"""gitfed blame"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from gitfed.cli import complete, load, options, parameters
from gitfed.cli.commands.look.log import key_of, said
from gitfed.cli.output import formatting, matrix, plain, structured
from gitfed.model.base import ObjectKey
from gitfed.offline.state_log import Blame, Chronicle, StateLogEntry
from gitfed.planning import decision_text
from gitfed.views import history, names

SCHEMA = "gitfed.io/blame/v1"


@click.command("blame")
@click.argument("what", metavar="KIND/[NS/]NAME", shell_complete=complete.workloads)
@options.source
@parameters.option(
    "--cluster",
    "only",
    shared=False,
    metavar="NAME",
    default="",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="Only this cluster.",
)
@parameters.option(
    "-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT does not name it."
)
@options.output("text", "json", "yaml")
def command(what: str, inputs: options.Inputs, only: str, namespace: str, output: options.Output) -> int:
    """Say which commit and which facts gave each cluster its share of an object, and since when.

    Where the files had not changed, the facts or the time did: the clusters whose facts differ are named.

    \b
    gitfed blame deploy/shop/web
    gitfed blame deploy/shop/web --cluster us-1

    \b
    Exit codes: 0 done · 2 bad usage · 4 there is no state branch, or nothing is decided for it.
    """
    session = load.CommandSession(inputs)
    chronicle = Chronicle(session.opened, session.repo)
    key = key_of(session, what, namespace)
    found = [one for one in chronicle.blame(key) if not only or one.share.cluster == only]
    gone = chronicle.removed(key)
    if output.format in ("json", "yaml"):
        structured.echo(_document(key, found, gone), output.format)
        return 0
    click.echo(output.paint.strong(names.shown(key)), color=True)
    for one in found:
        for line in _lines(session, key, one):
            click.echo(line)
    if gone is not None:
        click.echo(f"  gone from every cluster since {formatting.time(gone.when)}")
        click.echo(f"    commit    {said(session, gone) or gone.what}")
        click.echo(f"    recorded  {gone.commit[:7]}")
    elif not found:
        click.echo(f"  {f'not in {plain.clean(only)}' if only else 'nowhere'}")
    return 0


def _lines(session: load.CommandSession, key: ObjectKey, one: Blame) -> Iterator[str]:
    yield f"  {plain.clean(one.share.cluster)}  {_change(one)}  since {formatting.time(one.entry.when)}"
    source = said(session, one.entry) or one.entry.what
    if one.same_source:
        yield f"    commit    {source}, as before"
    else:
        yield f"    commit    {source}"
    if one.entry.facts:
        moved = f": {plain.clean(formatting.some(one.moved))} changed" if one.moved else ""
        same = one.previous is not None and one.previous.facts == one.entry.facts
        yield f"    facts     {one.entry.facts[:7]}{', as before' if same else moved}"
    for line in decision_text.about(key, one.entry.reasons):
        yield f"    because   {plain.clean(line)}"
    yield f"    recorded  {one.entry.commit[:7]}"


def _change(one: Blame) -> str:
    after = matrix.PLACED if one.share.replicas is None else str(one.share.replicas)
    if one.before is None:
        return f"{after} (new there)"
    return f"{one.before.replicas} → {after}" if one.before.replicas is not None else after


def _document(key: ObjectKey, found: list[Blame], gone: StateLogEntry | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "object": str(key),
        "gone": history.entry(gone) if gone is not None else None,
        "clusters": [
            {
                "name": one.share.cluster,
                "replicas": one.share.replicas,
                "before": one.before.replicas if one.before is not None else None,
                "entry": history.entry(one.entry),
                "previousSource": one.previous.source if one.previous is not None else None,
                "factsChanged": list(one.moved),
            }
            for one in found
        ],
    }
