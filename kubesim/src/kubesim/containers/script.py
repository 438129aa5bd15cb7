"""The language of the tiny shell: words, quotes, variables; ``;``, ``&&``, ``||``, ``>`` and ``>>``. No more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

_WORD: Final = r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|>'"\\])+"""
_TOKEN: Final = re.compile(rf"[ \t\r]*(\n|\#[^\n]*|;|&&|\|\||>>|>|\||&|{_WORD})")
_PART: Final = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+|\?))")
ENDS: Final = ("\n", ";", "&&", "||")


class ScriptError(ValueError):
    """What this shell does not understand."""


@dataclass(slots=True)
class Command:
    joint: str = ";"
    """How it follows the one before: always, if that succeeded (``&&``), if it failed (``||``)."""
    words: list[str] = field(default_factory=list)
    """As written."""
    target: str = ""
    appends: bool = False


def parse(text: str) -> Iterator[Command]:
    """Raises ScriptError."""
    command, redirects = Command(), False
    at, text = 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ScriptError("unterminated quoted string")
        at, token = found.end(), found[1]
        if token.startswith("#"):
            continue
        if token in ("|", "&"):
            raise ScriptError(f"{token} is not understood by the shell of an embedded cluster")
        if token in (">", ">>"):
            redirects, command.appends = True, token == ">>"
        elif token in ENDS:
            if command.words:
                yield command
            command = Command(";" if token == "\n" else token)
        elif redirects:
            command.target, redirects = token, False
        else:
            command.words.append(token)
    if command.words:
        yield command


def expand(word: str, variables: Mapping[str, str]) -> str:
    """Without its quotes, with its variables."""

    def value(found: re.Match[str]) -> str:
        return variables.get(found[1] or found[2], "")

    parts = []
    for part in _PART.finditer(word):
        single, double, escaped, bare = part.groups()
        if double is not None:
            parts.append(re.sub(r'\\(["\\$])', r"\1", _VARIABLE.sub(value, double)))
        else:
            parts.append(_VARIABLE.sub(value, bare) if bare is not None else single or escaped or "")
    return "".join(parts)
