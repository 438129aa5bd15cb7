"""Two revisions side by side, for every printer but Markdown (`diff_markdown`).

First the causes: what is declared otherwise, and how many objects that concerns. Then where everything goes, before →
after, and the differences of manifests with the clusters that share them. At the end what a merge would do, and the
limits that would hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from gitfed.cli import options
from gitfed.cli.output import (
    compare,
    declared_text,
    external_diff,
    formatting,
    manifest_text,
    matrix,
    plain,
    plan_text,
    reasons,
    structured,
    table,
)
from gitfed.cli.output.table import Cell
from gitfed.model.base import Problem, Severity
from gitfed.model.plan import Change
from gitfed.model.reason import Reason
from gitfed.offline.preview import Preview
from gitfed.planning import retained_objects
from gitfed.planning.review import predict
from gitfed.planning.review.review import Flow, Review
from gitfed.views import differences, names, plans

SCHEMA = "gitfed.io/diff/v1"
EARLIER = "Left by earlier commits"
"""What is done about objects that no difference of manifests shows."""


class DiffView(NamedTuple):
    preview: Preview
    titles: tuple[str, str]

    @property
    def review(self) -> Review:
        return self.preview.review

    @property
    def rows(self) -> list[matrix.MatrixRow]:
        return compare.placement(self.review)

    @property
    def clusters(self) -> list[str]:
        return sorted({*self.review.base.clusters, *self.review.head.clusters})


def show(shown: DiffView, found: list[compare.Difference], output: options.Output) -> None:
    """`found`: `compare.manifests` of the same review."""
    if output.format in ("json", "yaml"):
        structured.echo(document(shown, found), output.format)
    elif output.format == "md":
        from gitfed.cli.output import diff_markdown

        click.echo(diff_markdown.comment(shown, found), nl=False)
    elif output.format == "name":
        for name in sorted({str(item.key) for item in found}):
            click.echo(name)
    elif not shown.review.empty:
        if output.quiet:
            click.echo(total(shown.review))
        else:
            _text(shown, found, output)


def earlier(shown: DiffView) -> list[Change]:
    return [one for one in shown.review.changes if predict.is_of_earlier(one)]


def not_accepted(shown: DiffView) -> str:
    return f"a daemon would not apply {shown.titles[1]} as it is: {shown.preview.refused}"


def total(review: Review) -> str:
    """`Total:  1 create, 2 update, 0 move, 0 delete in 3 of 4 clusters.`"""
    totals = review.totals
    parts = [f"{getattr(totals, name)} {name}" for name in ("create", "update", "move", "delete")]
    parts += [f"{number} {name}" for name, number in (("keep", totals.keep), ("skip", totals.skip)) if number]
    return f"Total:  {', '.join(parts)} in {totals.clusters} of {formatting.count(totals.of_clusters, 'cluster')}."


def _text(shown: DiffView, found: list[compare.Difference], output: options.Output) -> None:
    paint = output.paint
    wide = output.format == "wide"
    width, fold = 10_000 if wide else output.width, output.fold
    review = shown.review

    def say(lines: Sequence[str] | Iterator[str]) -> None:
        for line in lines:
            click.echo(line, color=True)

    facts = formatting.facts(review.head.facts)
    titles = [Cell(title, paint.strong) for title in shown.titles]
    say(table.flow(["Diff ", titles[0], " → ", titles[1], f" · {facts}"], width=fold))
    for note in shown.preview.notes:
        say(table.flow([f"note: {note}"], width=fold))
    if shown.preview.refused:
        say(table.flow([Cell("waits", paint.removed), f": {not_accepted(shown)}"], width=fold))
    if review.declared:
        limits = "this review goes by those of the base"
        say([paint.strong("Declared"), *declared_text.lines(review.declared, paint, fold, limits=limits)])
    if shown.rows:
        say([paint.strong("Placement"), *matrix.lines(shown.rows, shown.clusters, paint, width, fold=fold)])
        for one in review.flows:
            say(table.flow([flow(one)], indent=2, width=fold))
    command = external_diff.program()
    if command and found:
        external_diff.run(command, _files(found))
    elif found:
        say([paint.strong("Manifests")])
        for item in found:
            say([f"{paint.strong(title(item))}  {where(item, len(shown.clusters), wide=wide)}"])
            say(manifest_text.painted(line, paint) for line in lines(item, shown.titles))
    say(plan_text.listed(EARLIER, earlier(shown), paint, fold))
    say(plan_text.left_alone(review.changes, paint, fold))
    say(plan_text.gates(review.gates, paint, fold))
    say(table.flow([total(review)], width=fold))


def flow(one: Flow) -> str:
    """`shop/Deploy/web: 4 replicas move: eu-1 (4) → us-1 (2), us-2 (2)`."""
    sides = (", ".join(f"{name} ({count})" for name, count in side) for side in (one.leaving, one.arriving))
    verb = "replica moves" if one.replicas == 1 else "replicas move"
    return f"{names.shown(one.key)}: {one.replicas} {verb}: {' → '.join(sides)}"


def title(item: compare.Difference) -> str:
    return f"{plain.clean(names.shown(item.key))} {item.verb}"


def where(item: compare.Difference, of: int, *, wide: bool = False) -> str:
    """`in eu-1`, `same in 41 clusters, differs in 2: …`, `alike in 3 clusters, shown for eu-1: …`; then in brackets
    why nothing is written."""
    silent = "means the same there: not written"
    if item.kept:
        silent = "; ".join(sorted({_why_kept(reason) for reason in item.kept.values()}))
    return _clusters(item, of, wide=wide) + ("" if item.written else f" ({silent})")


def _why_kept(reason: Reason) -> str:
    return "not managed any more" if reason.code in retained_objects.UNMANAGED else str(reason)


def _clusters(item: compare.Difference, of: int, *, wide: bool) -> str:
    names = [plain.clean(name) for name in item.clusters]
    number = len(names)
    like = f", as in {plain.clean(item.like)}" if item.like and item.verb == "new" else ""
    if item.like and item.verb == "kept":
        like = f", still placed in {plain.clean(item.like)}"
    if item.like and item.verb == "gone":
        like = f", stays in {plain.clean(item.like)}"
    rest = f", differs in {item.of - number}" if item.of > number else ""
    if number == 1:
        others = formatting.count(item.of - 1, "other cluster")
        return f"in {names[0]}{like}" + (f", and otherwise in {others}" if rest and not item.like else "")
    listed = " ".join(names) if wide else formatting.some(names, most=declared_text.LISTED)
    if rest:
        listed += f"; {rest.removeprefix(', ')}"
    every = "all " if number == of else ""
    if every and number > declared_text.LISTED and not wide:
        shown = "" if item.exact else f", shown for {names[0]}"
        return f"{'same' if item.exact else 'alike'} in all {number} clusters{like}{shown}"
    if item.exact:
        return f"same in {every}{number} clusters{like}: {listed}"
    return f"alike in {every}{number} clusters{like}, shown for {names[0]}: {listed}"


def lines(item: compare.Difference, titles: tuple[str, str]) -> list[str]:
    """A unified diff with its two title lines; nothing where there is nothing to read."""
    if item.hunks:
        return [*_titles(item, titles), *item.hunks]
    if item.verb == "changed":
        return ["  (only masked values differ)"]
    return []


def _titles(item: compare.Difference, titles: tuple[str, str]) -> list[str]:
    name = plain.clean(str(item.key))
    old = f"{titles[0]}/{name}" if item.before is not None else "/dev/null"
    new = f"{titles[1]}/{name}" if item.after is not None else "/dev/null"
    if item.before is None and item.like:
        # Two clusters are compared, perhaps of one commit: what differs is theirs, not what the commit changes.
        old = f"{titles[item.like_after]}/{name} in {plain.clean(item.like)}"
        new = f"{new} in {plain.clean(item.clusters[0])}"
    return [f"--- {old}", f"+++ {new}"]


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
            (
                name if name.strip(".") else f"object-{number}",
                manifest_text.text(item.before),
                manifest_text.text(item.after),
            )
        )
    return files


def problems(shown: DiffView) -> list[Problem]:
    """Every error, and what else is new: a warning that the base has too is not this change's."""
    new = new_problems(shown)
    return [one for one in shown.review.head.problems if one.severity is Severity.ERROR or one in new]


