"""Columns of text, as kubectl prints them: left-aligned, no rules, no trailing blanks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitfed.cli.output import plain


class Cell(NamedTuple):
    """A text and how it is painted; the paint takes no width."""

    text: str
    paint: Callable[[str], str] | None = None
    right: bool = False


def cell(value: Cell | str) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def lines(rows: Sequence[Sequence[Cell | str]], *, gap: int = 3, indent: int = 0) -> list[str]:
    """One line for each row; short rows are allowed. Texts are made harmless here."""
    cleaned = [[cell(value)._replace(text=plain.clean(cell(value).text)) for value in row] for row in rows]
    columns = max((len(row) for row in cleaned), default=0)
    widths = [
        max((plain.width(row[column].text) for row in cleaned if column < len(row)), default=0)
        for column in range(columns)
    ]
    return [(" " * indent + _line(row, widths, gap)).rstrip() for row in cleaned]


def _line(row: Sequence[Cell], widths: Sequence[int], gap: int) -> str:
    parts = []
    for index, item in enumerate(row):
        pad = " " * (widths[index] - plain.width(item.text))
        text = item.paint(item.text) if item.paint else item.text
        # The last cell gets no padding: a painted blank at the end of a line could not be stripped.
        parts.append(pad + text if item.right else text if index == len(row) - 1 else text + pad)
    return (" " * gap).join(parts)


def total_width(rows: Sequence[Sequence[Cell | str]], *, gap: int = 3, indent: int = 0) -> int:
    return (
        max((plain.width(line) for line in lines([[cell(c).text for c in row] for row in rows], gap=gap)), default=0)
        + indent
    )
