"""A plan as one comment on a pull request.

Forges refuse long comments, so there is a ladder: everything, then one line for each object, then counts; the first
that fits is taken. The first line is a marker that no reader sees, by which the next run finds its own comment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitfed.cli.output import declared_text, formatting, markdown, matrix, plan_text
from gitfed.model.base import Severity
from gitfed.model.plan import Action, Change
from gitfed.views import names

LIMIT = 65_000
MARKER = "<!-- gitfed.io/plan -->"
_MOST_ROWS = 300
_MOST_PROBLEMS = 30


def comment(shown: plan_text.PlanComparison, *, limit: int = LIMIT) -> str:
    """Less than `limit` characters."""
    steps: Sequence[Callable[[plan_text.PlanComparison], list[str]]] = (_full, _by_object, _counts)
    for step in steps:
        text = "\n".join([MARKER, *step(shown)]) + "\n"
        if len(text) < limit:
            return text
    return text[: limit - 1]


def _full(shown: plan_text.PlanComparison) -> list[str]:
    return [
        *_head(shown),
        *_problems(shown),
        *_declared(shown),
        *_placement(shown),
        *_changes(shown, fields=True),
        *_foot(shown),
    ]


def _by_object(shown: plan_text.PlanComparison) -> list[str]:
    note = ["", "_Too long for a comment: fields are left out._", ""]
    return [
        *_head(shown),
        *_problems(shown),
        *_declared(shown),
        *_placement(shown),
        *_changes(shown, fields=False),
        *note,
        *_foot(shown),
    ]


def _counts(shown: plan_text.PlanComparison) -> list[str]:
    rows = plan_text.rows(shown)
    changed = sum(1 for row in rows if row.why != "unchanged")
    errors = sum(1 for problem in shown.plan.problems if problem.severity is Severity.ERROR)
    return [
        *_head(shown),
        f"{formatting.count(changed, 'placement')} of {len(rows)} changed, {formatting.count(errors, 'error')}, "
        f"{formatting.count(len(shown.plan.problems) - errors, 'warning')}.",
        "",
        "_Too long for a comment: run_ `gitfed plan` _to see all of it._",
        "",
        *_foot(shown),
    ]


def _head(shown: plan_text.PlanComparison) -> list[str]:
    plan = shown.plan
    base = f", base {markdown.code(formatting.commit(plan.base))}" if plan.base else ""
    where = f"{markdown.code(formatting.commit(plan.commit))}{base} · {markdown.escape(formatting.facts(plan.facts))}"
    notes = [f"> {markdown.escape(note)}" for note in plan.notes]
    return [f"### gitfed plan for {where}", "", *([*notes, ""] if notes else [])]


def _problems(shown: plan_text.PlanComparison) -> list[str]:
    problems = sorted(shown.plan.problems, key=lambda problem: (problem.severity is not Severity.ERROR, problem))
    if not problems:
        return []
    lines = [f"- {markdown.code(str(problem))}" for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"- and {len(problems) - _MOST_PROBLEMS} more")
    return ["**Problems**", "", *lines, ""]


def _declared(shown: plan_text.PlanComparison) -> list[str]:
    if not shown.declared:
        return []
    lines = [line for group in declared_text.alike(shown.declared) for line in declared_text.in_markdown(group)]
    return ["**Declared**", "", *lines, ""]


def _placement(shown: plan_text.PlanComparison) -> list[str]:
    rows = [row for row in plan_text.rows(shown) if row.why != "unchanged"]
    if not rows:
        return ["Placement is unchanged.", ""]
    body = [[markdown.code(row.label), _where(row), row.total, markdown.escape(row.why)] for row in rows[:_MOST_ROWS]]
    more = [f"and {len(rows) - _MOST_ROWS} more", ""] if len(rows) > _MOST_ROWS else []
    return ["**Placement**", "", *markdown.table(["Workload", "Clusters", "Total", "Why"], body), "", *more]


def _where(row: matrix.MatrixRow) -> str:
    """Clusters by what happens there: `eu-1 eu-2: 6 → 2`."""
    groups: dict[str, list[str]] = {}
    before = row.before or {}
    for cluster in sorted({*row.after, *before}):
        cell = matrix.text(
            before.get(cluster),
            row.after.get(cluster),
            was=cluster in before,
            is_=cluster in row.after,
            known=row.before is not None,
            kept=cluster in row.kept,
        )
        groups.setdefault(markdown.unbroken(cell), []).append(cluster)
    return "<br>".join(f"{markdown.code(formatting.some(clusters))} {cell}" for cell, clusters in groups.items())


def _changes(shown: plan_text.PlanComparison, *, fields: bool) -> list[str]:
    changes = shown.plan.changes
    if changes is None:
        return ["Changes: clusters not observed.", ""]
    if not changes:
        return ["No changes in the clusters.", ""]
    groups: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        group = (change.key, plan_text.counted_as(change), change.reason, change.turn.waits, change.write.diff)
        groups.setdefault(group, []).append(change)
    rows = []
    blocks: list[str] = []
    for members in groups.values():
        first = members[0]
        clusters = formatting.some([change.cluster for change in members])
        label = markdown.code(names.shown(first.key))
        rows.append([label, plan_text.counted_as(first), markdown.code(clusters), markdown.escape(_why(first))])
        if fields and first.write.diff and first.action is Action.UPDATE:
            same = formatting.count(len(members), "cluster")
            blocks += [*markdown.details(f"{label} in {same}", markdown.fence(_fields(first), "diff")), ""]
    return ["**Changes**", "", *markdown.table(["Object", "Action", "Clusters", "Reason"], rows), "", *blocks]


def _why(change: Change) -> str:
    """Its reason, and why it is not its turn yet."""
    return "; ".join(text for text in (str(change.reason), change.turn.waits) if text)


def _fields(change: Change) -> list[str]:
    return [line for field in change.write.diff for line in plan_text.field_lines(field)]


def _foot(shown: plan_text.PlanComparison) -> list[str]:
    plan = shown.plan
    held = [gate for gate in plan.gates if gate.held]
    gates = [
        f"- gate {markdown.code(gate.name)}: {markdown.escape(f'{gate.value} of at most {gate.limit}')}, "
        f"holds {plan_text.held(gate)}" + "".join(f"<br>{markdown.escape(message)}" for message in gate.messages)
        for gate in held
    ]
    consent = any(gate.consent for gate in held)
    approve = [f"To let them through: {markdown.code(f'gitfed apply --confirm {plan.digest}')}"] if consent else []
    return [*(["**Held**", "", *gates, "", *approve, ""] if held else []), plan_text.total(plan)]
