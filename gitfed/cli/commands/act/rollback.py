"""gitfed rollback"""

from __future__ import annotations

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.output import formatting
from gitfed.cli.output.diff import compare, show, view
from gitfed.edges import git
from gitfed.errors import UsageError
from gitfed.model.base import Severity
from gitfed.offline import inputs as daemon_inputs
from gitfed.offline import preview, rollback


@click.command("rollback")
@click.argument("commit", metavar="[COMMIT]", required=False, default="", shell_complete=complete.revisions)
@options.facts
@parameters.option(
    "--branch",
    metavar="NAME",
    shared=False,
    default="",
    help="Name of the branch that is made.  [default: revert-COMMIT]",
)
@parameters.option(
    "--dry-run",
    shared=False,
    type=click.Choice(["client"]),
    default=None,
    help="client: show what the revert would do, and make no branch.",
)
@options.output("text", "wide", "json", "yaml", "name", "md")
def command(commit: str, inputs: options.Inputs, branch: str, dry_run: str | None, output: options.Output) -> int:
    """Prepare the revert of a commit (default: the last one) as a branch, and show what merging it would do.

    Nothing is applied and no worktree is touched. What was changed again since is merged; where both changed the same
    lines nothing is guessed. Merge the branch like any other change.

    \b
    gitfed rollback
    gitfed rollback 3f2c1a9 --dry-run=client
    gitfed rollback 3f2c1a9 && git push origin revert-3f2c1a9

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository · 4 the commit is unknown, or cannot be
    reverted by itself · 5 a gate would hold something.
    """
    if inputs.worktree:
        raise UsageError("only commits are reverted", hint="git restore undoes what is not committed")
    if git.is_url(inputs.repo) and dry_run is None:
        raise UsageError("a branch is made in a repository on this machine", hint="--dry-run=client, or clone it")
    session = load.CommandSession(inputs)
    opened = session.opened
    onto = daemon_inputs.resolve(opened, inputs.rev)
    undo = daemon_inputs.resolve(opened, commit or inputs.rev)
    preview_inputs = preview.GivenInputs(inputs.fleet, inputs.decisions, session.now)
    prepared = rollback.prepare(opened, undo, onto, preview_inputs)
    shown = view.DiffView(prepared.preview, (formatting.commit(onto), formatting.commit(prepared.commit)))
    programs = output.format in ("json", "yaml")
    show.show(shown, list(compare.manifests(shown.review, exactly=programs)), output)
    if shown.review.empty:
        made = "" if branch or dry_run else ": no branch is made (--branch NAME makes one all the same)"
        load.note(f"the revert changes nothing in the fleet{made}")
    if dry_run is None and (branch or not shown.review.empty):
        name = branch or f"revert-{undo[:7]}"
        rollback.name_branch(opened, name, prepared.commit)
        load.note(f"branch {name} is at {prepared.commit[:7]}: {prepared.subject}; push it, and merge it")
    problems = shown.review.head.problems
    wrong = load.tell(problem for problem in problems if problem.severity is Severity.ERROR)
    held = exits.HELD if any(gate.held for gate in shown.review.gates) else exits.OK
    return exits.first([wrong, held])
