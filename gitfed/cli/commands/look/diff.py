"""gitfed diff"""

from __future__ import annotations

from dataclasses import replace

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.output import formatting, plain, plan_text, structured
from gitfed.cli.output.diff import compare, diffstat, show, view
from gitfed.errors import UsageError
from gitfed.model.plan import Action
from gitfed.offline import inputs as daemon_inputs
from gitfed.offline import preview
from gitfed.views import plans


@click.command("diff")
@click.argument("revisions", metavar="[BASE..HEAD]", default="", shell_complete=complete.revisions)
@options.facts_or_live
@options.credentials
@options.doors
@parameters.option(
    "--stat", shared=False, is_flag=True, help="Only which objects differ, where, and by how many lines."
)
@options.output("text", "wide", "json", "yaml", "name", "md", secrets=True)
def command(
    revisions: str,
    inputs: options.Inputs,
    credentials: options.Credentials,
    server: options.Server | None,
    stat: bool,
    output: options.Output,
) -> int:
    """Compare two commits: where everything goes, before → after, and then the manifests of the clusters.

    The same difference in many clusters is printed once, with their names. BASE alone is compared with HEAD; without
    BASE it is the commit where HEAD left the default branch, as the remote has it. With --live one commit is compared
    with the clusters; with --server, too, they are read through the doors of that hub, pulled ones too.

    \b
    gitfed diff                         this branch against the default branch
    gitfed diff HEAD~1..HEAD            the last commit
    gitfed diff --stat                  one line for each object
    gitfed diff --worktree              what is not committed yet
    gitfed diff --live                  HEAD against the clusters
    gitfed diff --live --server https://gitfed.example:8443 --kubeconfig hub.conf
    KUBECTL_EXTERNAL_DIFF="colordiff -u -r" gitfed diff

    \b
    Exit codes: 0 no differences · 1 differences · 2 bad usage · 3 invalid input in the repository ·
    4 repository, hub or a cluster unreachable. Never 1 for an error.
    """
    if stat and output.format not in ("text", "wide"):
        raise UsageError(f"--stat is a table for people, and -o {output.format} is not", hint="leave out one of them")
    if inputs.live:
        if revisions:
            raise UsageError("--live compares one revision with the clusters", hint="name it with --rev")
        return _against_clusters(load.CommandSession(inputs, credentials, server), output, stat=stat)
    if server is not None:
        raise UsageError("--server is for --live: two revisions are compared without the clusters", hint="add --live")
    shown = compared(revisions, inputs)
    programs = output.format in ("json", "yaml")
    differences = list(compare.manifests(shown.review, show_secrets=output.show_secrets, exactly=programs))
    wrong = load.tell(view.problems(shown))
    different = not shown.review.empty
    if not different:
        _say_nothing(f"between {shown.titles[0]} and {shown.titles[1]}", wrong)
        if alike := {item.key for item in differences}:
            load.note(f"{formatting.count(len(alike), 'manifest')} written in other words, with the same meaning")
        if shown.preview.refused:
            load.note(view.not_accepted(shown))
    if stat and different and not output.quiet:
        _say_how_much(shown, differences, output)
    else:
        show.show(shown, differences, output)
    return exits.first([wrong, exits.DIFFERENT if different else exits.OK])


def _say_how_much(shown: view.DiffView, differences: list[compare.Difference], output: options.Output) -> None:
    for line in diffstat.lines(differences, output.paint, wide=output.format == "wide"):
        click.echo(line, color=True)
    click.echo(view.total(shown.review))


def _say_nothing(between: str, wrong: int) -> None:
    """A file with errors is not compared: it counts as it was before them."""
    sentence = f"No other differences {between}: files with errors count as they were."
    click.echo(sentence if wrong else f"No differences {between}.", err=True)


def compared(revisions: str, inputs: options.Inputs) -> view.DiffView:
    base_name, head_name, common = preview.split(revisions)
    if head_name and (inputs.rev or inputs.worktree):
        raise UsageError("the range names its head already", hint="leave out --rev and --worktree, or give BASE only")
    if head_name:
        inputs = replace(inputs, rev=head_name)
    session = load.CommandSession(inputs)
    opened = session.opened
    if opened.head is None and not inputs.rev:
        raise UsageError("nothing is committed yet: there is nothing to compare with", hint="gitfed plan --worktree")
    head_commit = daemon_inputs.resolve(opened, "" if inputs.worktree else inputs.rev)
    base_commit = preview.base_of(opened, base_name, head_commit, common=common)
    if not base_name and not inputs.worktree and base_commit == head_commit:
        load.note("HEAD is on the default branch: name a base, such as HEAD~1..HEAD")
    preview_inputs = preview.GivenInputs(inputs.fleet, inputs.decisions, session.now)
    if inputs.worktree:
        change_preview = preview.uncommitted(opened, base_commit, preview_inputs)
    else:
        change_preview = preview.between(opened, base_commit, head_commit, preview_inputs)
    return view.DiffView(
        change_preview, (formatting.commit(base_commit), formatting.commit(change_preview.head_repo.commit))
    )


# -- against the clusters ---------------------------------------------------------------------------------------


def _against_clusters(session: load.CommandSession, output: options.Output, *, stat: bool) -> int:
    fleet = session.fleet()
    plan = session.with_in_use(session.plan(fleet, session.decisions(fleet)), fleet)
    wrong = load.tell(plan.problems)
    differing = [
        change for change in plan.changes or () if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
    ]
    for note in plan.notes:
        load.note(note)
    if output.format in ("json", "yaml"):
        structured.echo(plans.document(plan), output.format)
    elif output.format == "name":
        for name in sorted({f"{change.cluster} {change.key}" for change in differing}):
            click.echo(plain.clean(name))
    elif differing and output.quiet:
        click.echo(plan_text.total(plan))
    elif differing and stat:
        for line in diffstat.of_changes(differing, output.paint, wide=output.format == "wide"):
            click.echo(line, color=True)
        click.echo(plan_text.total(plan))
    elif differing:
        for line in plan_text.changes(differing, output.paint, output.fold):
            click.echo(line, color=True)
        for line in plan_text.fields(differing, output.paint, output.fold):
            click.echo(line, color=True)
    unread = load.unread_notes(plan)
    if not differing:
        which = "the clusters that could be read" if unread else "the clusters"
        _say_nothing(f"between {formatting.commit(plan.commit)} and {which}", wrong)
    return exits.first([wrong, exits.UNREACHABLE if unread else exits.OK, exits.DIFFERENT if differing else exits.OK])
