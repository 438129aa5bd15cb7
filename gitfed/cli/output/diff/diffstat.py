"""How much differs between two revisions, in a line for each difference: `gitfed diff --stat`.

Differences and clusters are those that the whole diff prints, and lines are counted as they stand there: a change to
forty clusters counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitfed.cli.output import formatting, matrix, plain, table
from gitfed.cli.output.diff import compare
from gitfed.cli.output.table import Cell
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Change
from gitfed.views import names

_LISTED = 4
"""Clusters that are listed by name; of more their number says enough."""


def lines(differences: Sequence[compare.Difference], paint: plain.Paint, *, wide: bool = False) -> Iterator[str]:
    """A row for each difference of manifests, and the sum. Nothing where no manifest differs."""
    if not differences:
        return
    counts = [_counted(item) for item in differences]
    rows: list[list[Cell | str]] = [_head("LINES", paint)]
    for item, (added, removed) in zip(differences, counts, strict=True):
        verb = item.verb if item.written or item.kept else f"{item.verb}, not written"
        number = f"+{added} -{removed}" if added or removed else matrix.NONE
        rows.append([names.shown(item.key), verb, _clusters(item.clusters, wide=wide), number])
    yield from table.lines(rows, indent=2)
    objects = formatting.count(len({item.key for item in differences}), "object")
    yield f"{objects}, +{sum(added for added, _ in counts)} -{sum(removed for _, removed in counts)} lines"


def of_changes(changes: Iterable[Change], paint: plain.Paint, *, wide: bool = False) -> Iterator[str]:
    """The same against the clusters: what would be done to each object, where, and to how many fields."""
    groups: dict[tuple[ObjectKey, str], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.key, change.action.value), []).append(change)
    rows: list[list[Cell | str]] = [_head("FIELDS", paint)]
    for (key, action), members in sorted(groups.items()):
        fields = len({field.pointer for change in members for field in change.write.diff})
        where = sorted(change.cluster for change in members)
        rows.append([names.shown(key), action, _clusters(where, wide=wide), str(fields) if fields else matrix.NONE])
    yield from table.lines(rows, indent=2)


def _head(last: str, paint: plain.Paint) -> list[Cell | str]:
    return [Cell(title, paint.faint) for title in ("OBJECT", "CHANGE", "CLUSTERS", last)]


def _counted(item: compare.Difference) -> tuple[int, int]:
    """Lines that come and go, as `hunks` has them: without title lines."""
    return (
        sum(1 for line in item.hunks if line.startswith("+")),
        sum(1 for line in item.hunks if line.startswith("-")),
    )


def _clusters(clusters: Sequence[str], *, wide: bool) -> str:
    return " ".join(clusters) if wide or len(clusters) <= _LISTED else formatting.count(len(clusters), "cluster")
