"""Two revisions side by side, for every printer.

The placement table comes first, then each difference of manifests with the clusters that share it. On paper
(`-o md`) Secrets are always masked and the comment has the same three lengths as a plan's.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click

from gitfed.cli import (
    bodies,
    compare,
    external,
    markdown,
    matrix,
    names,
    options,
    plain,
    plan_json,
    structured,
    words,
)
from gitfed.model.plan import Plan

SCHEMA = "gitfed.io/diff/v1"
MARKER = "<!-- gitfed.io/diff -->"
_LIMIT = 65_000


class Sides(NamedTuple):
    base: Plan
    head: Plan
    titles: tuple[str, str]


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
