"""Reads back what `emit` wrote, in a twentieth of the time that a reader of any YAML takes.

A fleet's state is some hundred files with a thousand items each, and most items stand in many of them. So a text is cut
at its indentation, and an item that was read before is not read again. What is made of a text counts only if `emit`
makes the same text of it again: this reader knows just the forms that are usual there, and need not find any fault.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson

from gitfed.text import emit, scalars

_DEEPEST = 64
"""Blanks of indentation."""
_MOST_SHARED = 1 << 12
"""Items of lists that are held while that many others are."""
_SHORT = 2048
"""Characters of such an item, at most."""
_MEMBER = re.compile(r'("(?:[^"\\\n]|\\.)*"|[^"\n]*?):(?: ([^\n]*))?\n')


class NotEmitted(ValueError):
    """`emit` did not write this text, or in a form that only `yaml` reads."""


def load(data: bytes) -> Any:
    """The value of one document. What stands in several places is shared between them and must not be changed. Raises
    NotEmitted."""
    try:
        text = data.decode()
        value, end = _block(text, 0, 0)
    except ValueError as error:
        raise NotEmitted("not in a usual form") from error
    if end != len(text) or emit.dump(value) != text:
        raise NotEmitted("not as it would be written")
    return value


def _block(text: str, at: int, indent: int) -> tuple[Any, int]:
    """The mapping or list that begins there, and where it ends."""
    if indent > _DEEPEST:
        raise NotEmitted("too deep")
    pad = " " * indent
    if text.startswith(f"{pad}- ", at):
        lines = _lines(indent).match(text, at)
        assert lines is not None  # one that begins so is one
        items = lines.group()[len(pad) + 2 : -1].split(f"\n{pad}- ")
        read = [_known(item, indent + 2) if len(item) <= _SHORT else _item(item, indent + 2) for item in items]
        return read, lines.end()
    members: dict[str, Any] = {}
    while text.startswith(pad, at):
        member = _MEMBER.match(text, at + indent)
        if member is None:
            break
        key, said = member.groups()
        name = orjson.loads(key) if key.startswith('"') else key
        at = member.end()
        if said is not None:
            members[name] = _scalar(said)
        else:
            members[name], at = _block(text, at, indent if text.startswith(f"{pad}- ", at) else indent + 2)
    if not members:
        raise NotEmitted("no member")
    return members, at


@lru_cache(maxsize=_DEEPEST + 1)
def _lines(indent: int) -> re.Pattern[str]:
    """Those of a list with this indentation."""
    pad = " " * indent
    return re.compile(f"(?:{pad}(?:- |  )[^\n]*(?:\n|$))+")


def _item(text: str, indent: int) -> Any:
    """`text` without the indentation of its first line, and without the last line's end."""
    if "\n" not in text and not text.startswith("- ") and not _MEMBER.match(f"{text}\n"):
        return _scalar(text)
    whole = f"{' ' * indent}{text}\n"
    value, end = _block(whole, 0, indent)
    if end != len(whole):
        raise NotEmitted("more than an item")
    return value


_known = lru_cache(_MOST_SHARED)(_item)


def _scalar(text: str) -> Any:
    if text.startswith('"'):
        return orjson.loads(text)
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    return scalars.resolve(text)
