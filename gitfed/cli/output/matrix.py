"""The placement table: templates down, clusters across, `before → after` where they cross.

A terminal is narrow and a fleet may be wide. Three forms, the first that fits: every cluster a column; clusters whose
columns are alike folded into one; one block for each template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias

from gitfed.cli.output import formatting, plain, table
from gitfed.cli.output.table import Cell
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Share
from gitfed.text.values import dataclass

Shares: TypeAlias = Mapping[ClusterName, int | None]
"""Replicas by cluster; None where the kind has no replicas."""

NONE = "–"
PLACED = "✓"
KEPT = "kept"
_INDENT = 2


@dataclass(frozen=True, slots=True)
class MatrixRow:
    label: str
    before: Shares | None
    """None: nothing is known of a time before; then nothing counts as changed."""
    after: Shares
    why: str
    kept: Set[ClusterName] = frozenset()
    """Where its copies stay although it does not go there any more."""

    @property
    def changed(self) -> bool:
        return self.before is not None and dict(self.before) != dict(self.after)

    @property
    def total(self) -> str:
        """`10`, `6 + 12 kept`: what is kept is not lost."""
        numbers = [number for number in self.after.values() if number is not None]
        stay = [number for name, number in (self.before or {}).items() if name in self.kept and number is not None]
        parts = [str(sum(numbers))] if numbers else []
        parts += [f"{sum(stay)} {KEPT}"] if stay else []
        return " + ".join(parts) or NONE


def of(shares: Sequence[Share]) -> dict[ClusterName, int | None]:
    return {share.cluster: share.replicas for share in shares}


def lines(
    rows: Sequence[MatrixRow],
    clusters: Sequence[ClusterName],
    paint: plain.Paint,
    width: int,
    *,
    heading: str = "WORKLOAD",
    fold: int | None = None,
) -> list[str]:
    """The table in the first form that fits into `width` columns. With `fold` no line is longer: what is too long for
    one is broken at blanks, and a long WHY takes no form away."""
    named = sorted({*clusters, *(name for row in rows for name in (*row.after, *(row.before or {})))})
    if not rows:
        return []
    full = _grid(rows, [(name, name) for name in named], paint, heading)
    taken = table.total_width if fold is None else table.least_width
    if taken(full, indent=_INDENT) <= width:
        return table.lines(full, indent=_INDENT, width=fold)
    groups = _alike(rows, named)
    empty = [name for members in groups.values() if not _uses(rows, members[0]) for name in members]
    columns = [
        (members[0] if len(members) == 1 else f"{members[0]} +{len(members) - 1}", members[0])
        for members in groups.values()
        if _uses(rows, members[0])
    ]
    folded = _grid(rows, columns, paint, heading)
    if taken(folded, indent=_INDENT) <= width:
        table_lines = table.lines(folded, indent=_INDENT, width=fold)
        return [*table_lines, *_legend(groups, rows, fold), *_nothing_in(empty, fold)]
    return [*_blocks(rows, paint, fold), *_nothing_in(empty, fold)]


def text(before: int | None, after: int | None, *, was: bool, is_: bool, known: bool, kept: bool = False) -> str:
    """One cell: `4`, `6 → 2`, `0 → 4`, `✓`, `– → ✓`, `–`, `6 kept`."""
    if kept and was and not is_:
        return f"{PLACED if before is None else before} {KEPT}"
    now = NONE if not is_ else PLACED if after is None else str(after)
    if not known or (was == is_ and before == after):
        return now
    counts = (before if was else after) is not None
    old = ("0" if counts else NONE) if not was else PLACED if before is None else str(before)
    return f"{old} → {'0' if not is_ and counts else now}"


def cell(row: MatrixRow, cluster: ClusterName, paint: plain.Paint) -> Cell:
    before, after = row.before or {}, row.after
    shown = text(
        before.get(cluster),
        after.get(cluster),
        was=cluster in before,
        is_=cluster in after,
        known=row.before is not None,
        kept=cluster in row.kept,
    )
    if shown == NONE:
        return Cell(shown, paint.faint)
    if "→" not in shown:
        return Cell(shown)
    grows = cluster in after and (cluster not in before or (after[cluster] or 0) > (before[cluster] or 0))
    return Cell(shown, paint.added if grows else paint.removed)


def _grid(
    rows: Sequence[MatrixRow], columns: Sequence[tuple[str, ClusterName]], paint: plain.Paint, heading: str
) -> list[list[Cell]]:
    grid = [[Cell(title, paint.faint) for title in (heading, *(title for title, _ in columns), "TOTAL", "WHY")]]
    for row in rows:
        why = Cell(row.why, paint.faint if row.why == "unchanged" else None)
        cells = [cell(row, cluster, paint) for _, cluster in columns]
        grid.append([Cell(row.label, paint.strong if row.changed else None), *cells, Cell(row.total), why])
    return grid


def _alike(rows: Sequence[MatrixRow], clusters: Sequence[ClusterName]) -> dict[tuple[str, ...], list[ClusterName]]:
    """Clusters by what their column says, in the order of their first."""
    groups: dict[tuple[str, ...], list[ClusterName]] = {}
    for cluster in clusters:
        groups.setdefault(tuple(cell(row, cluster, plain.Paint()).text for row in rows), []).append(cluster)
    return groups


def _uses(rows: Sequence[MatrixRow], cluster: ClusterName) -> bool:
    return any(cluster in row.after or cluster in (row.before or {}) for row in rows)


def _legend(
    groups: Mapping[tuple[str, ...], Sequence[ClusterName]], rows: Sequence[MatrixRow], fold: int | None
) -> list[str]:
    legend = []
    for members in groups.values():
        if len(members) > 1 and _uses(rows, members[0]):
            name, listed = f"{members[0]} +{len(members) - 1}", formatting.some(members, most=12)
            text = f"{name}: the same in {len(members)} clusters: {listed}"
            legend += table.flow([text], indent=_INDENT, width=fold)
    return legend


def _nothing_in(clusters: Sequence[ClusterName], fold: int | None) -> list[str]:
    listed = formatting.some(sorted(clusters), most=12)
    return table.flow([f"nothing in {listed}"], indent=_INDENT, width=fold) if clusters else []


def _blocks(rows: Sequence[MatrixRow], paint: plain.Paint, fold: int | None) -> list[str]:
    blocks = []
    for row in rows:
        label = Cell(row.label, paint.strong if row.changed else None)
        blocks += table.flow([label, f"   total {row.total}   {row.why}"], indent=_INDENT, width=fold)
        by_cell: dict[Cell, list[ClusterName]] = {}
        for cluster in sorted({*row.after, *(row.before or {})}):
            by_cell.setdefault(cell(row, cluster, paint), []).append(cluster)
        part: list[list[Cell | str]] = [
            [item, f"{formatting.count(len(names), 'cluster')}: {formatting.some(names)}"]
            for item, names in by_cell.items()
        ]
        blocks.extend(table.lines(part, indent=6, width=fold))
    return blocks
