"""A plan for people, in a terminal.

Plan for 3f2c1a9 (base 9d0e771) · facts 2026-08-22T10:04Z sha256:51c0…
Placement
  WORKLOAD            eu-1    eu-2   us-1    us-2   TOTAL   WHY
  shop/Deploy/web     6 → 2   4      0 → 4   –      10      taint eu-1:drain
Changes             create   update   move   delete   clusters
  shop/Deploy/web        0        1      2        0   eu-1 eu-2 us-1
Gates   deletions 0/5 ok · moved replicas 4/20 ok
Total:  0 create, 1 update, 2 move, 0 delete in 3 of 4 clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from gitfed.cli.output import declared_text, formatting, matrix, plain, plan_failing, reasons, table
from gitfed.cli.output.table import Cell
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.plan import Action, Binding, Change, FieldChange, Gate, Plan
from gitfed.planning import retained_objects
from gitfed.planning.ordering import order
from gitfed.planning.review.declared_changes import Declaration
from gitfed.text.values import dataclass
from gitfed.views import names

_MOST_UNCHANGED = 40
"""Unchanged rows up to this many are context; above it they hide what changed."""
_COUNTED = ("create", "update", "move", "delete")


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """A plan beside what was decided before it."""

    plan: Plan
    before: Mapping[ObjectKey, matrix.Shares]
    """Shares on record; a template that is not in it is new."""
    recorded: Mapping[ObjectKey, Decision] = field(default_factory=dict)
    declared: tuple[Declaration, ...] = ()
    """What is declared otherwise than in the plan's base, and no object of the plan shows."""


def view(plan: Plan, decisions: Decisions, declared: tuple[Declaration, ...] = ()) -> PlanComparison:
    before = {key: matrix.of(decision.targets) for key, decision in decisions.bindings.items()}
    return PlanComparison(plan, before, decisions.bindings, declared)


def lines(
    shown: PlanComparison,
    paint: plain.Paint,
    width: int,
    *,
    wide: bool = False,
    quiet: bool = False,
    fold: int | None = None,
) -> list[str]:
    """Everything that `plan` prints as text. `width`: for the table of clusters. `fold`: columns that any line may
    take; None where it does not matter."""
    plan = shown.plan
    if quiet:
        return table.flow([total(plan)], width=fold)
    notes = [line for note in plan.notes for line in table.flow([f"note: {note}"], width=fold)]
    declared = [paint.strong("Declared"), *declared_text.lines(shown.declared, paint, fold)] if shown.declared else []
    if nothing_to_do(shown):
        return [*notes, *declared, *table.flow([_nothing(plan)], width=fold)]
    head = [*header(plan, paint, fold), *notes, *declared]
    body = [paint.strong("Placement"), *_placement(shown, paint, width, wide=wide, fold=fold)]
    if plan.changes is None:
        body.append(f"{paint.strong('Changes')}   not observed")
    elif plan.changes:
        body += changes(plan.changes, paint, fold)
        body += steps(plan.changes, paint, fold)
        body += left_alone(plan.changes, paint, fold)
        if wide:
            body += fields(plan.changes, paint, fold)
    body += plan_failing.lines(plan, paint, fold)
    return [*head, *body, *gates(plan.gates, paint, fold), *table.flow([total(plan)], width=fold)]


def header(plan: Plan, paint: plain.Paint, fold: int | None = None) -> list[str]:
    base = f" (base {formatting.commit(plan.base)})" if plan.base else ""
    name = Cell(formatting.commit(plan.commit), paint.strong)
    return table.flow(["Plan for ", name, f"{base} · {formatting.facts(plan.facts)}"], width=fold)


def nothing_to_do(shown: PlanComparison) -> bool:
    """What fits nowhere is nothing that can be done, but it is nothing to be silent about."""
    if plan_failing.lines(shown.plan, plain.Paint(False)):
        return False
    if shown.plan.changes or any(failed(binding) for binding in shown.plan.bindings.values()):
        return False
    return not any(row.changed or row.before is None for row in rows(shown))


def rows(shown: PlanComparison) -> list[matrix.MatrixRow]:
    """One row for each template that is placed, was placed, or should be and is not."""
    matrix_rows = []
    retained = retained_objects.of_changes(shown.plan.changes) if shown.plan.changes is not None else None
    for key in shown.plan.bindings:
        binding, before = shown.plan.wanted(key), shown.before.get(key)
        if binding.scheduled.shares or before or failed(binding):
            after, reason = matrix.of(binding.scheduled.shares), why(binding, before)
            if (held := shown.plan.held_decisions.get(key)) is not None:
                reason = f"held by gate {held.gate}: {reason}"
            before = _comparable(before, binding)
            matrix_rows.append(_row(shown, key, matrix.MatrixRow(names.shown(key), before, after, reason), retained))
    for key in sorted(shown.before.keys() - shown.plan.bindings.keys()):
        if shown.before[key]:
            row = matrix.MatrixRow(names.shown(key), shown.before[key], {}, "removed from the repository")
            matrix_rows.append(_row(shown, key, row, retained))
    return matrix_rows


