"""JSON files as the same events that YAML gives, so that caps, duplicate keys and positions are found by one builder.

The standard library decides whether the text is JSON (its message and place are reported); what passed is then cut
into tokens, which needs no grammar any more. Several objects one after another are accepted, as kubectl does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from gitfed.text import scalars
from gitfed.text.construct import MERGE as MERGE
from gitfed.text.construct import Fault, Stop, YamlEvent

_TOKEN = re.compile(r'[{}\[\]:,]|"(?:[^"\\]|\\.)*"|[^\s{}\[\]:,"]+')
_BLANK = re.compile(r"[ \t\r\n]*")
_NESTED_TOO_DEEPLY = 1000


def events(text: str) -> Iterator[YamlEvent]:
    """Events of every value in the text. Raises `Stop` at the first syntax error."""
    if fault := _too_deep(text):
        raise Stop(fault)
    # What numbers mean is decided below: the library refuses an integer of thousands of digits with another exception.
    decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=len, parse_float=len)
    position = _end_of_blanks(text, 0)
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as problem:
            message = f"not valid JSON: {problem.msg[0].lower()}{problem.msg[1:]}"
            raise Stop(Fault(problem.lineno, problem.colno, message)) from None
        except _Constant as constant:
            where = text.find(constant.word, position)
            raise Stop(Fault(*_place(text, where), f"{constant.word} is not a number that JSON can hold")) from None
        yield from _document(text, position, end)
        position = _end_of_blanks(text, end)


def _document(text: str, start: int, end: int) -> Iterator[YamlEvent]:
    line, column = _place(text, start)
    line_start = start - column + 1
    yield "document", line, column, None, "", None, None
    last = start
    for match in _TOKEN.finditer(text, start, end):
        token, at = match.group(), match.start()
        line += text.count("\n", last, at)
        line_start = max(line_start, text.rfind("\n", last, at) + 1)
        last = at
        column = at - line_start + 1
        first = token[0]
        if first in "{[":
            yield "map" if first == "{" else "list", line, column, None, "", None, None
        elif first in "}]":
            yield "end", 0, 0, None, "", None, None
        elif first == '"':
            value = json.loads(token)
            note = None
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                note = Fault(line, column, "half of a surrogate pair is not a character")
            yield "scalar", line, column, value, value, None, note
        elif first not in ":,":
            yield "scalar", line, column, *_literal(token, line, column)
    yield "end document", 0, 0, None, "", None, None


def _literal(token: str, line: int, column: int) -> tuple[Any, str, None, Fault | None]:
    try:
        return scalars.resolve(token), token, None, None
    except scalars.NotFinite:
        return None, token, None, Fault(line, column, f"{token[:40]} is not a number that JSON can hold")


def _too_deep(text: str) -> Fault | None:
    """The standard library's parser recurses; nothing that deep is a manifest."""
    depth = 0
    for match in _TOKEN.finditer(text):
        first = match.group()[0]
        if first in "{[":
            depth += 1
            if depth > _NESTED_TOO_DEEPLY:
                message = f"nested more than {_NESTED_TOO_DEEPLY} levels deep"
                return Fault(*_place(text, match.start()), message, quotes=False)
        elif first in "}]":
            depth -= 1
    return None


class _Constant(Exception):
    def __init__(self, word: str) -> None:
        self.word = word


def _refuse(word: str) -> NoReturn:
    raise _Constant(word)


def _end_of_blanks(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start


def _place(text: str, index: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, index) + 1
    return text.count("\n", 0, index) + 1, index - line_start + 1
