"""gitfed diff"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click

from gitfed.cli import (
    bodies,
    compare,
    complete,
    exits,
    external,
    load,
    markdown,
    matrix,
    names,
    options,
    plain,
    plan_json,
    plan_text,
    structured,
    words,
)
from gitfed.daemon import inputs as daemon_inputs
from gitfed.errors import UsageError
from gitfed.model.base import Commit
from gitfed.model.plan import Action, Plan

SCHEMA = "gitfed.io/diff/v1"
MARKER = "<!-- gitfed.io/diff -->"
_LIMIT = 65_000


class Sides(NamedTuple):
    base: Plan
    head: Plan
    titles: tuple[str, str]


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
    show(sides, rows, found, output)
    return exits.first([wrong, exits.DIFFERENT if rows or found else exits.OK])


def _sides(revisions: str, given: options.Inputs) -> Sides:
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
    return Sides(base, head, (words.commit(base_commit), words.commit(repo.commit)))


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


# -- printing ---------------------------------------------------------------------------------------------------


def show(sides: Sides, rows: list[matrix.Row], found: list[compare.Difference], output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        structured.echo(document(sides, found), output.format)
    elif output.format == "md":
        click.echo(comment(sides, rows, found), nl=False)
    elif output.format == "name":
        for name in sorted({str(item.key) for item in found}):
            click.echo(name)
    elif output.quiet:
        if rows or found:
            click.echo(_totals(rows, found))
    else:
        _text(sides, rows, found, output)


def _totals(rows: list[matrix.Row], found: list[compare.Difference]) -> str:
    clusters = {cluster for item in found for cluster in item.clusters}
    objects = words.count(len({item.key for item in found}), "object")
    return f"{words.count(len(rows), 'placement')} and {objects} differ in {words.count(len(clusters), 'cluster')}."


def _text(sides: Sides, rows: list[matrix.Row], found: list[compare.Difference], output: options.Output) -> None:
    paint = output.paint
    width = 10_000 if output.format == "wide" else output.width
    if rows:
        click.echo(f"{paint.strong('Placement')} {sides.titles[0]} → {sides.titles[1]}", color=True)
        clusters = {*sides.base.clusters, *sides.head.clusters}
        for line in matrix.lines(rows, sorted(clusters), paint, width):
            click.echo(line, color=True)
    command = external.program()
    if command and found:
        external.run(command, _files(found))
        return
    if found:
        click.echo(paint.strong("Manifests"), color=True)
    of = len({*sides.base.clusters, *sides.head.clusters})
    for item in found:
        click.echo(f"{paint.strong(title(item))}  {where(item, of, wide=output.format == 'wide')}", color=True)
        for line in lines(item, sides.titles):
            click.echo(bodies.painted(line, paint), color=True)


def title(item: compare.Difference) -> str:
    return f"{plain.clean(names.shown(item.key))} {item.verb}"


def where(item: compare.Difference, of: int, *, wide: bool = False) -> str:
    """`in eu-1`, `same in 41 clusters: …`."""
    if len(item.clusters) == 1:
        return f"in {plain.clean(item.clusters[0])}"
    listed = " ".join(item.clusters) if wide else words.some(item.clusters, most=12)
    every = "all " if len(item.clusters) == of else ""
    return f"same in {every}{len(item.clusters)} clusters: {plain.clean(listed)}"


def lines(item: compare.Difference, titles: tuple[str, str]) -> list[str]:
    """A unified diff with its two title lines."""
    name = plain.clean(str(item.key))
    old = f"{titles[0]}/{name}" if item.before is not None else "/dev/null"
    new = f"{titles[1]}/{name}" if item.after is not None else "/dev/null"
    return [f"--- {old}", f"+++ {new}", *item.hunks]


def _files(found: list[compare.Difference]) -> list[tuple[str, str, str]]:
    files = []
    for number, item in enumerate(found):
        key = item.key
        parts = [key.group or "core", key.kind, key.namespace, key.name, item.clusters[0]]
        if len(item.clusters) > 1:
            parts.append(f"and-{len(item.clusters) - 1}-more")
        # Names of objects are foreign text; a file name must stay inside its folder.
        name = re.sub(r"[^A-Za-z0-9._-]", "_", ".".join(part for part in parts if part))[:200]
        files.append(
            (name if name.strip(".") else f"object-{number}", bodies.text(item.before), bodies.text(item.after))
        )
    return files


def document(sides: Sides, found: list[compare.Difference]) -> dict[str, Any]:
    placement = []
    for key in sorted(sides.base.bindings.keys() | sides.head.bindings.keys()):
        old, new = sides.base.bindings.get(key), sides.head.bindings.get(key)
        if (old.shares if old else ()) != (new.shares if new else ()):
            resource = plan_json.binding(new or old)["resource"]  # type: ignore[arg-type]
            placement.append(
                {
                    "resource": resource,
                    "before": plan_json.binding(old)["clusters"] if old else [],
                    "after": plan_json.binding(new)["clusters"] if new else [],
                    "why": new.why if new else "removed from the repository",
                }
            )
    return {
        "schema": SCHEMA,
        "base": sides.base.commit,
        "head": sides.head.commit,
        "placement": placement,
        "manifests": [
            {
                "apiVersion": (item.after or item.before or {}).get("apiVersion", ""),
                "kind": item.key.kind,
                "namespace": item.key.namespace,
                "name": item.key.name,
                "clusters": list(item.clusters),
                "change": item.verb,
                "diff": "\n".join(lines(item, sides.titles)),
            }
            for item in found
        ],
        "problems": [plan_json.problem(problem) for problem in sides.head.problems],
    }


def comment(sides: Sides, rows: list[matrix.Row], found: list[compare.Difference]) -> str:
    """One comment, the first of three lengths that fits. Secrets are always masked here."""
    head = [MARKER, f"### gitfed diff {markdown.code(sides.titles[0])} → {markdown.code(sides.titles[1])}", ""]
    of = len({*sides.base.clusters, *sides.head.clusters})
    table = []
    for row in rows:
        cells: dict[str, list[str]] = {}
        for cluster in sorted({*row.after, *(row.before or {})}):
            cells.setdefault(matrix.cell(row, cluster, plain.Paint()).text, []).append(cluster)
        text = "<br>".join(f"{markdown.code(words.some(clusters))} {cell}" for cell, clusters in cells.items())
        table.append([markdown.code(row.label), text, row.total, markdown.escape(row.why)])
    placement = ["**Placement**", "", *markdown.table(["Workload", "Clusters", "Total", "Why"], table), ""]
    objects = [f"- {markdown.code(title(item))} {markdown.code(where(item, of))}" for item in found]
    full = []
    for item in found:
        block = markdown.fence(lines(item, sides.titles), "diff")
        full += [*markdown.details(f"{markdown.code(title(item))} {markdown.code(where(item, of))}", block), ""]
    total = markdown.escape(_totals(rows, found)) if rows or found else "No differences."
    tables = placement if rows else []
    for body in ([*tables, *full], [*tables, *objects, ""], ["_Too long for a comment: run_ `gitfed diff`", ""]):
        text = "\n".join([*head, *body, total]) + "\n"
        if len(text) < _LIMIT:
            break
    return text


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
