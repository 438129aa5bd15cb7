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
    blames = [blame for blame in chronicle.blame(key) if not only or blame.share.cluster == only]
    gone = chronicle.removed(key)
    if output.format in ("json", "yaml"):
        structured.echo(_document(key, blames, gone), output.format)
        return 0
    click.echo(output.paint.strong(names.shown(key)), color=True)
    for blame in blames:
        for line in _lines(session, key, blame):
            click.echo(line)
    if gone is not None:
        click.echo(f"  gone from every cluster since {formatting.time(gone.when)}")
        click.echo(f"    commit    {said(session, gone) or gone.what}")
        click.echo(f"    recorded  {gone.commit[:7]}")
    elif not blames:
        click.echo(f"  {f'not in {plain.clean(only)}' if only else 'nowhere'}")
    return 0


def _lines(session: load.CommandSession, key: ObjectKey, blame: Blame) -> Iterator[str]:
    yield f"  {plain.clean(blame.share.cluster)}  {_change(blame)}  since {formatting.time(blame.entry.when)}"
    source = said(session, blame.entry) or blame.entry.what
    if blame.same_source:
        yield f"    commit    {source}, as before"
    else:
        yield f"    commit    {source}"
    if blame.entry.facts:
        moved = f": {plain.clean(formatting.some(blame.moved))} changed" if blame.moved else ""
        same = blame.previous is not None and blame.previous.facts == blame.entry.facts
        yield f"    facts     {blame.entry.facts[:7]}{', as before' if same else moved}"
    for line in decision_text.about(key, blame.entry.reasons):
        yield f"    because   {plain.clean(line)}"
    yield f"    recorded  {blame.entry.commit[:7]}"


def _change(blame: Blame) -> str:
    after = matrix.PLACED if blame.share.replicas is None else str(blame.share.replicas)
    if blame.before is None:
        return f"{after} (new there)"
    return f"{blame.before.replicas} → {after}" if blame.before.replicas is not None else after


def _document(key: ObjectKey, blames: list[Blame], gone: StateLogEntry | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "object": str(key),
        "gone": history.entry(gone) if gone is not None else None,
        "clusters": [
            {
                "name": blame.share.cluster,
                "replicas": blame.share.replicas,
                "before": blame.before.replicas if blame.before is not None else None,
                "entry": history.entry(blame.entry),
                "previousSource": blame.previous.source if blame.previous is not None else None,
                "factsChanged": list(blame.moved),
            }
            for blame in blames
        ],
    }
