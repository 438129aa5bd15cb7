"""Text for a terminal: measured, made harmless, coloured.

A repository is written by others. A name or a message with control characters could move the cursor, recolour the
screen or turn the direction of reading; `clean` makes them visible instead.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import IO

from gitfed.text.values import dataclass

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_UNSAFE_IN_TEXT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def clean(text: str) -> str:
    """One line, with every character that acts on a terminal written as an escape."""
    return _UNSAFE.sub(_escape, text)


def clean_lines(text: str) -> str:
    """The same for a text whose line breaks and tabs are meant."""
    return _UNSAFE_IN_TEXT.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(match[0]) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def folded(text: str, columns: int) -> list[str]:
    """Lines of so many columns at most, broken at blanks only: a word that is longer can be copied as a whole."""
    if width(text) <= columns:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) > columns:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours, or none. A colour never says anything that a word or a symbol beside it does not say too."""

    on: bool = False

    def added(self, text: str) -> str:
        return self._in("32", text)

    def removed(self, text: str) -> str:
        return self._in("31", text)

    def changed(self, text: str) -> str:
        return self._in("33", text)

    def faint(self, text: str) -> str:
        return self._in("2", text)

    def strong(self, text: str) -> str:
        return self._in("1", text)

    def place(self, text: str) -> str:
        return self._in("36", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def paint(choice: str, stream: IO[str] | None = None) -> Paint:
    """`--color` beats `NO_COLOR` beats whether the stream is a terminal."""
    if choice in ("always", "never"):
        return Paint(choice == "always")
    if os.environ.get("NO_COLOR"):
        return Paint(False)
    stream = sys.stdout if stream is None else stream
    return Paint(stream.isatty() and os.environ.get("TERM") != "dumb")
