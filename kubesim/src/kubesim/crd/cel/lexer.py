"""The words of a CEL expression: where each begins, what sort it is, and what a number or a text in it stands for.

How words go together is ``syntax``'s question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kubesim.crd.cel import values


class SyntaxProblem(ValueError):
    """The expression does not parse. ``position`` counts characters from 0; ``before`` holds complaints about
    characters that are no words at all, which the parser passes over."""

    def __init__(self, position: int, text: str, before: tuple[SyntaxProblem, ...] = ()) -> None:
        super().__init__(text)
        self.position = position
        self.text = text
        self.before = before


RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
    |(?P<string>[bB]?[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|[rR][bB]?(?:"[^"\n]*"|'[^'\n]*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<op>&&|\|\||<=|>=|==|!=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    at: int
    kind: str
    text: str


def tokens(text: str) -> tuple[list[Token], tuple[SyntaxProblem, ...]]:
    """The words, and complaints about what is none: a text that does not end, a character CEL does not use."""
    words, strange, at = [], [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text[at:].split("\n")[0]
            skipped = line if text[at] in "\"'" else text[at]
            strange.append(SyntaxProblem(at, f"Syntax error: token recognition error at: '{skipped}'"))
            at += len(skipped)
            continue
        if found.lastgroup != "space":
            words.append(Token(at, found.lastgroup or "", found[0]))
        at = found.end()
    return words, tuple(strange)


def integer(at: int, text: str) -> int:
    """The number a word of kind ``int`` stands for; with ``u`` a ``values.Uint``. Raises ``SyntaxProblem``."""
    unsigned = text[-1] in "uU"
    digits = text[:-1] if unsigned else text
    value = int(digits, 16 if "x" in digits.lower() else 10)
    if unsigned:
        if value > values.MAX_UINT:
            raise SyntaxProblem(at, "invalid uint literal")
        return values.Uint(value)
    if not values.MIN_INT <= value <= values.MAX_INT:
        raise SyntaxProblem(at, "invalid int literal")
    return value


_SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)


def text_or_bytes(at: int, text: str) -> str | bytes:
    """What a word of kind ``string`` stands for: escapes read unless raw. Raises ``SyntaxProblem``."""
    quote = min(position for position in (text.find('"'), text.find("'")) if position >= 0)
    prefix, body = text[:quote].lower(), text[quote:]
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[width:-width]
    if "r" not in prefix:

        def replace(found: re.Match[str]) -> str:
            code = found[1] or found[2] or found[3]
            if code:
                return chr(int(code, 16))
            if found[4]:
                return chr(int(found[4], 8))
            if found[5] not in _SIMPLE:
                raise SyntaxProblem(
                    at, f"Syntax error: token recognition error at: '{text[: quote + width + found.end()]}'"
                )
            return _SIMPLE[found[5]]

        body = _ESCAPE.sub(replace, body)
    return body.encode("utf-8") if "b" in prefix else body
