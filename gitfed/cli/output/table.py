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


def flow(parts: Sequence[Cell | str], *, indent: int = 0, hang: int = _SET_IN, width: int | None = None) -> list[str]:
    """A sentence of parts, each with its own paint: one line, or with `width` as many as it takes, broken at blanks
    only; every line after the first is set in by `hang` more. Texts are made harmless here.
    """
    words: list[list[Cell]] = [[]]
    for item in map(cell, parts):
        first, *others = plain.clean(item.text).split(" ") if width is not None else [plain.clean(item.text)]
        words[-1].append(item._replace(text=first))
        words += [[item._replace(text=text)] for text in others]
    folded, column, begun = [" " * indent], indent, False
    for number, word in enumerate(words):
        taken = sum(plain.width(piece.text) for piece in word)
        if number and width is not None and column + 1 + taken > width:
            folded.append(" " * (indent + hang))
            column, begun = indent + hang, True
        elif number and not begun:
            folded[-1] += " "
            column += 1
        begun = begun and not taken
        folded[-1] += "".join(piece.paint(piece.text) if piece.paint else piece.text for piece in word)
        column += taken
    return [line.rstrip() for line in folded]


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
    fitted = []
    for row in rows:
        for index, band in enumerate(bands):
            start = " " * (indent + (_SET_IN if index else 0))
            # A word that no line has room for makes its column wider, but not the other lines of its text longer.
            room = width - len(start)
            part = [_pieces(row[column], min(widths[column], room)) for column in band if column < len(row)]
            for number in range(max(map(len, part), default=0)):
                line = [pieces[number] if number < len(pieces) else Cell("") for pieces in part]
                text = (start + _line(line, [widths[column] for column in band], gap)).rstrip()
                if text or not index:
                    fitted.append(text)
    return fitted


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
    """Columns that the table takes if no line is broken."""
    texts = [[cell(value).text for value in row] for row in rows]
    return indent + max(map(plain.width, lines(texts, gap=gap)), default=0)


def least_width(rows: Sequence[Sequence[Cell | str]], *, indent: int = 0) -> int:
    """Columns that it takes if only its last column, the free text, is broken."""
    texts = [[plain.clean(cell(value).text) for value in row] for row in rows]
    last = max(map(len, texts), default=1) - 1
    natural = max((plain.width(row[last]) for row in texts if len(row) > last), default=0)
    longest = max((plain.width(word) for row in texts if len(row) > last for word in row[last].split(" ")), default=0)
    others = total_width([row[:last] for row in texts], gap=_NARROW)
    return indent + others + (_NARROW if last else 0) + max(min(natural, _LEAST), longest)