def new_problems(shown: DiffView) -> list[Problem]:
    """What the head says and the base did not."""
    known = {(one.origin.path, one.message) for one in shown.review.base.problems}
    return [one for one in shown.review.head.problems if (one.origin.path, one.message) not in known]


# -- for programs -------------------------------------------------------------------------------------------------


def document(shown: DiffView, found: list[compare.Difference]) -> dict[str, Any]:
    review = shown.review
    facts = plans.facts(review.head.facts)
    return {
        "schema": SCHEMA,
        "base": review.base.commit,
        "head": review.head.commit,
        "facts": facts,
        "notes": list(shown.preview.notes),
        "refused": shown.preview.refused or None,
        "declared": [differences.declaration(one) for one in review.declared],
        "placement": list(_placement(review)),
        "manifests": [_manifest(item, shown.titles) for item in found],
        "changes": [
            {name: value for name, value in plans.change(one).items() if name != "diff"} for one in review.changes
        ],
        "gates": [plans.gate(one) for one in review.gates],
        "totals": plans.totals(review.totals),
        "problems": [plans.problem(problem) for problem in problems(shown)],
    }


def _placement(review: Review) -> Iterator[dict[str, Any]]:
    flows = {one.key: one for one in review.flows}
    stays = retained_objects.of_changes(review.changes)
    for key in sorted(review.base.bindings.keys() | review.head.bindings.keys()):
        old, new = review.base.bindings.get(key), review.head.bindings.get(key)
        if old is new or (old.scheduled.shares if old else ()) == (new.scheduled.shares if new else ()):
            continue
        moved = flows.get(key)
        there = {share.cluster for share in (new.scheduled.shares if new else ())}
        kept = {name: reason for name, reason in stays.get(key, {}).items() if name not in there}
        yield {
            "resource": plans.binding(new or old)["resource"],  # type: ignore[arg-type]
            "before": plans.binding(old)["clusters"] if old else [],
            "after": plans.binding(new)["clusters"] if new else [],
            "kept": [
                {"name": share.cluster, "replicas": share.replicas, "reasonCode": kept[share.cluster].code.value}
                for share in (old.scheduled.shares if old else ())
                if share.cluster in kept
            ],
            "moved": moved.replicas if moved else 0,
            "why": new.reasons.why if new else reasons.gone(old),
        }


def _manifest(item: compare.Difference, titles: tuple[str, str]) -> dict[str, Any]:
    """`diff` is always the whole difference, also where a reader is spared it."""
    whole = item.hunks
    if item.like:
        whole = tuple(manifest_text.hunks(manifest_text.text(item.before), manifest_text.text(item.after)))
    name = plain.clean(str(item.key))
    old = f"{titles[0]}/{name}" if item.before is not None else "/dev/null"
    new = f"{titles[1]}/{name}" if item.after is not None else "/dev/null"
    return {
        "apiVersion": (item.after or item.before or {}).get("apiVersion", ""),
        "kind": item.key.kind,
        "namespace": item.key.namespace,
        "name": item.key.name,
        "clusters": list(item.clusters),
        "change": item.verb,
        "like": item.like or None,
        "exact": item.exact,
        "written": item.written,
        "diff": "\n".join([f"--- {old}", f"+++ {new}", *whole]),
    }
