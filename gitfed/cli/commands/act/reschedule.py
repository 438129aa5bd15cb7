"""gitfed reschedule"""

from __future__ import annotations

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.commands.act import suspend
from gitfed.offline import orders
from gitfed.views import names


@click.command("reschedule")
@click.argument("what", metavar="KIND/[NS/]NAME...", nargs=-1, required=True, shell_complete=complete.workloads)
@options.source
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT names none.")
@options.WAIT
@options.WAIT_TIMEOUT
def command(what: tuple[str, ...], inputs: options.Inputs, namespace: str, wait: bool, timeout: float) -> int:
    """Have the daemon decide anew where workloads go, whatever they have now.

    A divided workload stays where it is while nothing that it asked for changes, also when clusters have come back, or
    were added. This places it as if it were new; what moves passes the gates. It is Karmada's WorkloadRebalancer as an
    order: the state branch gets spec.rescheduleTriggeredAt, and nothing has to be committed.

    \b
    gitfed reschedule deploy/shop/web
    gitfed reschedule deploy/shop/web deploy/shop/cache --wait

    \b
    Exit codes: 0 done · 2 no such object, or it was never placed · 3 invalid input in the repository, or who signs is
    none of spec.guards.operators · 4 the repository or its state branch cannot be read or written · 5 not decided in
    time, for instance because a gate holds it (--wait).
    """
    session = load.CommandSession(inputs)
    keys = sorted({names.find(word, session.repo.manifests, namespace=namespace) for word in what})
    book = suspend.book(session)
    orders.reschedule(book, keys, by=suspend.person(), now=session.now)
    for key in keys:
        click.echo(f"{key} will be placed anew.")
    if not wait:
        return exits.OK
    fate, state = orders.await_rescheduling(book, keys, timeout)
    for key in keys if fate is orders.Fate.DONE else ():
        decision = state.decisions.bindings.get(key)
        shares = decision.scheduled.shares if decision is not None else ()
        listed = " ".join(
            share.cluster if share.replicas is None else f"{share.cluster}:{share.replicas}" for share in shares
        )
        click.echo(f"{key} → {listed or 'nowhere'}")
    return suspend.tell(fate)
