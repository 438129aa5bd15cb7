"""gitfed reconcile"""

from __future__ import annotations

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.commands.act import suspend
from gitfed.cli.output import formatting, plain
from gitfed.edges.state.state import BranchState
from gitfed.model.operator_orders import EVERYTHING, Reconciliation
from gitfed.offline import orders

_CODES = {"failed": exits.UNHEALTHY, "waiting": exits.UNHEALTHY, "unreachable": exits.UNREACHABLE}


@click.command("reconcile")
@click.argument("what", metavar="[all|cluster/NAME|KIND/[NS/]NAME]...", nargs=-1, shell_complete=complete.orders)
@options.source
@options.server_alone
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT names none.")
@options.WAIT
@options.WAIT_TIMEOUT
def command(
    what: tuple[str, ...],
    inputs: options.Inputs,
    server: options.Server | None,
    namespace: str,
    wait: bool,
    timeout: float,
) -> int:
    """Have the daemon look at everything anew, now: or at these clusters and objects.

    It reads what is there instead of trusting its watches, tries again what failed, for good or for the time being, and
    repairs drift, also where spec.sync.selfHeal is off. What gates and suspensions hold stays held. The order is
    written to the state branch, and is over when it was carried out once. With --server a hub writes it, in the name of
    who asks, if an AccessPolicy lets them operate it.

    \b
    gitfed reconcile
    gitfed reconcile cluster/eu-1 --wait
    gitfed reconcile deploy/shop/web deploy/shop/cache
    gitfed reconcile cluster/eu-1 --server https://gitfed.example:8443 --kubeconfig hub.conf

    \b
    Exit codes: 0 done · 2 no such object or cluster · 3 invalid input in the repository, or who signs is none of
    spec.guards.operators · 4 the repository or its state branch cannot be read or written, the hub refuses, or a
    cluster is unreachable (--wait) · 5 not carried out in time (--wait) · 6 something failed again, or waits (--wait).
    """
    if server is not None:
        from gitfed.client import orders as over_hub

        suspend.no_wait(wait)
        for of in over_hub.reconcile(load.hub(server), what, namespace=namespace):
            click.echo(plain.clean(f"{of} will be reconciled."))
        return exits.OK
    session = load.CommandSession(inputs)
    chosen = [suspend.meant_by(session, word, namespace) for word in what] or [EVERYTHING]
    book = suspend.book(session)
    reconciliations = orders.reconcile(book, chosen, by=suspend.person(), now=session.now)
    for order in reconciliations:
        click.echo(f"{order.of} will be reconciled.")
    if not wait:
        return exits.OK
    fate, state = orders.await_reconciliation(book, reconciliations, timeout)
    code = suspend.tell(fate)
    return exits.first([code, *_outcomes(state, reconciliations)]) if fate is orders.Fate.DONE else code


def _outcomes(state: BranchState, reconciliations: tuple[Reconciliation, ...]) -> list[int]:
    """How it went in each cluster, as the daemon wrote it down."""
    codes = []
    for name, result in sorted(state.results.items()):
        if not any(order.concerns(name) for order in reconciliations):
            continue
        outcome, failures = str(result.get("outcome") or "unknown"), result.get("failures")
        why = f": {formatting.count(failures, 'object')} refused or failed" if isinstance(failures, int) else ""
        click.echo(plain.clean(f"{name}: {outcome}{why}"))
        codes.append(_CODES.get(outcome, exits.OK))
    return codes
