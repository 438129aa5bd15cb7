"""Two revisions as one comment on a pull request: what a merge would do, so that a reviewer needs nothing else.

First one sentence with the numbers, then what needs attention, then where everything goes; causes and manifests follow
in sections that open on a click. Forges refuse long comments, so there is a ladder of lengths; the first that fits is
taken. The first line is a marker that no reader sees, by which the next run finds its own comment. Where nothing
changes there is nothing to say: the text is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitfed.cli.output import declared_text, formatting, markdown, matrix, plain, plan_text
from gitfed.cli.output.diff import compare, view
from gitfed.cli.output.diff.view import DiffView
from gitfed.model.base import ObjectKey, Severity
from gitfed.model.plan import Action, Change
from gitfed.planning import retained_objects
from gitfed.views import names

LIMIT = 65_000
MARKER = "<!-- gitfed.io/diff -->"
_OPEN_ROWS = 12
"""A longer table is folded away."""
_COLUMNS = 8
"""Clusters that a table can have as columns."""
_MOST_ITEMS = 20
_Differences = Sequence[compare.Difference]


def comment(shown: DiffView, differences: _Differences, *, limit: int = LIMIT, marker: str = MARKER) -> str:
    """Less than `limit` characters; empty when nothing changes. Secrets in `differences` are masked already."""
    if shown.review.empty and not view.new_problems(shown):
        return ""
    steps: tuple[Callable[[DiffView, _Differences], list[str]], ...] = (
        lambda shown, differences: _body(shown, differences, rows=1000, lines=10_000),
        lambda shown, differences: _body(shown, differences, rows=300, lines=30),
        lambda shown, differences: _body(shown, differences, rows=200, lines=0),
        lambda shown, differences: _body(shown, differences, rows=100, lines=0, objects=300),
        lambda shown, differences: _body(shown, differences, rows=40, lines=0, objects=100),
        _counts,
    )
    text = ""
    for step in steps:
        text = "\n".join([marker, *_head(shown), *step(shown, differences), *_foot(shown)]) + "\n"
        if len(text) < limit:
            return text
    return text[: limit - 1]


def nothing(shown: DiffView, marker: str = MARKER) -> str:
    """What an earlier comment becomes when a later push changes nothing any more."""
    base, head = (markdown.code(title) for title in shown.titles)
    return f"{marker}\n### gitfed: no change to the fleet\n\n{base} → {head} changes nothing in any cluster.\n"


# -- always -------------------------------------------------------------------------------------------------------


def _head(shown: DiffView) -> list[str]:
    base, head = (markdown.code(title) for title in shown.titles)
    return [f"### gitfed: {base} → {head}", "", f"**{_sentence(shown)}**", "", *_attention(shown)]


def _sentence(shown: DiffView) -> str:
    totals = shown.review.totals
    parts = [
        formatting.count(getattr(totals, name), name)
        for name in ("create", "update", "move", "delete")
        if getattr(totals, name)
    ]
    if not parts:
        return f"Writes nothing to any cluster.{_unmanaged(shown)}"
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    where = f"{totals.clusters} of {formatting.count(totals.of_clusters, 'cluster')}"
    return f"{listed} in {where}.{_unmanaged(shown)}"


def _unmanaged(shown: DiffView) -> str:
    """What ends for objects that nothing is done about: ` 3 copies stay, not managed any more.`"""
    left = [
        reason
        for kept in retained_objects.of_changes(shown.review.changes).values()
        for reason in kept.values()
        if reason.code in retained_objects.UNMANAGED
    ]
    return f" {retained_objects.in_words(left)}." if left else ""


def _attention(shown: DiffView) -> list[str]:
    """What must not be overlooked, most serious first; an empty list needs no title."""
    review = shown.review
    items = []
    problems = view.new_problems(shown)
    for problem in [problem for problem in problems if problem.severity is Severity.ERROR][:_MOST_ITEMS]:
        items.append(f"**error** {markdown.code(str(problem))}")
    if shown.preview.refused:
        items.append(f"**would wait**: {markdown.escape(view.not_accepted(shown))}")
    for gate in review.gates:
        if gate.held:
            what = markdown.escape(f"{gate.value} of at most {gate.limit}")
            if gate.consent:
                verb = "waits" if gate.held == 1 else "wait"
                what += f"; {plan_text.held(gate)} {verb} for consent after the merge"
            else:
                what = "; ".join(map(markdown.escape, gate.messages)) or what
            items.append(f"**held** by gate {markdown.code(gate.name)}: {what}")
    for declaration in review.declared:
        if declared_text.loosens(declaration):
            items.append(
                f"**limits change** in {markdown.code(str(declaration.origin))}; this review goes by those of the base"
            )
    failed = [
        binding
        for key, binding in review.head.bindings.items()
        if binding.scheduled.condition is not None
        and not binding.scheduled.condition.status
        and _condition(shown, key) != (binding.scheduled.condition.reason, binding.scheduled.condition.message)
    ]
    for binding in failed[:_MOST_ITEMS]:
        condition = binding.scheduled.condition
        assert condition is not None
        items.append(f"**not placed** {markdown.code(names.shown(binding.key))}: {markdown.escape(condition.message)}")
    if len(failed) > _MOST_ITEMS:
        items.append(f"and {len(failed) - _MOST_ITEMS} more that are not placed")
    items += _deleted(shown)
    warnings = [problem for problem in problems if problem.severity is not Severity.ERROR]
    # Its own text says that it is one.
    items += [markdown.code(str(warning)) for warning in warnings[:5]]
    if len(warnings) > 5:
        items.append(f"and {len(warnings) - 5} more warnings: {markdown.code('gitfed validate')}")
    return [*(f"- {item}" for item in items), ""] if items else []


def _condition(shown: DiffView, key: ObjectKey) -> tuple[str, str] | None:
    binding = shown.review.base.bindings.get(key)
    return (
        (binding.scheduled.condition.reason, binding.scheduled.condition.message)
        if binding and binding.scheduled.condition
        else None
    )


def _deleted(shown: DiffView) -> list[str]:
    gone: dict[ObjectKey, list[str]] = {}
    for change in shown.review.changes:
        if change.action is Action.DELETE and not change.move:
            gone.setdefault(change.key, []).append(change.cluster)
    items = [
        f"**deletes** {markdown.code(names.shown(key))} in {markdown.code(formatting.some(clusters))}"
        for key, clusters in list(gone.items())[:_MOST_ITEMS]
    ]
    if len(gone) > _MOST_ITEMS:
        items.append(f"and deletes {len(gone) - _MOST_ITEMS} more objects")
    return items


def _foot(shown: DiffView) -> list[str]:
    gates = [
        f"{markdown.escape(f'{gate.name} {gate.value}/{gate.limit}')} {plan_text.verdict(gate)}"
        for gate in shown.review.gates
    ]
    lines = [
        markdown.escape(formatting.facts(shown.review.head.facts)),
        *([f"gates: {' · '.join(gates)}"] if gates else []),
    ]
    notes = [markdown.escape(note) for note in shown.preview.notes]
    return [f"<sub>{'<br>'.join([' · '.join(lines), *notes])}</sub>"]


# -- by length ----------------------------------------------------------------------------------------------------


def _body(shown: DiffView, differences: _Differences, *, rows: int, lines: int, objects: int = 1000) -> list[str]:
    return [
        *_placement(shown, rows),
        *_declared(shown),
        *_left_alone(shown),
        *_manifests(shown, differences, lines, objects),
    ]


def _counts(shown: DiffView, differences: _Differences) -> list[str]:
    by_kind: dict[tuple[str, str], int] = {}
    for key in {item.key for item in differences}:
        name = (key.namespace, names.kind(key.group, key.kind))
        by_kind[name] = by_kind.get(name, 0) + 1
    table = [
        [markdown.code(space) or "–", markdown.code(kind), str(count)]
        for (space, kind), count in sorted(by_kind.items())
    ]
    more = [f"and {len(table) - 200} more rows", ""] if len(table) > 200 else []
    placements = formatting.count(len(shown.rows), "placement")
    objects = formatting.count(len({item.key for item in differences}), "object")
    return [
        f"{placements} and {objects} differ. Too long for a comment: "
        f"run {markdown.code('gitfed diff')} to see all of it.",
        "",
        *markdown.table(["Namespace", "Kind", "Objects"], table[:200]),
        "",
        *more,
    ]


def _placement(shown: DiffView, most: int) -> list[str]:
    rows = shown.rows
    if not rows:
        return []
    named = sorted({name for row in rows for name in (*row.after, *(row.before or {}))})
    few = len(named) <= _COLUMNS
    table = []
    for row in rows[:most]:
        if few:
            cells = [_cell(row, name) for name in named]
        else:
            groups: dict[str, list[str]] = {}
            for name in sorted({*row.after, *(row.before or {})}):
                groups.setdefault(_cell(row, name), []).append(name)
            cells = [
                "<br>".join(f"{markdown.code(formatting.some(members))} {cell}" for cell, members in groups.items())
            ]
        table.append([markdown.code(row.label), *cells, row.total, markdown.escape(row.why)])
    heads = [markdown.code(name) for name in named] if few else ["Clusters"]
    lines = markdown.table(["Workload", *heads, "Total", "Why"], table)
    if len(rows) > most:
        lines += ["", f"and {len(rows) - most} more placements: {markdown.code('gitfed diff')}"]
    flows = [f"- {markdown.escape(view.flow(flow))}" for flow in shown.review.flows[:_MOST_ITEMS]]
    if len(shown.review.flows) > _MOST_ITEMS:
        flows.append(f"- and {len(shown.review.flows) - _MOST_ITEMS} more moves")
    lines += ["", *flows] if flows else []
    if len(rows) > _OPEN_ROWS:
        return [*markdown.details(f"<b>Placement</b> ({len(rows)})", lines), ""]
    return ["#### Placement", "", *lines, ""]


def _cell(row: matrix.MatrixRow, cluster: str) -> str:
    text = markdown.unbroken(matrix.cell(row, cluster, plain.Paint()).text)
    return f"**{text}**" if "→" in text else text


def _declared(shown: DiffView) -> list[str]:
    declared = shown.review.declared
    if not declared:
        return []
    groups = declared_text.alike(declared)
    lines = [line for group in groups[:100] for line in declared_text.in_markdown(group)]
    if len(groups) > 100:
        lines.append(f"- and {len(groups) - 100} more")
    if len(groups) > _OPEN_ROWS:
        return [*markdown.details(f"<b>Causes</b> ({len(declared)})", lines), ""]
    return ["#### Causes", "", *lines, ""]


def _left_alone(shown: DiffView) -> list[str]:
    kept = [change for change in shown.review.changes if change.action in (Action.KEEP, Action.SKIP)]
    return [*_listed(view.EARLIER, view.earlier(shown)), *_listed("Left alone", kept)]


def _listed(title: str, changes: Sequence[Change]) -> list[str]:
    groups = plan_text.grouped(changes)
    if not groups:
        return []
    table = [
        [
            markdown.code(names.shown(key)),
            action,
            markdown.code(formatting.some(sorted(clusters))),
            markdown.escape(reason),
        ]
        for (action, key, reason), clusters in list(groups.items())[:100]
    ]
    lines = markdown.table(["Object", "", "Clusters", "Why"], table)
    return [*markdown.details(f"<b>{title}</b> ({len(groups)})", lines), ""]


def _manifests(shown: DiffView, differences: _Differences, most: int, objects: int) -> list[str]:
    if not differences:
        return []
    of = len(shown.clusters)
    blocks: list[str] = []
    for item in differences[:objects]:
        summary = f"{markdown.code(view.title(item))} {markdown.escape(view.where(item, of))}"
        lines = view.lines(item, shown.titles)
        if not lines or not most:
            blocks += [f"- {summary}"] if not most else [summary, ""]
            continue
        cut = [*lines[:most], f" … {len(lines) - most} more lines: gitfed diff"] if len(lines) > most else lines
        blocks += [*markdown.details(summary, markdown.fence(cut, "diff")), ""]
    if len(differences) > objects:
        blocks.append(f"- and {len(differences) - objects} more")
    return ["#### Manifests", "", *blocks, *([] if most else [""])]
