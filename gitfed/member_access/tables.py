"""Tables of kubectl, of several clusters, as one: with a column CLUSTER behind the name, as karmadactl has it.

kubectl's columns begin where their titles begin, so a cell may hold spaces (`5 (3m ago)`). Several kinds come as
several tables with an empty line between; those with equal titles are put together.

Whether an object is gitfed's is read from its label, which kubectl shows as the last column where it is asked to; here
it becomes ADOPTION, `Y` or `N`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitfed.model.base import ClusterName
from gitfed.model.keys import FEDERATION_LABEL

_TITLE = re.compile(r"\S+(?: \S+)*")
_AFTER = "NAME"
CLUSTER = "CLUSTER"
ADOPTION = "ADOPTION"
WITH_LABEL = f"--label-columns={FEDERATION_LABEL}"
_LABEL_TITLE = FEDERATION_LABEL.rpartition("/")[2].upper()
_BETWEEN = re.compile(r" {3,}")

Rows = list[list[str]]


def merged(printed: Iterable[tuple[ClusterName, str]]) -> list[Rows]:
    """Each with its titles first, in the order in which the titles were first seen."""
    by_titles: dict[tuple[str, ...], Rows] = {}
    for cluster, text in printed:
        for titles, rows in _tables(text):
            table = by_titles.setdefault(tuple(titles), [title_row(titles)])
            table += [row_of(cluster, titles, row) for row in rows]
    return list(by_titles.values())


def title_row(titles: Sequence[str]) -> list[str]:
    at = _place(titles)
    shown = [*titles[:-1], ADOPTION] if _tells_adoption(titles) else titles
    return [*shown[:at], CLUSTER, *shown[at:]]


def row_of(cluster: ClusterName, titles: Sequence[str], row: Sequence[str]) -> list[str]:
    at = _place(titles)
    if _tells_adoption(titles) and len(row) == len(titles):
        row = [*row[:-1], "N" if row[-1] in ("", "<none>") else "Y"]
    return [*row[:at], cluster, *row[at:]]


def split(line: str) -> list[str]:
    """The cells of one line, where more may come that need other widths."""
    return _BETWEEN.split(line.strip())


def _place(titles: Sequence[str]) -> int:
    return titles.index(_AFTER) + 1 if _AFTER in titles else 0


def _tells_adoption(titles: Sequence[str]) -> bool:
    return titles[-1:] == [_LABEL_TITLE]


def _tables(text: str) -> Iterable[tuple[Sequence[str], Rows]]:
    for part in re.split(r"\n\s*\n", text):
        lines = [line for line in part.splitlines() if line.strip()]
        if lines:
            starts = [title.start() for title in _TITLE.finditer(lines[0])]
            titles, *rows = [_cells(line, starts) for line in lines]
            yield titles, rows


def _cells(line: str, starts: Sequence[int]) -> list[str]:
    ends = [*starts[1:], len(line)]
    return [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
