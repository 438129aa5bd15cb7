"""Tables of kubectl, of several clusters, as one: with a column CLUSTER behind the name, as karmadactl has it.

kubectl's columns begin where their titles begin, so a cell may hold spaces (`5 (3m ago)`). Several kinds come as
several tables with an empty line between; those with equal titles are put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitfed.model.base import ClusterName

_TITLE = re.compile(r"\S+(?: \S+)*")
_AFTER = "NAME"
CLUSTER = "CLUSTER"

Rows = list[list[str]]


def merged(printed: Iterable[tuple[ClusterName, str]]) -> list[Rows]:
    """Each with its titles first, in the order in which the titles were first seen."""
    found: dict[tuple[str, ...], Rows] = {}
    for cluster, text in printed:
        for titles, rows in _tables(text):
            at = titles.index(_AFTER) + 1 if _AFTER in titles else 0
            table = found.setdefault(tuple(titles), [[*titles[:at], CLUSTER, *titles[at:]]])
            table += [[*row[:at], cluster, *row[at:]] for row in rows]
    return list(found.values())


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
