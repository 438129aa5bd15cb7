"""Two revisions side by side, for a person at a terminal, and for whatever `-o` names.

First the causes: what is declared otherwise, and how many objects that concerns. Then where everything goes, before →
after, and the differences of manifests with the clusters that share them. At the end what a merge would do, and the
limits that would hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from gitfed.cli import options
from gitfed.cli.output import declared_text, formatting, manifest_text, matrix, plan_text, structured, table
from gitfed.cli.output.diff import compare, document, external, view
from gitfed.cli.output.diff.view import DiffView
from gitfed.cli.output.table import Cell


def show(shown: DiffView, differences: list[compare.Difference], output: options.Output) -> None:
    """`differences`: `compare.manifests` of the same review."""
    if output.format in ("json", "yaml"):
        structured.echo(document.document(shown, differences), output.format)
    elif output.format == "md":
        from gitfed.cli.output.diff import comment

        click.echo(comment.comment(shown, differences), nl=False)
    elif output.format == "name":
        for name in sorted({str(item.key) for item in differences}):
            click.echo(name)
    elif not shown.review.empty:
        if output.quiet:
            click.echo(view.total(shown.review))
        else:
            _text(shown, differences, output)


def _text(shown: DiffView, differences: list[compare.Difference], output: options.Output) -> None:
    paint = output.paint
    wide = output.format == "wide"
    width, fold = 10_000 if wide else output.width, output.fold
    review = shown.review

    def say(lines: Iterable[str]) -> None:
        if text := [*lines]:
            click.echo("\n".join(text), color=True)  # at once: a review may have a hundred thousand lines

    facts = formatting.facts(review.head.facts)
    titles = [Cell(title, paint.strong) for title in shown.titles]
    say(table.flow(["Diff ", titles[0], " → ", titles[1], f" · {facts}"], width=fold))
    for note in shown.preview.notes:
        say(table.flow([f"note: {note}"], width=fold))
    if shown.preview.refused:
        say(table.flow([Cell("waits", paint.removed), f": {view.not_accepted(shown)}"], width=fold))
    if review.declared:
        limits = "this review goes by those of the base"
        say([paint.strong("Declared"), *declared_text.lines(review.declared, paint, fold, limits=limits)])
    if shown.rows:
        say([paint.strong("Placement"), *matrix.lines(shown.rows, shown.clusters, paint, width, fold=fold)])
        for flow in review.flows:
            say(table.flow([view.flow(flow)], indent=2, width=fold))
    command = external.program()
    if command and differences:
        external.run(command, _files(differences))
    elif differences:
        say([paint.strong("Manifests")])
        for item in differences:
            head = f"{paint.strong(view.title(item))}  {view.where(item, len(shown.clusters), wide=wide)}"
            say([head, *(manifest_text.painted(line, paint) for line in view.lines(item, shown.titles))])
    say(plan_text.listed(view.EARLIER, view.earlier(shown), paint, fold))
    say(plan_text.left_alone(review.changes, paint, fold))
    say(plan_text.gates(review.gates, paint, fold))
    say(table.flow([view.total(review)], width=fold))


def _files(differences: list[compare.Difference]) -> list[tuple[str, str, str]]:
    files = []
    for number, item in enumerate(differences):
        key = item.key
        parts = [key.group or "core", key.kind, key.namespace, key.name, item.clusters[0]]
        if len(item.clusters) > 1:
            parts.append(f"and-{len(item.clusters) - 1}-more")
        # Names of objects are foreign text; a file name must stay inside its folder.
        name = re.sub(r"[^A-Za-z0-9._-]", "_", ".".join(part for part in parts if part))[:200]
        files.append(
            (
                name if name.strip(".") else f"object-{number}",
                manifest_text.text(item.before),
                manifest_text.text(item.after),
            )
        )
    return files
