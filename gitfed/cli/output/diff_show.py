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
    external_diff,
    formatting,
    manifest_text,
    matrix,
    plain,
    plan_text,
    reasons,
    structured,
)
from gitfed.model.base import Problem, Severity
from gitfed.model.plan import Change, FieldChange
from gitfed.model.reason import Reason
from gitfed.offline.preview import Preview
from gitfed.planning import kept_copies
from gitfed.planning.review import declared_changes, predict
from gitfed.planning.review.declared_changes import Declaration
from gitfed.planning.review.review import Flow, Review
from gitfed.views import names, plans

SCHEMA = "gitfed.io/diff/v1"
_MOST_FIELDS = 20
_ALIKE = 3
"""New or gone declarations of one kind that still get a line each."""
EARLIER = "Left by earlier commits"
"""What is done about objects that no difference of manifests shows."""
LISTED = 12
"""Clusters, or others, that are listed by name; all of more than these are just all."""


class DiffView(NamedTuple):
    preview: Preview
    titles: tuple[str, str]

    @property
    def review(self) -> Review:
        return self.preview.review

    @property
    def rows(self) -> list[matrix.Row]:
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
    width = 10_000 if wide else output.width
    review = shown.review

    def say(lines: Sequence[str] | Iterator[str]) -> None:
        for line in lines:
            click.echo(line, color=True)

    facts = plain.clean(formatting.facts(review.head.facts))
    say([f"Diff {paint.strong(shown.titles[0])} → {paint.strong(shown.titles[1])} · {facts}"])
    say(f"note: {plain.clean(note)}" for note in shown.preview.notes)
    if shown.preview.refused:
        say([f"{paint.removed('waits')}: {plain.clean(not_accepted(shown))}"])
    if review.declared:
        say([paint.strong("Declared"), *_declared(review.declared, paint)])
    if shown.rows:
        say([paint.strong("Placement"), *matrix.lines(shown.rows, shown.clusters, paint, width)])
        say(f"  {plain.clean(flow(one))}" for one in review.flows)
    command = external_diff.program()
    if command and found:
        external_diff.run(command, _files(found))
    elif found:
        say([paint.strong("Manifests")])
        for item in found:
            say([f"{paint.strong(title(item))}  {where(item, len(shown.clusters), wide=wide)}"])
            say(manifest_text.painted(line, paint) for line in lines(item, shown.titles))
    say(plan_text.listed(EARLIER, earlier(shown), paint))
    say(_left_alone(review.changes, paint))
    say(plan_text.gates(review.gates, paint))
    say([total(review)])


def _declared(found: Sequence[Declaration], paint: plain.Paint) -> Iterator[str]:
    signs = {"new": paint.added("+"), "gone": paint.removed("-"), "changed": paint.changed("~")}
    for group in alike(found):
        one = group[0]
        said = concerned(group)
        yield f"  {signs[one.verb]} {paint.strong(plain.clean(label(group)))} {one.verb}  " + plain.clean(
            f"{where_declared(group)}{f'  {said}' if said else ''}"
        )
        if several := named(group):
            yield f"      {plain.clean(several)}"
        for field in one.fields[:_MOST_FIELDS]:
            yield f"      {plain.clean(field_text(field))}"
        if len(one.fields) > _MOST_FIELDS:
            yield f"      and {len(one.fields) - _MOST_FIELDS} more fields"
        if loosens(one):
            yield f"      {paint.changed('limits change')}: this review goes by those of the base"


def loosens(one: Declaration) -> bool:
    return bool(declared_changes.loosened(one))


def alike(found: Sequence[Declaration]) -> list[list[Declaration]]:
    """Declarations that one line can say: more than a few new or gone ones of one kind, and each other by itself."""
    groups: dict[tuple[str, str, str], list[Declaration]] = {}
    for one in found:
        if not one.fields:
            groups.setdefault((one.key.kind, one.key.namespace, one.verb), []).append(one)
    many = {id(one): members for members in groups.values() if len(members) > _ALIKE for one in members}
    return [many.get(id(one), [one]) for one in found if id(one) not in many or many[id(one)][0] is one]


