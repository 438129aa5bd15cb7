"""Go's regular expressions (RE2 syntax) said in Python's.

Schemas (``pattern``) and CEL (``matches``) are written for Go. The two dialects agree on almost everything; where
they do not, a pattern must neither match other texts here nor be accepted where the server refuses it: look-around
and back-references are errors, ``$`` is the end of the text and not "before a last newline", ``\\z`` is ``\\Z``,
classes like ``[[:alpha:]]`` and ``\\pL`` are spelled out.
"""

from __future__ import annotations

import functools
import re
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
_UNICODE: Final = {
    # Python's engine has no property classes; these are the ones that schemas use, as ranges wide enough for real
    # texts.
    "L": "A-Za-z\\u00aa\\u00b5\\u00ba\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02c1\\u0370-\\u03ff\\u0400-\\u0481\\u048a-\\u052f"
    "\\u0531-\\u0587\\u05d0-\\u05ea\\u0620-\\u064a\\u0900-\\u0939\\u0e01-\\u0e30\\u1e00-\\u1fff\\u3041-\\u3096\\u30a1-\\u30fa"
    "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3",
    "Lu": "A-Z\\u00c0-\\u00d6\\u00d8-\\u00de\\u0391-\\u03a9\\u0410-\\u042f",
    "Ll": "a-z\\u00b5\\u00df-\\u00f6\\u00f8-\\u00ff\\u03b1-\\u03c9\\u0430-\\u044f",
    "N": "0-9\\u00b2\\u00b3\\u00b9\\u00bc-\\u00be\\u0660-\\u0669\\u06f0-\\u06f9\\u0966-\\u096f\\uff10-\\uff19",
    "Nd": "0-9\\u0660-\\u0669\\u06f0-\\u06f9\\u0966-\\u096f\\uff10-\\uff19",
    "P": "!-#%-*,-/:;?@\\[-\\]_{}\\u00a1\\u00a7\\u00ab\\u00b6\\u00b7\\u00bb\\u00bf\\u2010-\\u2027\\u2030-\\u205e",
    "S": "$+<=>\\^`|~\\u00a2-\\u00a6\\u00a8\\u00a9\\u00ac\\u00ae-\\u00b1\\u00b4\\u00b8\\u00d7\\u00f7\\u20a0-\\u20bf\\u2190-\\u23ff\\u2500-\\u27bf",
    "Z": " \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000",
    "Zs": " \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000",
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
        return f"error parsing regexp: missing argument to repetition operator: `{pattern[problem.pos or 0 : (problem.pos or 0) + 1]}`"
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


def _escape(pattern: str, at: int, in_class: bool, out: list[str]) -> int:
    char = pattern[at + 1]
    if char in "pP":
        name = re.match(r"(\w)|\{(\^?\w+)\}", pattern[at + 2 :])
        key = (name[1] or name[2]) if name else ""
        if name is None or key not in _UNICODE:
            raise RegexError(
                f"error parsing regexp: invalid character class range: `{pattern[at : at + 2 + (name.end() if name else 0)]}`"
            )
        ranges = _UNICODE[key]
        out.append(ranges if in_class else f"[{'^' if char == 'P' else ''}{ranges}]")
        return at + 2 + name.end()
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