def _row(
    shown: PlanComparison,
    key: ObjectKey,
    row: matrix.MatrixRow,
    retained: Mapping[ObjectKey, retained_objects.Kept] | None,
) -> matrix.MatrixRow:
    """The row, with the copies that stay where it does not go any more. `retained`: as changes have them, if any do."""
    leaves = (row.before or {}).keys() - row.after.keys()
    if not leaves:
        return row
    if retained is None:
        kept = retained_objects.by_decision(shown.plan.bindings.get(key), shown.recorded.get(key), leaves)
    else:
        kept = {name: reason for name, reason in retained.get(key, {}).items() if name in leaves}
    if not kept:
        return row
    return replace(row, kept=kept.keys(), why=retained_objects.why(row.why, kept))


def _comparable(before: matrix.Shares | None, binding: Binding) -> matrix.Shares | None:
    """A Namespace that goes everywhere by itself is never recorded: there is no before to compare with."""
    if before is None and binding.decision is None and binding.scheduled.policy is not None:
        return matrix.of(binding.scheduled.shares)
    return before


def failed(binding: Binding) -> bool:
    return binding.scheduled.condition is not None and not binding.scheduled.condition.status


def why(binding: Binding, before: matrix.Shares | None) -> str:
    if failed(binding):
        assert binding.scheduled.condition is not None
        return f"{binding.scheduled.condition.reason}: {binding.scheduled.condition.message}"
    after = matrix.of(binding.scheduled.shares)
    if before is not None and dict(before) == after:
        return "unchanged"
    return reasons.chosen(binding, before) or ("new" if before is None else "")


def _placement(shown: PlanComparison, paint: plain.Paint, width: int, *, wide: bool, fold: int | None) -> list[str]:
    placements = rows(shown)
    unchanged = [row for row in placements if row.why == "unchanged"]
    hidden: list[matrix.MatrixRow] = []
    if not wide and len(unchanged) > _MOST_UNCHANGED:
        hidden = unchanged
        placements = [row for row in placements if row.why != "unchanged"]
    answer = matrix.lines(placements, shown.plan.clusters, paint, width, fold=fold)
    if not placements and not hidden:
        answer.append("  nothing is placed")
    if hidden:
        answer.append(f"  and {len(hidden)} unchanged (-o wide shows them)")
    return answer


def changes(planned: Sequence[Change], paint: plain.Paint, fold: int | None = None) -> list[str]:
    """Objects by what happens to them: one line for each template."""
    counts: dict[ObjectKey, dict[str, int]] = {}
    clusters: dict[ObjectKey, set[str]] = {}
    for change in planned:
        name = counted_as(change)
        if name in _COUNTED:
            counts.setdefault(change.key, dict.fromkeys(_COUNTED, 0))[name] += 1
            clusters.setdefault(change.key, set()).add(change.cluster)
    if not counts:
        return []
    grid: list[list[Cell | str]] = [
        [
            Cell("Changes", paint.strong),
            *(Cell(name, paint.faint, right=True) for name in _COUNTED),
            Cell("clusters", paint.faint),
        ]
    ]
    colours = {"create": paint.added, "update": paint.changed, "move": paint.changed, "delete": paint.removed}
    for key in sorted(counts):
        numbers = [
            Cell(str(number), colours[name] if number else paint.faint, right=True)
            for name, number in counts[key].items()
        ]
        grid.append([f"  {names.shown(key)}", *numbers, formatting.some(sorted(clusters[key]))])
    return table.lines(grid, width=fold)


def steps(planned: Sequence[Change], paint: plain.Paint, fold: int | None = None) -> list[str]:
    """In which order the changes come, where that is more than the usual order of kinds: waves, and what waits."""
    acts = [change for change in planned if change.action in (Action.CREATE, Action.UPDATE)]
    if (
        not any(change.turn.waits for change in acts)
        and len({change.turn.wave for change in acts} - {order.NO_WAVE}) < 2
    ):
        return []
    groups: dict[tuple[int, str], list[Change]] = {}
    for change in acts:
        groups.setdefault((change.turn.wave, change.turn.waits), []).append(change)
    grid: list[list[Cell | str]] = []
    for wave, waits in sorted(groups):
        step = groups[wave, waits]
        grid.append(
            [
                Cell("first" if wave == order.NO_WAVE else f"wave {wave}", paint.changed),
                formatting.count(len(step), "change"),
                formatting.some(sorted({change.cluster for change in step})),
                Cell(plain.clean(waits) if waits else "now"),
            ]
        )
    return [paint.strong("Steps"), *table.lines(grid, indent=2, width=fold)]


