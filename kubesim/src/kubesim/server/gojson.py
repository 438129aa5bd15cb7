"""JSON as the server reads it: fast when it is right, and with Go's words when it is not.

Good bodies go through orjson. Only when that fails is the text walked again, character by character, to say what Go's
decoder would have said; and only when keys seem to be missing from the result is it read again to find the repeated
ones.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from kubesim import status

_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")
_SPACE: Final = " \t\r\n"
TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
"""What Go first reads a body as, to learn its kind."""


class JsonError(ValueError):
    """The text is no JSON; the message is Go's."""


def loads(data: bytes) -> Any:
    """Any JSON value. ``JsonError`` with Go's text."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        complaint = _Scanner(data.decode("utf-8", "replace")).complaint()
        if complaint is None:  # Go is more lenient here (lone surrogates, odd UTF-8, huge numbers)
            return json.loads(data.decode("utf-8", "replace"))
        raise JsonError(complaint) from None


class _End(Exception):
    """The text ended too early."""


class _Wrong(Exception):
    def __init__(self, char: str, where: str) -> None:
        shown = {"'": "\\'", '"': '"'}.get(char)
        if shown is None:
            shown = f"\\x{ord(char):02x}" if 0x80 <= ord(char) < 0x100 else status.quote(char)[1:-1]
        super().__init__(f"invalid character '{shown}' {where}")


class _WrongEscape(_Wrong):
    def __init__(self, sequence: str) -> None:
        Exception.__init__(self, f"invalid escape sequence `{sequence}` in string")


class _Scanner:
    """Go's scanner, kept to what decides its messages."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def complaint(self) -> str | None:
        try:
            self._value()
            self._space()
            if self._at < len(self._text):
                raise _Wrong(self._text[self._at], "after top-level value")
        except _End:
            return "unexpected end of JSON input"
        except _Wrong as wrong:
            return str(wrong)
        return None

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _End
        self._at += 1
        return self._text[self._at - 1]

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _token(self) -> str:
        self._space()
        return self._next()

    def _value(self) -> None:
        char = self._token()
        if char == "{":
            self._object()
        elif char == "[":
            self._array()
        elif char == '"':
            self._string()
        elif char == "-" or char in _DIGITS:
            self._number(char)
        elif char in "tfn":
            self._literal({"t": "true", "f": "false", "n": "null"}[char])
        else:
            raise _Wrong(char, "looking for beginning of value")

    def _object(self) -> None:
        char = self._token()
        if char == "}":
            return
        while True:
            if char != '"':
                raise _Wrong(char, "looking for beginning of object key string")
            self._string()
            char = self._token()
            if char != ":":
                raise _Wrong(char, "after object key")
            self._value()
            char = self._token()
            if char == "}":
                return
            if char != ",":
                raise _Wrong(char, "after object key:value pair")
            char = self._token()

    def _array(self) -> None:
        self._space()
        if self._at < len(self._text) and self._text[self._at] == "]":
            self._at += 1
            return
        while True:
            self._value()
            char = self._token()
            if char == "]":
                return
            if char != ",":
                raise _Wrong(char, "after array element")

    def _string(self) -> None:
        while (char := self._next()) != '"':
            if char == "\\":
                self._escape(self._next())
            elif char < " ":
                raise _Wrong(char, "in string")

    def _escape(self, char: str) -> None:
        start = self._at - 2
        digits = "".join(self._next() for _ in range(4)) if char == "u" else "0"
        if char not in 'bfnrt\\/"u' or not _HEX.issuperset(digits):
            raise _WrongEscape(self._text[start : self._at])

    def _number(self, char: str) -> None:
        if char == "-" and (char := self._next()) not in _DIGITS:
            raise _Wrong(char, "in numeric literal")
        if char != "0":
            self._digits()
        if self._peek() == ".":
            self._next()
            self._some_digits()
        if self._peek() in ("e", "E"):
            self._next()
            if self._peek() in ("+", "-"):
                self._next()
            self._some_digits()

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _digits(self) -> None:
        while self._peek() and self._peek() in _DIGITS:
            self._at += 1

    def _some_digits(self) -> None:
        char = self._next()
        if char not in _DIGITS:
            raise _Wrong(char, "in numeric literal")
        self._digits()

    def _literal(self, word: str) -> None:
        for expected in word[1:]:
            char = self._next()
            if char != expected:
                raise _Wrong(char, f"in literal {word} (expecting '{expected}')")
