"""gitfed plan"""

from __future__ import annotations

from pathlib import Path

import click

from gitfed.cli import exits, load, options, parameters, plan_file
from gitfed.cli.output import plain, plan_markdown, plan_text, structured
from gitfed.model.plan import Plan
from gitfed.views import plans


@click.command("plan")
@options.facts_or_live
@options.credentials
@options.doors
@parameters.option(
    "--out",
    shared=False,
    type=parameters.Files(dir_okay=False),
    metavar="FILE",
    help="Save commit, decisions and changes with their digest, without bodies, for: gitfed apply FILE.",
)
@options.output("text", "wide", "json", "yaml", "name", "md")
def command(
    inputs: options.Inputs,
    credentials: options.Credentials,
    server: options.Server | None,
    output: options.Output,
    out: Path | None,
) -> int:
    """Show what a commit would do to the fleet: which cluster gets what and why, and what would change there.

    Placement comes from the repository, from past decisions and from recorded facts (with --live: from the clusters).
    Changes are found out when credentials of the clusters resolve; otherwise they are "not observed" and nothing is
    asked of any cluster. With --server the clusters are read through the doors of that hub in your name, pulled ones
    too: an AccessPolicy has to give you `proxy` there, and the clusters' RBAC what is read.

    \b
    gitfed plan                                   the last commit
    gitfed plan --worktree                        before committing
    gitfed plan --live --kubeconfig fleet.conf    against the clusters
    gitfed plan --live --server https://gitfed.example:8443 --kubeconfig hub.conf
    gitfed plan --fleet fleet.yaml --now 2026-08-22T10:04:00Z -o json
    gitfed plan -o md > comment.md                one comment for a pull request

    \b
    Exit codes: 0 also with changes · 2 bad usage · 3 invalid input in the repository · 4 repository, hub or a
    cluster unreachable · 5 a gate holds something.
    """
    if out is not None:
        plan_file.check_folder(out)
    session = load.CommandSession(inputs, credentials, server)
    fleet = session.observed()
    past = session.decisions(fleet)
    result = session.plan(fleet, past)
    if out is not None:
        plan_file.write(out, result)  # compared with what an apply builds
    result = session.with_in_use(result, fleet)
    show(plan_text.view(result, past, session.declared(result)), output)
    if out is not None:
        load.note(f"saved to {out}: gitfed apply {out}")
    if output.format in ("json", "yaml", "name"):
        load.tell_unread(result)
    problems = load.tell(result.problems if output.format in ("text", "wide", "name") else ())
    return exits.first([problems or load.code(result.problems), *codes(result)])


def codes(result: Plan) -> list[int]:
    held = exits.HELD if any(gate.held for gate in result.gates) else exits.OK
    return [held, exits.UNREACHABLE if load.unread_notes(result) else exits.OK]


def show(shown: plan_text.PlanComparison, output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        structured.echo(plans.document(shown.plan, shown.declared), output.format)
    elif output.format == "md":
        click.echo(plan_markdown.comment(shown), nl=False)
    elif output.format == "name":
        for key, binding in shown.plan.bindings.items():
            if binding.scheduled.shares:
                click.echo(plain.clean(str(key)))
    else:
        wide = output.format == "wide"
        width = 10_000 if wide else output.width
        for line in plan_text.lines(shown, output.paint, width, wide=wide, quiet=output.quiet, fold=output.fold):
            click.echo(line, color=True)
