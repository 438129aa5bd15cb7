"""gitfed approve"""

from __future__ import annotations

import click

from gitfed.cli import complete, exits, load, options
from gitfed.cli.commands.act import suspend
from gitfed.cli.output import formatting, plain
from gitfed.offline import orders


@click.command("approve")
@click.argument("what", metavar="DIGEST|GATE", shell_complete=complete.approvals)
@options.source
@options.WAIT
@options.WAIT_TIMEOUT
def command(what: str, inputs: options.Inputs, wait: bool, timeout: float) -> int:
    """Let through what gates hold, of exactly the plan that waits.

    The order is written to the state branch; a running daemon, or the next gitfed apply, carries it out. DIGEST is that
    of gitfed plan --live (its first 8 characters are enough) and means every gate of that plan, GATE one of them by its
    name. Printed is what it consents to. If the plan has become another one, the order is void, and nothing is done.

    \b
    gitfed plan --live
    gitfed approve 4f0c12ab9d3e --wait
    gitfed approve deletions

    \b
    Exit codes: 0 done · 2 nothing is held, or not that · 3 invalid input in the repository, or who signs is none of
    spec.guards.approvers · 4 the repository or its state branch cannot be read or written · 5 void, or not carried out
    in time (--wait).
    """
    session = load.Session(inputs)
    book = suspend.book(session)
    consent = orders.approve(book, what, by=suspend.person(), now=session.now)
    click.echo(f"Approved of the plan {consent.plan.digest[:12]} for {formatting.commit(consent.plan.commit)}:")
    for gate in consent.gates:
        click.echo(f"  {plain.clean(str(gate))}")
    if not wait:
        return exits.OK
    fate, _ = orders.await_approval(book, consent, timeout)
    return suspend.tell(fate, f"the approval is void, for what is held is another plan now: {_AGAIN}")


_AGAIN = "gitfed plan --live shows it"
