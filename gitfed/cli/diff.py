"""gitfed diff"""

from __future__ import annotations

from typing import Any

import click

from gitfed.cli import (
    compare,
    complete,
    diff_show,
    exits,
    load,
    options,
    plan_json,
    plan_text,
    structured,
    words,
)
from gitfed.daemon import inputs as daemon_inputs
from gitfed.errors import UsageError
from gitfed.model.base import Commit
from gitfed.model.plan import Action


@click.command("diff")
@click.argument("revisions", metavar="[BASE..HEAD]", default="", shell_complete=complete.revisions)
@options.facts_or_live
@options.credentials
@options.output("text", "wide", "json", "yaml", "name", "md", secrets=True)
def command(revisions: str, inputs: options.Inputs, credentials: options.Credentials, output: options.Output) -> int:
    """Compare two commits: where everything goes, before → after, and then the manifests of the clusters.

    The same difference in many clusters is printed once, with their names. BASE alone is compared with HEAD; without
    BASE it is the commit where HEAD left the default branch. With --live one commit is compared with the clusters.

    \b
    gitfed diff                         this branch against the default branch
    gitfed diff HEAD~1..HEAD            the last commit
    gitfed diff --worktree              what is not committed yet
    gitfed diff --live                  HEAD against the clusters
    KUBECTL_EXTERNAL_DIFF="colordiff -u -r" gitfed diff

    \b
    Exit codes: 0 no differences · 1 differences · 2 bad usage · 3 invalid input in the repository ·
    4 repository or a cluster unreachable. Never 1 for an error.
    """
    if inputs.live:
        if revisions:
            raise UsageError("--live compares one revision with the clusters", hint="name it with --rev")
        return _against_clusters(inputs, credentials, output)
    sides = _sides(revisions, inputs)
    rows = compare.placement(sides.base, sides.head)
    found = list(compare.manifests(sides.base, sides.head, show_secrets=output.show_secrets))
    wrong = load.tell(sides.head.problems)
    if not rows and not found:
        click.echo(f"No differences between {sides.titles[0]} and {sides.titles[1]}.", err=True)
    diff_show.show(sides, rows, found, output)
    return exits.first([wrong, exits.DIFFERENT if rows or found else exits.OK])


def _sides(revisions: str, given: options.Inputs) -> diff_show.Sides:
    """Both revisions planned from the same facts; the second from the decisions that the first would leave."""
    base_name, head_name, common = split(revisions)
    if head_name and (given.rev or given.worktree):
        raise UsageError("the range names its head already", hint="leave out --rev and --worktree, or give BASE only")
    if head_name:
        given = options.Inputs(
            repo=given.repo, rev=head_name, fleet=given.fleet, decisions=given.decisions, now=given.now
        )
    session = load.Session(given)
    opened, repo = session.opened, session.repo
    head_commit = repo.commit or opened.head
    if not head_commit:
        raise UsageError("nothing is committed yet: there is nothing to compare with", hint="gitfed plan --worktree")
    base_commit = _base(opened, base_name, head_commit, common=common)
    if not base_name and not given.worktree and base_commit == head_commit:
        load.note("HEAD is on the default branch: name a base, such as gitfed diff HEAD~1..HEAD")
    past, now = session.decisions(), session.now
    base_repo = session.at(base_commit)
    base = daemon_inputs.plan(opened, base_repo, _fleet(session, base_repo), past, now)
    head = daemon_inputs.plan(
        opened, repo, _fleet(session, repo), daemon_inputs.after(base, past), now, base=base_commit
    )
    return diff_show.Sides(base, head, (words.commit(base_commit), words.commit(repo.commit)))


def _fleet(session: load.Session, repo: Any) -> Any:
    """Facts come from one place for both sides; which clusters are declared is each side's own."""
    return daemon_inputs.fleet(session.opened, repo, session.given.fleet)


def split(revisions: str) -> tuple[str, str, bool]:
    """`A..B` → (A, B, False); `A...B` → (A, B, True): from where they parted; `A` → (A, "", False).

    No name of Git's can hold two dots, so nothing is ambiguous.
    """
    for dots in ("...", ".."):
        base, found, head = revisions.partition(dots)
        if found:
            return base, head or "HEAD", dots == "..."
    return revisions, "", False


def _base(opened: daemon_inputs.Opened, name: str, head: Commit, *, common: bool) -> Commit:
    if not name:
        return daemon_inputs.default_base(opened, head)
    base = daemon_inputs.resolve(opened, name)
    if not common:
        return base
    parted = opened.repository.merge_base(base, head)
    if parted is None:
        raise UsageError(f"{name} and {words.commit(head)} have no common history")
    return parted


# -- against the clusters ---------------------------------------------------------------------------------------


def _against_clusters(inputs: options.Inputs, credentials: options.Credentials, output: options.Output) -> int:
    session = load.Session(inputs, credentials)
    fleet = session.fleet()
    plan = session.plan(fleet, session.decisions(fleet))
    wrong = load.tell(plan.problems)
    differing = [
        change for change in plan.changes or () if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
    ]
    for note in plan.notes:
        load.note(note)
    if output.format in ("json", "yaml"):
        structured.echo(plan_json.document(plan), output.format)
    elif output.format == "name":
        for name in sorted({f"{change.cluster} {change.key}" for change in differing}):
            click.echo(name)
    elif differing and output.quiet:
        click.echo(plan_text.total(plan))
    elif differing:
        for line in plan_text.changes(differing, output.paint):
            click.echo(line, color=True)
        for line in plan_text.fields(differing, output.paint):
            click.echo(line, color=True)
    if not differing:
        click.echo(f"No differences between {words.commit(plan.commit)} and the clusters.", err=True)
    unread = any("could not be read" in note for note in plan.notes)
    return exits.first([wrong, exits.UNREACHABLE if unread else exits.OK, exits.DIFFERENT if differing else exits.OK])
