"""gitfed suspend and gitfed resume"""

from __future__ import annotations

import getpass
from collections.abc import Iterable

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.main import meant
from gitfed.cli.output import plain
from gitfed.errors import UsageError
from gitfed.model.base import ObjectKey, key_from
from gitfed.model.operator_orders import CLUSTER, EVERYTHING, Suspension
from gitfed.offline import orders
from gitfed.offline.order_book import OrderBook
from gitfed.views import names

_SCHEDULING = parameters.option(
    "--scheduling",
    shared=False,
    is_flag=True,
    help="Of deciding, not of writing: clusters and replicas stay as they are.",
)


@click.command("suspend")
@click.argument("what", metavar="all|cluster/NAME|KIND/[NS/]NAME", shell_complete=complete.orders)
@options.source
@options.server_alone
@_SCHEDULING
@parameters.option(
    "--reason", shared=False, metavar="TEXT", default="", help="Why; it is shown wherever it has effect."
)
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT names none.")
def command(
    what: str, inputs: options.Inputs, server: options.Server | None, scheduling: bool, reason: str, namespace: str
) -> int:
    """Stop writing to an object, a cluster, or everything, until it is resumed.

    The order is written to the state branch, with who gave it and why; a running daemon follows it at its next look.
    What is decided meanwhile waits, and the plan shows it as skipped. Nothing is deleted either. With --server a hub
    writes the order, in the name of who asks, if an AccessPolicy lets them operate it.

    \b
    gitfed suspend deploy/shop/web --reason "debugging a crash"
    gitfed suspend cluster/eu-1 --reason maintenance
    gitfed suspend all
    gitfed suspend deploy/shop/web --scheduling
    gitfed suspend all --server https://gitfed.example:8443 --kubeconfig hub.conf

    \b
    Exit codes: 0 done · 2 no such object or cluster · 3 invalid input in the repository · 4 the repository or its state
    branch cannot be read or written, or the hub refuses.
    """
    if server is not None:
        from gitfed.client import orders as over_hub

        answer = over_hub.suspend(load.hub(server), what, namespace=namespace, reason=reason, scheduling=scheduling)
        click.echo(plain.clean(f"{answer['of']} is {answer['text']}."))
        return exits.OK
    session = load.CommandSession(inputs)
    of = meant_by(session, what, namespace)
    if scheduling and of.startswith(CLUSTER):
        raise UsageError("scheduling is suspended for an object or for all, not for a cluster")
    suspension = Suspension(of, person(), session.now, reason, scheduling)
    orders.suspend(book(session), suspension)
    click.echo(f"{of} is {suspension}.")
    return 0


@click.command("resume")
@click.argument("what", metavar="all|cluster/NAME|KIND/[NS/]NAME", shell_complete=complete.orders)
@options.source
@options.server_alone
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT names none.")
def resume(what: str, inputs: options.Inputs, server: options.Server | None, namespace: str) -> int:
    """Take back what gitfed suspend ordered. "all" takes back every suspension, not only that of everything.

    \b
    gitfed resume deploy/shop/web
    gitfed resume cluster/eu-1
    gitfed resume all

    \b
    Exit codes: 0 done · 2 that is not suspended · 3 invalid input in the repository · 4 the repository or its state
    branch cannot be read or written, or the hub refuses.
    """
    if server is not None:
        from gitfed.client import orders as over_hub

        for ended in over_hub.resume(load.hub(server), what, namespace=namespace):
            click.echo(plain.clean(f"{ended['of']} is resumed: it was {ended['text']}."))
        return exits.OK
    session = load.CommandSession(inputs)
    standing = session.decisions().suspensions
    of = EVERYTHING
    if what != EVERYTHING:
        suspended = {suspension.of for suspension in standing}
        # What is gone from the repository may be suspended still.
        gone = [key_from(of) for of in suspended if of != EVERYTHING and not of.startswith(CLUSTER)]
        of = what if what in suspended else meant_by(session, what, namespace, gone)
    for suspension in orders.resume(book(session), of, by=person(), now=session.now):
        click.echo(f"{suspension.of} is resumed: it was {suspension}.")
    return 0


def book(session: load.CommandSession) -> OrderBook:
    """Where a command writes its order."""
    return OrderBook(session.opened, session.repo, session.input_options.git_credentials)


def tell(fate: orders.Fate, dropped: str = "the order was dropped") -> int:
    """What became of an order that was waited for, and the exit code that it asks for."""
    if fate is orders.Fate.DONE:
        click.echo("Carried out.")
        return exits.OK
    load.note(dropped if fate is orders.Fate.DROPPED else "not carried out in time: does a daemon run?")
    return exits.HELD


def no_wait(wait: bool) -> None:
    """Whether an order was carried out, the state branch says. Raises UsageError."""
    if wait:
        raise click.UsageError(
            "--wait reads the state branch, so it cannot be used with --server: "
            "gitfed get works --watch --server shows what is done"
        )


def person() -> str:
    """Who gives an order: the name in Git's settings says nothing that could be trusted more than this."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "command line"


def meant_by(session: load.CommandSession, what: str, namespace: str, gone: Iterable[ObjectKey] = ()) -> str:
    """`all`, `cluster/NAME`, or the object that a person means. Raises UsageError."""
    if what == EVERYTHING:
        return what
    if what.startswith(CLUSTER):
        name, clusters = what.removeprefix(CLUSTER), sorted(session.repo.clusters)
        if name not in session.repo.clusters:
            raise UsageError(f"no cluster {name!r}{meant(name, clusters)}", hint="gitfed get clusters")
        return what
    return str(names.find(what, (*session.repo.manifests, *gone), namespace=namespace))
