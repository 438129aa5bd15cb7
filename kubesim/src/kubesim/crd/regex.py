"""Go's regular expressions (RE2 syntax) said in Python's.

Schemas (``pattern``) and CEL (``matches``) are written for Go. The two dialects agree on almost everything; where
they do not, a pattern must neither match other texts here nor be accepted where the server refuses it: look-around
and back-references are errors, ``$`` is the end of the text and not "before a last newline", ``\\z`` is ``\\Z``,
classes like ``[[:alpha:]]`` and ``\\pL`` are spelled out.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Final


class RegexError(ValueError):
    """The pattern is none in Go's syntax. ``str()`` is Go's text."""


_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_GROUP: Final = re.compile(r"\(\?(?:P<|<(?![=!])|([imsU]*(?:-[imsU]+)?)([:)]))")
_ESCAPED: Final = frozenset("dDsSwWbBAaftnrv0123456789xpPQECz")


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises ``RegexError``."""
    translated = _translate(pattern)
    try:
        return re.compile(translated, re.ASCII)
    except re.error as problem:
        raise RegexError(_go_text(pattern, problem)) from problem


def _go_text(pattern: str, problem: re.error) -> str:
    text = problem.msg
    if "unterminated character set" in text:
        return f"error parsing regexp: missing closing ]: `{pattern[problem.pos or 0 :]}`"
    if "missing )" in text:
        return f"error parsing regexp: missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in text:
        return f"error parsing regexp: unexpected ): `{pattern}`"
    if "nothing to repeat" in text:
        return (
            "error parsing regexp: missing argument to repetition operator: "
            f"`{pattern[problem.pos or 0 : (problem.pos or 0) + 1]}`"
        )
    if "multiple repeat" in text:
        position = problem.pos or 0
        return f"error parsing regexp: invalid nested repetition operator: `{pattern[position - 1 : position + 1]}`"
    if "bad character range" in text:
        return f"error parsing regexp: invalid character class range: `{text.removeprefix('bad character range ')}`"
    return f"error parsing regexp: {text}: `{pattern}`"


def _translate(pattern: str) -> str:
    out: list[str] = []
    at, size, in_class = 0, len(pattern), False
    opened: list[str] = []  # what closes each group: ")" and, for a flag that lasts to its end, one more
    while at < size:
        char = pattern[at]
        if char == "\\":
            if at + 1 >= size:
                raise RegexError("error parsing regexp: trailing backslash at end of expression: ``")
            at = _escape(pattern, at, in_class, out)
            continue
        if in_class:
            if char == "[" and (name := re.match(r"\[:(\^?)(\w+):\]", pattern[at:])):
                if name[2] not in _POSIX or name[1]:
                    raise RegexError(f"error parsing regexp: invalid character class range: `{name[0]}`")
                out.append(_POSIX[name[2]])
                at += len(name[0])
                continue
            if char == "]":
                in_class = False
                out.append("]")
            else:
                out.append("\\" + char if char in "[&~|" else char)
            at += 1
            continue
        if char == "[":
            in_class = True
            out.append("[")
            at += 1
            if at < size and pattern[at] == "^":
                out.append("^")
                at += 1
            if at < size and pattern[at] == "]":
                out.append("\\]")
                at += 1
            continue
        if char == "(" and pattern.startswith("(?", at):
            group = _GROUP.match(pattern, at)
            if group is None:
                raise RegexError(f"error parsing regexp: invalid or unsupported Perl syntax: `{pattern[at : at + 3]}`")
            if group[2] is None:  # a named group, in either spelling
                out.append("(?P<")
                opened.append(")")
            elif group[2] == ":":
                out.append(f"(?{group[1].replace('U', '')}:")
                opened.append(")")
            else:  # flags that last to the end of the group around them: a group of their own
                out.append(f"(?{group[1].replace('U', '')}:")
                if opened:
                    opened[-1] += ")"
                else:
                    opened.append("\0")
            at = group.end()
            continue
        if char == "(":
            opened.append(")")
        if char == ")" and opened and opened[-1] != "\0":
            out.append(opened.pop())
        elif char == "$":
            out.append("\\Z" if "m" not in "".join(_flags(pattern[:at])) else "$")
        else:
            out.append(char)
        at += 1
    out.extend(")" for mark in opened if mark == "\0")
    return "".join(out)


def _flags(before: str) -> list[str]:
    return re.findall(r"\(\?([imsU]+)", before)


@functools.lru_cache(maxsize=64)
def _category(name: str) -> str:
    """A Unicode category as ranges of characters, for Python's engine has no such classes. Within the first plane."""
    ranges: list[str] = []
    start = -1
    for code in range(0x10001):
        inside = code < 0x10000 and unicodedata.category(chr(code)).startswith(name) and bool(name)
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            ranges.append(f"\\u{start:04x}-\\u{code - 1:04x}")
            start = -1
    return "".join(ranges)


def _escape(pattern: str, at: int, in_class: bool, out: list[str]) -> int:
    char = pattern[at + 1]
    if char in "pP":
        name = re.match(r"(\w)|\{(\^?)(\w+)\}", pattern[at + 2 :])
        ranges = _category((name[1] or name[3]) if name else "")
        end = at + 2 + (name.end() if name else 0)
        if name is None or not ranges:
            raise RegexError(f"error parsing regexp: invalid character class range: `{pattern[at:end]}`")
        outside = (char == "P") != bool(name[2])
        out.append(ranges if in_class else f"[{'^' if outside else ''}{ranges}]")
        return end
    if char == "Q":
        end = pattern.find("\\E", at + 2)
        literal = pattern[at + 2 : end if end >= 0 else len(pattern)]
        out.append(re.escape(literal))
        return end + 2 if end >= 0 else len(pattern)
    if char == "z":
        out.append("\\Z")
        return at + 2
    if char == "x" and pattern.startswith("{", at + 2):
        end = pattern.find("}", at)
        try:
            out.append(re.escape(chr(int(pattern[at + 3 : end], 16))))
        except (ValueError, OverflowError):
            raise RegexError(f"error parsing regexp: invalid escape sequence: `{pattern[at : end + 1]}`") from None
        return end + 1
    if char.isalnum() and (char not in _ESCAPED or char in "123456789"):
        raise RegexError(f"error parsing regexp: invalid escape sequence: `\\{char}`")
    out.append("\\" + char)
    return at + 2
