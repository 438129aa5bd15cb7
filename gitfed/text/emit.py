"""YAML for people and for Git: one text for one value.

Members are sorted, style is block, a text is quoted only where it would be read as something else, several lines
become a literal block. The state branch is diffed by people and compared by bytes, so the writer is ours: its output
must not change with a library's version. `parse(dump(x))` gives `x` back: a property test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from gitfed.text import scalars

_SAFE = re.compile(
    r"[A-Za-z0-9_./$(=+\\][A-Za-z0-9_./$()=+;,@<>\\*!%^~|&{}\[\]?'\"-]*"
    r"(?:[ :][A-Za-z0-9_./$()=+;,@<>\\*!%^~|&{}\[\]?'\"-]+)*"
)
"""Words that YAML reads back as themselves: no indicator in front, `:` only inside a word, single blanks inside."""
_UNSEEN = "\x7f-\xa0\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
"""What YAML forbids or folds, and what turns the direction of reading or is not seen at all."""
_ESCAPED = re.compile(f"[{_UNSEEN}]")
_BLOCK_UNSAFE = re.compile(f"[\x00-\x09\x0b-\x1f{_UNSEEN}]| \n| $")
_LONGEST_KEY = 128  # YAML allows 1024 characters before the colon, counted as written
_MOST_SHARED = 1 << 12
"""Items of lists whose text is held while that many others are: what is told of each of a thousand clusters is alike in
many files."""
_SHORT = 1024
"""Bytes of such an item as JSON, at most."""


def dump(value: Any) -> str:
    """Canonical YAML of a JSON value, ending in a newline. Keys are text."""
    if not isinstance(value, Mapping | list | tuple):
        return _scalar(value, 2) + "\n"
    lines: list[str] = []
    _block(value, 0, "", lines.append)
    return "".join(lines)


def dump_both(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str]:
    """`dump` of both. A part that is the same object in both is written once."""
    if not before or not after:
        return dump(before), dump(after)
    texts = _Both()
    _both_members(before, after, 0, "", texts)
    return "".join(texts.old), "".join(texts.new)


def dump_many(values: Iterable[Any]) -> str:
    """Several documents, separated by `---`."""
    return "---\n".join(dump(value) for value in values)


_Put: TypeAlias = Callable[[str], None]
"""Takes one or more lines."""


def _block(value: Any, indent: int, lead: str, put: _Put) -> None:
    """Lines of a mapping or list; `lead` is what already stands before the first line ("- " of a list item)."""
    if not value:
        put(f"{lead}{'{}' if isinstance(value, Mapping) else '[]'}\n")
        return
    pad = " " * indent
    if isinstance(value, Mapping):
        for key in sorted(value):
            _entry(lead or pad, _key(key, pad), value[key], indent, put)
            lead = ""
        return
    for item in value:
        front = f"{lead or pad}- "
        lead = ""
        if type(item) is dict:
            _item(item, indent + 2, front, put)
        elif isinstance(item, Mapping | list | tuple):
            _block(item, indent + 2, front, put)
        else:
            put(f"{front}{_scalar(item, indent + 2)}\n")


def _item(item: dict[str, Any], indent: int, front: str, put: _Put) -> None:
    try:
        text = orjson.dumps(item, option=orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:  # what is in it is no plain JSON
        text = b""
    if 0 < len(text) <= _SHORT:
        put(_known(text, indent, front))
    else:
        _block(item, indent, front, put)


@lru_cache(_MOST_SHARED)
def _known(item: bytes, indent: int, front: str) -> str:
    """The lines of an item, given as JSON."""
    lines: list[str] = []
    _block(orjson.loads(item), indent, front, lines.append)
    return "".join(lines)


def _entry(front: str, key: str, value: Any, indent: int, put: _Put) -> None:
    if type(value) is str or not isinstance(value, Mapping | list | tuple):
        put(f"{front}{key}: {_scalar(value, indent + 2)}\n")
    elif not value:
        put(f"{front}{key}: {'{}' if isinstance(value, Mapping) else '[]'}\n")
    else:
        put(f"{front}{key}:\n")
        _block(value, indent if isinstance(value, list | tuple) else indent + 2, "", put)


class _Both:
    """The lines of two values."""

    __slots__ = ("new", "old")

    def __init__(self) -> None:
        self.old: list[str] = []
        self.new: list[str] = []

    def put(self, text: str) -> None:
        self.old.append(text)
        self.new.append(text)


_ABSENT: Any = object()


def _both_members(old: Mapping[str, Any], new: Mapping[str, Any], indent: int, lead: str, texts: _Both) -> None:
    """As `_block` for two mappings with members."""
    if lead and min(old) != min(new):
        _block(old, indent, lead, texts.old.append)
        _block(new, indent, lead, texts.new.append)
        return
    pad = " " * indent
    for key in sorted(old if old.keys() == new.keys() else old.keys() | new.keys()):
        front, name = lead or pad, _key(key, pad)
        lead = ""
        was, will = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if was is will:
            _entry(front, name, was, indent, texts.put)
        elif was and will and isinstance(was, dict) and isinstance(will, dict):
            texts.put(f"{front}{name}:\n")
            _both_members(was, will, indent + 2, "", texts)
        elif was and isinstance(was, list) and isinstance(will, list) and len(was) == len(will):
            texts.put(f"{front}{name}:\n")
            _both_lists(was, will, indent, texts)
        else:
            if was is not _ABSENT:
                _entry(front, name, was, indent, texts.old.append)
            if will is not _ABSENT:
                _entry(front, name, will, indent, texts.new.append)


def _both_lists(old: list[Any], new: list[Any], indent: int, texts: _Both) -> None:
    for was, will in zip(old, new, strict=True):
        if was and will and isinstance(was, dict) and isinstance(will, dict) and was is not will:
            _both_members(was, will, indent + 2, f"{' ' * indent}- ", texts)
        else:
            _block([was], indent, "", texts.old.append)
            _block([will], indent, "", texts.new.append)


@lru_cache(_MOST_SHARED)
def _key(key: str, pad: str) -> str:
    if len(key) > _LONGEST_KEY:
        return f"? {_quoted(key)}\n{pad}"
    return key if _is_plain(key) else _quoted(key)


def _is_plain(text: str) -> bool:
    return bool(_SAFE.fullmatch(text)) and not text.startswith("...") and scalars.is_text(text)


def _scalar(value: Any, indent: int) -> str:
    if not isinstance(value, str):
        return orjson.dumps(value).decode()
    if _is_plain(value):
        return value
    if "\n" in value and value[0] not in "\n \t" and not _BLOCK_UNSAFE.search(value):
        return _literal(value, " " * indent)
    return _quoted(value)


def _literal(text: str, pad: str) -> str:
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    mark = "|-" if ends == 0 else "|" if ends == 1 else "|+"
    lines = [pad + line if line else "" for line in body.split("\n")]
    return "\n".join([mark, *lines]) + "\n" * (ends - 1 if ends > 1 else 0)


def _quoted(text: str) -> str:
    """JSON's quoting is YAML's, but for characters that YAML forbids or folds."""
    if not text.isascii():
        plain_json = orjson.dumps(text).decode()
        return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", plain_json)
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")
