"""gitfed review"""

from __future__ import annotations

import os
from dataclasses import asdict, replace

import click

from gitfed.cli import complete, exits, load, options, parameters, pipeline
from gitfed.cli.commands.look import diff
from gitfed.cli.output import formatting, markdown, structured
from gitfed.cli.output.diff import comment, compare, view
from gitfed.cli.pipeline import PullRequest
from gitfed.daemon import commit_status
from gitfed.edges import forge
from gitfed.edges.forge import CommitStatus
from gitfed.errors import UsageError
from gitfed.model.base import Commit, Severity
from gitfed.offline import inputs as daemon_inputs
from gitfed.text.values import dataclass

SCHEMA = "gitfed.io/review/v1"
_PLAIN_MARKER = "[//]: # (gitfed.io/diff)"
"""For forges that print HTML: a link definition, which Markdown does not print."""


@dataclass(frozen=True, slots=True)
class Named:
    """The pull request, as far as it is named: as `PullRequest` calls it."""

    kind: str
    api: str
    project: str
    number: int | None


@click.command("review")
@click.argument("revisions", metavar="[BASE..HEAD]", default="", shell_complete=complete.revisions)
@options.facts
@parameters.option(
    "--forge",
    "kind",
    metavar="KIND",
    shared=False,
    default="",
    type=click.Choice(["", *forge.KINDS, "forgejo"]),
    help="github, gitlab, gitea (Forgejo too) or bitbucket.  [default: the CI's]",
)
@parameters.option("--api", metavar="URL", shared=False, default="", help="Address of its API.  [default: the CI's]")
@parameters.option(
    "--project", metavar="OWNER/NAME", shared=False, default="", help="The repository there.  [default: the CI's]"
)
@parameters.option(
    "--number",
    metavar="N",
    shared=False,
    type=click.IntRange(1),
    default=None,
    help="The pull request.  [default: the CI's]",
)
@parameters.option(
    "--cluster-statuses/--no-cluster-statuses",
    shared=False,
    default=True,
    show_default=True,
    help="A status for every cluster that would be changed, beside the one for all.",
)
@parameters.option(
    "--dry-run",
    shared=False,
    type=click.Choice(["client"]),
    default=None,
    help="client: print the comment, and tell no forge.",
)
@options.output("text", "json", "yaml")
@parameters.value("named", Named)
def command(
    revisions: str,
    inputs: options.Inputs,
    named: Named,
    cluster_statuses: bool,
    dry_run: str | None,
    output: options.Output,
) -> int:
    """Say in a pull request what its merge would do to the fleet: one comment, edited in place, and commit statuses.

    Inside a CI job of GitHub, GitLab, Gitea, Forgejo or Bitbucket everything is known but the token, which is read from
    GITFED_FORGE_TOKEN (else GITHUB_TOKEN, GITLAB_TOKEN, GITEA_TOKEN, BITBUCKET_TOKEN). No cluster is asked, and
    nothing that the change names is contacted; limits are those of the base. Where nothing changes no comment is
    posted, and an earlier one says so.

    \b
    gitfed review                                 in a CI job
    gitfed review main..HEAD --dry-run=client     read the comment first
    gitfed review main..HEAD --forge gitea --api https://git.example/api/v1 --project ops/fleet --number 7

    \b
    Exit codes: 0 said · 2 bad usage · 3 invalid input in the repository · 4 repository or forge unreachable ·
    5 a gate would hold something.
    """
    request = pipeline.pull_request(os.environ)
    request = replace(request, **{field: value for field, value in asdict(named).items() if value})
    shown, head = _shown(revisions, inputs, request)
    differences = list(compare.manifests(shown.review))
    statuses = commit_status.of_review(
        shown.preview.review, shown.preview.refused, view.new_problems(shown), clusters=cluster_statuses
    )
    statuses = [replace(status, url=request.url) for status in statuses]
    if dry_run is not None:
        click.echo(comment.comment(shown, differences), nl=False)
        for status in statuses:
            click.echo(f"{status.state} {status.name}: {status.description}", err=True)
    else:
        posted = _say(request, head, shown, differences, statuses)
        if output.format == "text":
            if not output.quiet:
                click.echo(f"comment {posted}, {formatting.count(len(statuses), 'status', 'statuses')} set")
        else:
            structured.echo(_document(posted, head, statuses), output.format)
    problems = shown.review.head.problems
    load.tell(problem for problem in problems if problem.severity is Severity.ERROR)
    held = exits.HELD if any(gate.held for gate in shown.review.gates) else exits.OK
    return exits.first([load.code(problems), held])


def _shown(revisions: str, inputs: options.Inputs, request: PullRequest) -> tuple[view.DiffView, Commit]:
    """What to compare, and the commit that the statuses are for."""
    if inputs.worktree:
        raise UsageError("only commits are reviewed", hint="gitfed diff --worktree")
    if revisions or not request.base:
        shown = diff.compared(revisions, inputs)
        return shown, Commit(request.head) if request.head and not revisions else shown.review.head.commit
    opened = load.CommandSession(inputs).opened
    parents = opened.repository.info(daemon_inputs.resolve(opened, inputs.rev)).parents
    if not inputs.rev and request.head in parents[1:]:
        # The CI checked out the merge of both: what it was merged into is exactly what stands before it.
        return diff.compared(f"{parents[0]}..HEAD", inputs), Commit(request.head)
    named = f"{request.base}...{request.head or 'HEAD'}"
    shown = diff.compared(named, inputs)
    return shown, Commit(request.head or shown.review.head.commit)


def _say(
    request: PullRequest,
    head: Commit,
    shown: view.DiffView,
    differences: list[compare.Difference],
    statuses: list[CommitStatus],
) -> str:
    if not request.number:
        raise UsageError("which pull request is not known", hint="--number N, or print it with --dry-run=client")
    client = forge.connect(request.place, request.token)
    marker = comment.MARKER if client.html else _PLAIN_MARKER
    text = comment.comment(shown, differences, limit=client.longest, marker=marker)
    otherwise = comment.nothing(shown, marker)
    if not client.html:
        text, otherwise = markdown.without_html(text), markdown.without_html(otherwise)
    posted = client.comment(request.number, marker, text, otherwise=otherwise)
    for status in statuses:
        client.set_status(head, status)
    return posted.value


def _document(posted: str, head: Commit, statuses: list[CommitStatus]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "comment": posted,
        "commit": head,
        "statuses": [
            {"name": status.name, "state": status.state.value, "description": status.description} for status in statuses
        ],
    }
