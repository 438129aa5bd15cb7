"""Columns of text, as kubectl prints them: left-aligned, no rules, no trailing blanks.

Where lines must fit a terminal, nothing is cut. The last column, which is the free text, is broken at blanks and
hangs below itself; if that is not enough, columns go on in a second line of the same row, which is set in.
"""

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


_LEAST = 24
"""Columns that a text needs to be read well; with fewer it gets a line of its own."""
_NARROW = 2
"""Blanks between columns where there are too many of them."""
_SET_IN = 4


def lines(
    rows: Sequence[Sequence[Cell | str]], *, gap: int = 3, indent: int = 0, width: int | None = None
) -> list[str]:
    """One line for each row; short rows are allowed. Texts are made harmless here.

    With `width` a row takes as many lines as it needs to fit so many columns.
    """
    cleaned = [[cell(value)._replace(text=plain.clean(cell(value).text)) for value in row] for row in rows]
    columns = max((len(row) for row in cleaned), default=0)
    widths = [
        max((plain.width(row[column].text) for row in cleaned if column < len(row)), default=0)
        for column in range(columns)
    ]
    if width is not None and indent + sum(widths) + gap * (columns - 1) > width:
        return _fitted(cleaned, widths, min(gap, _NARROW), indent, width)
    return [(" " * indent + _line(row, widths, gap)).rstrip() for row in cleaned]


def _fitted(rows: Sequence[Sequence[Cell]], widths: list[int], gap: int, indent: int, width: int) -> list[str]:
    last = len(widths) - 1
    words = [
        max(plain.width(word) for row in rows for word in _text(row, column).split(" ")) for column in range(last + 1)
    ]
    # Even a text in the middle must fit into a line of its own.
    widths = [min(natural, max(width - indent - _SET_IN, words[column])) for column, natural in enumerate(widths)]
    bands: list[list[int]] = [[]]
    used = indent
    for column, natural in enumerate(widths):
        wanted = natural if column < last else max(min(natural, _LEAST), words[last])
        if bands[-1] and used + gap + wanted > width:
            bands.append([])
            used = indent + _SET_IN
        used += (gap if bands[-1] else 0) + natural
        bands[-1].append(column)
    room = width - (used - widths[last])
    widths[last] = min(widths[last], max(room, words[last]))
    found = []
    for row in rows:
        for index, band in enumerate(bands):
            start = " " * (indent + (_SET_IN if index else 0))
            part = [_pieces(row[column], widths[column]) for column in band if column < len(row)]
            for number in range(max(map(len, part), default=0)):
                line = [one[number] if number < len(one) else Cell("") for one in part]
                text = (start + _line(line, [widths[column] for column in band], gap)).rstrip()
                if text or not index:
                    found.append(text)
    return found


def _text(row: Sequence[Cell], column: int) -> str:
    return row[column].text if column < len(row) else ""


def _pieces(item: Cell, width: int) -> list[Cell]:
    return [item._replace(text=text) for text in plain.folded(item.text, width)]


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
