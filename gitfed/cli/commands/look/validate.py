"""gitfed validate"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from gitfed import lint as plan_lint
from gitfed.cli import complete, load, options, parameters
from gitfed.cli.output import annotations as forms
from gitfed.cli.output import formatting, markdown, parse_summary, plain, structured, table
from gitfed.interpret.schema.kubernetes import Kubernetes, minor_of
from gitfed.model.base import Body, Origin, Problem, Severity
from gitfed.model.decisions import Decisions
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, state_inputs
from gitfed.offline import inputs as daemon_inputs
from gitfed.placement.explain import caveats
from gitfed.placement.scheduling import match
from gitfed.planning import notes
from gitfed.planning.objects import secret_leaks
from gitfed.reading import interpreters
from gitfed.source import lint, locate
from gitfed.views import problems as views

_MOST_UNREAD = 10
"""Files that cannot be used of which each gets a note."""


@click.command("validate")
@options.source
@parameters.option(
    "--base",
    metavar="REV",
    shared=False,
    default="",
    shell_complete=complete.revisions,
    help="Also say which interpreters and immutable fields changed since this commit.",
)
@parameters.option(
    "--kubernetes-version",
    "kubernetes",
    metavar="1.MINOR",
    shared=False,
    default=None,
    callback=lambda context, parameter, value: kubernetes_of(value),
    help="Check objects as this version would, not as each cluster does: before an upgrade.",
)
@parameters.option(
    "--format",
    "annotations",
    shared=False,
    type=click.Choice(list(forms.FORMS)),
    default=None,
    help="For a CI: SARIF, GitHub's workflow commands, or GitLab's code quality report.",
)
@options.output("text", "wide", "json", "yaml", "name", "md")
def command(
    inputs: options.Inputs, base: str, kubernetes: Kubernetes | None, annotations: str | None, output: options.Output
) -> int:
    """Say everything that is wrong with a repository, all at once.

    Each problem is one line: path:line:col: message (hint). Errors hold the file's objects at their last good version;
    warnings change nothing. Objects are checked against their kinds' schemas, those of Kubernetes' own kinds by the
    version of each cluster that they go to; where no version is known, by the newest one that gitfed knows.

    \b
    gitfed validate                       the last commit of the repository around this folder
    gitfed validate --worktree            what is on disk, before it is committed
    gitfed validate --rev my-branch -o json
    gitfed validate --kubernetes-version 1.37
    gitfed validate --format github       marks the lines in a pull request

    \b
    Exit codes: 0 no errors (there may be warnings) · 2 bad usage · 3 errors · 4 the repository cannot be read.
    """
    session = load.CommandSession(inputs)
    repo = session.repo
    problems = problems_of(session, base, kubernetes)
    if annotations is not None:
        click.echo(forms.FORMS[annotations](problems), nl=False)
    else:
        show(problems, output, of=contents(repo))
        for text in parse_summary.remarks(repo, problems):
            load.note(text)
        for text in notes.starting_points(repo):
            load.note(text)
        most = len(repo.unread) if output.format == "wide" else _MOST_UNREAD
        for file in repo.unread[:most]:
            load.note(notes.held_by(file))
        if len(repo.unread) > most:
            more = formatting.count(len(repo.unread) - most, "more file")
            load.note(
                f"and {more} cannot be used and {'has' if more.startswith('1 ') else 'have'} no good version"
                " (-o wide shows them)"
            )
        if repo.left_out:
            load.note(notes.left_out(repo.left_out))
    return load.code(problems)


def kubernetes_of(version: str | None) -> Kubernetes | None:
    """The types of a version that a user names. Raises click.BadParameter for one that is not known."""
    if version is None:
        return None
    minor, minors = minor_of(version), interpreters.KUBERNETES.minors
    if minor is None or minor not in minors:
        raise click.BadParameter(f"{version} is not known: 1.{minors[0]} to 1.{minors[-1]} are")
    return interpreters.KUBERNETES.always(minor)


def problems_of(session: load.CommandSession, base: str = "", kubernetes: Kubernetes | None = None) -> list[Problem]:
    """Of the files, of the files together, and of a plan of them for a fleet without troubles of its own."""
    repo = session.repo
    plan = _plan(session, kubernetes)
    at = locate.InFiles(session.read.content)
    problems = {*plan.problems, *repo.problems, *lint.check(repo, at), *plan_lint.check(repo, plan), *oddities(repo)}
    problems |= set(secret_leaks.check(repo, at))
    if base:
        before = session.at(daemon_inputs.resolve(session.opened, base))
        problems |= set(plan_lint.check_change(before, repo, plan))
    return sorted(problems)


def _plan(session: load.CommandSession, kubernetes: Kubernetes | None) -> Plan:
    """Where everything would go. Room that is not known is taken to be enough: whether it is, is no fault of a file."""
    repo = session.repo
    fleet = fleet_inputs.fleet(session.opened, repo)
    past = Decisions(answers=state_inputs.recorded_answers(session.opened, repo))
    plan = daemon_inputs.plan(session.opened, repo, fleet, past, session.now, kubernetes=kubernetes)
    conditions = (binding.scheduled.condition for binding in plan.bindings.values())
    unknown = {name for condition in conditions if condition is not None for name in condition.capacity_unknown_in}
    if not unknown:
        return plan
    load.note(f"the room in {formatting.some(sorted(unknown))} is not known: taken to be enough")
    parts = [
        part
        for binding in plan.bindings.values()
        for part in (binding.requirements, *map(_needs, binding.scheduled.components))
    ]
    resources = {name for part in parts for name in (part or {}).get("resourceRequest") or {}}
    enough = {"allocatable": dict.fromkeys([*sorted(resources), "pods"], "1E")}
    clusters = {
        name: replace(facts, resource_summary=enough) if name in unknown else facts
        for name, facts in fleet.clusters.items()
    }
    fleet = replace(fleet, clusters=clusters)
    return daemon_inputs.plan(session.opened, repo, fleet, past, session.now, kubernetes=kubernetes)


def _needs(component: Body) -> Body | None:
    requirements: Body | None = component.get("replicaRequirements")
    return requirements


def oddities(repo: RepoSnapshot) -> Iterator[Problem]:
    """Placements that mean something else in Karmada, or less than they seem to say."""
    for policy in repo.propagation:
        for sentence in caveats.relied_on(policy.spec.placement):
            yield Problem(policy.origin or Origin(""), f"{match.ref(policy)}: {sentence}", severity=Severity.WARNING)


def show(problems: list[Problem], output: options.Output, *, of: str) -> None:
    errors = sum(1 for problem in problems if problem.severity is Severity.ERROR)
    summary = f"{formatting.count(errors, 'error')}, {formatting.count(len(problems) - errors, 'warning')}"
    if output.format in ("json", "yaml"):
        structured.echo(views.document(problems), output.format)
    elif output.format == "md":
        for line in [f"**{summary}**", "", *(f"- {markdown.code(str(problem))}" for problem in problems)]:
            click.echo(line)
    elif output.format == "name":
        for path in sorted({plain.clean(problem.origin.path) for problem in problems}):
            click.echo(path)
    elif output.quiet:
        click.echo(summary)
    elif output.format == "wide":
        rows = [["SEVERITY", "WHERE", "MESSAGE", "HINT"]]
        rows += [[problem.severity.value, str(problem.origin), problem.message, problem.hint] for problem in problems]
        for line in table.lines(rows):
            click.echo(line)
    else:
        for problem in problems:
            click.echo(painted(problem, output.paint), color=True)
        click.echo(f"{summary} in {of}" if problems else f"nothing is wrong in {of}", err=bool(problems))


def painted(problem: Problem, paint: plain.Paint) -> str:
    text = plain.clean(str(problem))
    where = plain.clean(str(problem.origin))
    colour = paint.removed if problem.severity is Severity.ERROR else paint.changed
    return colour(where) + text[len(where) :]


def contents(repo: RepoSnapshot) -> str:
    """`3f2c1a9: 12 objects, 3 policies, 4 clusters`."""
    objects = formatting.count(len(repo.manifests), "object")
    policies = formatting.count(len(repo.propagation) + len(repo.overrides), "policy", "policies")
    counted = [objects, policies, formatting.count(len(repo.clusters), "cluster")]
    if repo.autoscalers:
        counted.append(formatting.count(len(repo.autoscalers), "autoscaler"))
    return f"{formatting.commit(repo.commit)}: {', '.join(counted)}"
