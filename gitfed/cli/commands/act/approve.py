"""gitfed approve"""

from __future__ import annotations

from collections.abc import Iterable

import click

from gitfed.cli import complete, exits, load, options
from gitfed.cli.commands.act import suspend
from gitfed.cli.output import formatting, plain
from gitfed.model.base import Commit
from gitfed.offline import orders


@click.command("approve")
@click.argument("what", metavar="DIGEST|GATE", shell_complete=complete.approvals)
@options.source
@options.server_alone
@options.WAIT
@options.WAIT_TIMEOUT
def command(what: str, inputs: options.Inputs, server: options.Server | None, wait: bool, timeout: float) -> int:
    """Let through what gates hold, of exactly the plan that waits.

    The order is written to the state branch; a running daemon, or the next gitfed apply, carries it out. DIGEST is that
    of gitfed plan --live (its first 8 characters are enough) and means every gate of that plan, GATE one of them by its
    name. Printed is what it consents to. If the plan has become another one, the order is void, and nothing is done.
    With --server a hub writes the order, in the name of who asks, if an AccessPolicy lets them operate everything.

    \b
    gitfed plan --live
    gitfed approve 4f0c12ab9d3e --wait
    gitfed approve deletions
    gitfed approve 4f0c12ab9d3e --server https://gitfed.example:8443 --kubeconfig hub.conf

    \b
    Exit codes: 0 done · 2 nothing is held, or not that · 3 invalid input in the repository, or who signs is none of
    spec.guards.approvers · 4 the repository or its state branch cannot be read or written, or the hub refuses · 5 void,
    or not carried out in time (--wait).
    """
    if server is not None:
        from gitfed.client import orders as over_hub

        suspend.no_wait(wait)
        approval = over_hub.approve(load.hub(server), what)
        _tell(approval["digest"], approval["commit"], approval["gates"])
        return exits.OK
    session = load.CommandSession(inputs)
    book = suspend.book(session)
    consent = orders.approve(book, what, by=suspend.person(), now=session.now)
    _tell(consent.plan.digest, consent.plan.commit, map(str, consent.gates))
    if not wait:
        return exits.OK
    fate, _ = orders.await_approval(book, consent, timeout)
    return suspend.tell(fate, f"the approval is void, for what is held is another plan now: {_AGAIN}")


def _tell(digest: str, commit: str, gates: Iterable[str]) -> None:
    click.echo(plain.clean(f"Approved of the plan {digest[:12]} for {formatting.commit(Commit(commit))}:"))
    for gate in gates:
        click.echo(f"  {plain.clean(gate)}")


_AGAIN = "gitfed plan --live shows it"