def counted_as(change: Change) -> str:
    """`move` is the deletion that completes one; the totals count alike."""
    return "move" if change.move and change.action is Action.DELETE else change.action.value


def left_alone(planned: Sequence[Change], paint: plain.Paint, fold: int | None = None) -> list[str]:
    return listed(
        "Left alone", [change for change in planned if change.action in (Action.KEEP, Action.SKIP)], paint, fold
    )


def listed(title: str, planned: Sequence[Change], paint: plain.Paint, fold: int | None = None) -> list[str]:
    """One line for what is done with the same object for the same reason, whatever the cluster; nothing for nothing."""
    groups = grouped(planned)
    if not groups:
        return []
    grid: list[list[Cell | str]] = [
        [Cell(action, paint.changed), names.shown(key), formatting.some(sorted(clusters)), Cell(reason)]
        for (action, key, reason), clusters in groups.items()
    ]
    return [paint.strong(title), *table.lines(grid, indent=2, width=fold)]


def grouped(planned: Sequence[Change]) -> dict[tuple[str, ObjectKey, str], list[str]]:
    """(action, object, reason) → clusters."""
    groups: dict[tuple[str, ObjectKey, str], list[str]] = {}
    for change in planned:
        groups.setdefault((change.action.value, change.key, str(change.reason)), []).append(change.cluster)
    return groups


def fields(planned: Sequence[Change], paint: plain.Paint, fold: int | None = None) -> list[str]:
    lines = []
    for change in planned:
        if change.write.diff and change.action is Action.UPDATE:
            lines += table.flow([f"{change.cluster}  {names.shown(change.key)}"], indent=2, width=fold)
            for field in change.write.diff:
                for line in field_lines(field):
                    side = Cell(line, paint.removed if line.startswith("-") else paint.added)
                    lines += table.flow([side], indent=4, width=fold)
    return [paint.strong("Fields"), *lines] if lines else []


def field_lines(field: FieldChange) -> list[str]:
    """`- /spec/replicas: 6`, `+ /spec/replicas: 2`; a side without the field has no line."""
    lines = [] if field.absent_before else [f"- {field.pointer}: {formatting.value(field.before)}"]
    lines += [] if field.absent_after else [f"+ {field.pointer}: {formatting.value(field.after)}"]
    return [plain.clean(line) for line in lines]


def gates(plan_gates: Sequence[Gate], paint: plain.Paint, fold: int | None = None) -> list[str]:
    if not plan_gates:
        return []
    parts: list[Cell | str] = [Cell("Gates", paint.strong)]
    for gate in plan_gates:
        text = f"{gate.name} {gate.value}/{gate.limit} {verdict(gate)}"
        parts.append(" · " if len(parts) > 1 else "   ")
        parts.append(Cell(f"{text} {held(gate)}", paint.removed) if gate.held else text)
    messages = [message for gate in plan_gates if gate.held for message in gate.messages]
    below = [line for message in messages for line in table.flow([message], indent=2, width=fold)]
    return [*table.flow(parts, width=fold), *below]


def verdict(gate: Gate) -> str:
    return "HELD" if gate.held else "EXCEEDED" if gate.over else "ok"


def held(gate: Gate) -> str:
    """`3 changes`"""
    return formatting.count(gate.held, "change" if gate.consent else "workload")


def total(plan: Plan) -> str:
    totals = plan.totals
    if plan.changes is None:
        placed = [binding for binding in plan.bindings.values() if binding.scheduled.shares]
        clusters = {share.cluster for binding in placed for share in binding.scheduled.shares}
        where = f"{len(clusters)} of {formatting.count(totals.of_clusters, 'cluster')}"
        return f"Total:  {formatting.count(len(placed), 'object')} placed in {where}; changes not observed."
    parts = [f"{getattr(totals, name)} {name}" for name in _COUNTED]
    parts += [f"{number} {name}" for name, number in (("keep", totals.keep), ("skip", totals.skip)) if number]
    return f"Total:  {', '.join(parts)} in {totals.clusters} of {formatting.count(totals.of_clusters, 'cluster')}."


def _nothing(plan: Plan) -> str:
    placed = formatting.count(sum(1 for binding in plan.bindings.values() if binding.scheduled.shares), "object")
    if plan.changes is None:
        return f"Nothing to do: the placement of {placed} is as recorded; clusters were not observed."
    return f"Nothing to do: {placed} in {formatting.count(plan.totals.of_clusters, 'cluster')} are as they should be."