def label(group: Sequence[Declaration]) -> str:
    """`PropagationPolicy/shop/web`, `Cluster (60)`."""
    key = group[0].key
    space = f"/{key.namespace}" if key.namespace else ""
    if len(group) == 1:
        return f"{key.kind}{space}/{key.name}"
    return f"{key.kind}{space} ({len(group)})"


def named(group: Sequence[Declaration]) -> str:
    """`edge-00 edge-01 … and 49 more`; "" for one that is named already."""
    return formatting.some([one.key.name for one in group], most=LISTED) if len(group) > 1 else ""


def where_declared(group: Sequence[Declaration]) -> str:
    paths = {one.origin.path for one in group}
    if len(group) == 1:
        return str(group[0].origin)
    return paths.pop() if len(paths) == 1 else f"in {len(paths)} files"


def concerned(group: Sequence[Declaration]) -> str:
    """`concerns 9 objects, 3 of them differ`; "" when it concerns none."""
    every = {key for one in group for key in one.concerns}
    differing = {key for one in group for key in one.differing}
    if not every:
        return ""
    verb = "concerns" if len(group) == 1 else "concern"
    if len(every) == 1:
        return f"{verb} 1 object, which {'differs' if differing else 'stays as it is'}"
    many = "all" if differing == every else str(len(differing)) if differing else "none"
    return f"{verb} {len(every)} objects, {many} of them {'differs' if many == '1' else 'differ'}"


def field_text(field: FieldChange) -> str:
    """`spec.priority: 1 → 2`, `spec.placement.spreadConstraints: none → […]`."""
    path = field.pointer.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    before = "none" if field.absent_before else _short(field.before)
    after = "none" if field.absent_after else _short(field.after)
    return f"{path}: {before} → {after}"


def _short(value: Any) -> str:
    text = plan_text.value_text(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def flow(one: Flow) -> str:
    """`shop/Deploy/web: 4 replicas move eu-1 (4) → us-1 (2), us-2 (2)`."""
    sides = (", ".join(f"{name} ({count})" for name, count in side) for side in (one.leaving, one.arriving))
    verb = "replica moves" if one.replicas == 1 else "replicas move"
    return f"{names.shown(one.key)}: {one.replicas} {verb}: {' → '.join(sides)}"


def _left_alone(changes: Sequence[Change], paint: plain.Paint) -> list[str]:
    return plan_text.left_alone(changes, paint)


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
    return "not managed any more" if reason.code in kept_copies.UNMANAGED else str(reason)


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
    listed = " ".join(names) if wide else formatting.some(names, most=LISTED)
    if rest:
        listed += f"; {rest.removeprefix(', ')}"
    every = "all " if number == of else ""
    if every and number > LISTED and not wide:
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
        "declared": [_declaration(one) for one in review.declared],
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
    stays = kept_copies.of_changes(review.changes)
    for key in sorted(review.base.bindings.keys() | review.head.bindings.keys()):
        old, new = review.base.bindings.get(key), review.head.bindings.get(key)
        if old is new or (old.shares if old else ()) == (new.shares if new else ()):
            continue
        moved = flows.get(key)
        there = {share.cluster for share in (new.shares if new else ())}
        kept = {name: reason for name, reason in stays.get(key, {}).items() if name not in there}
        yield {
            "resource": plans.binding(new or old)["resource"],  # type: ignore[arg-type]
            "before": plans.binding(old)["clusters"] if old else [],
            "after": plans.binding(new)["clusters"] if new else [],
            "kept": [
                {"name": share.cluster, "replicas": share.replicas, "reasonCode": kept[share.cluster].code.value}
                for share in (old.shares if old else ())
                if share.cluster in kept
            ],
            "moved": moved.replicas if moved else 0,
            "why": new.why if new else reasons.gone(old),
        }


def _declaration(one: Declaration) -> dict[str, Any]:
    return {
        "kind": one.key.kind,
        "namespace": one.key.namespace,
        "name": one.key.name,
        "change": one.verb,
        "origin": str(one.origin),
        "fields": [plans.field(part) for part in one.fields],
        "concerns": [str(key) for key in one.concerns],
        "differing": [str(key) for key in one.differing],
        "limits": loosens(one),
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
