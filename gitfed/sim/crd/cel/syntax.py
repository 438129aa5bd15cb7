"""The text of a CEL expression as a tree: a lexer and a parser by precedence.

The tree is made of few nodes (literal, name, member, index, call, list, map, comprehension); operators are calls of
the names that cel-go uses for them (``_+_``, ``!_``, ``_?_:_``, ``@in``), so that messages can quote them. Macros are
left as calls; ``evaluate`` and ``check`` know them. Every node keeps its position for messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from gitfed.sim.crd.cel import values


class SyntaxProblem(ValueError):
    """The expression does not parse. ``position`` counts characters from 0; ``before`` holds complaints about
    characters that are no words at all, which the parser passes over."""

    def __init__(self, position: int, text: str, before: tuple[SyntaxProblem, ...] = ()) -> None:
        super().__init__(text)
        self.position = position
        self.text = text
        self.before = before


@dataclass(frozen=True, slots=True)
class Literal:
    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """``of.field``, or ``of.?field`` with ``optional``."""

    at: int
    of: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or with ``target`` a method. Operators too."""

    at: int
    function: str
    args: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    at: int
    items: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapOf:
    at: int
    entries: tuple[tuple[Node, Node, bool], ...]
    """(key, value, written with ``?``)."""


Node = Literal | Name | Member | Call | ListOf | MapOf

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
    |(?P<string>[bB]?[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|[rR][bB]?(?:"[^"\n]*"|'[^'\n]*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<op>&&|\|\||<=|>=|==|!=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED: Final = frozenset(
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
_BINARY: Final = {
    "||": (1, "_||_"),
    "&&": (2, "_&&_"),
    "<": (3, "_<_"),
    "<=": (3, "_<=_"),
    ">": (3, "_>_"),
    ">=": (3, "_>=_"),
    "==": (3, "_==_"),
    "!=": (3, "_!=_"),
    "in": (3, "@in"),
    "+": (4, "_+_"),
    "-": (4, "_-_"),
    "*": (5, "_*_"),
    "/": (5, "_/_"),
    "%": (5, "_%_"),
}
_DEPTH: Final = 250


@dataclass(frozen=True, slots=True)
class _Token:
    at: int
    kind: str
    text: str


def parse(text: str) -> Node:
    """Raises ``SyntaxProblem``."""
    tokens, strange = _tokens(text)
    parser = _Parser(tokens, len(text))
    try:
        node = parser.expression()
        if parser.kind != "end":
            raise SyntaxProblem(parser.at, f"Syntax error: mismatched input '{parser.text}' expecting <EOF>")
    except SyntaxProblem as problem:
        raise SyntaxProblem(problem.position, problem.text, strange) from None
    if strange:
        raise SyntaxProblem(strange[-1].position, strange[-1].text, strange[:-1])
    return node


def _tokens(text: str) -> tuple[list[_Token], tuple[SyntaxProblem, ...]]:
    """The words, and complaints about what is none: a text that does not end, a character CEL does not use."""
    tokens, strange, at = [], [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text[at:].split("\n")[0]
            skipped = line if text[at] in "\"'" else text[at]
            strange.append(SyntaxProblem(at, f"Syntax error: token recognition error at: '{skipped}'"))
            at += len(skipped)
            continue
        if found.lastgroup != "space":
            tokens.append(_Token(at, found.lastgroup or "", found[0]))
        at = found.end()
    return tokens, tuple(strange)


class _Parser:
    def __init__(self, tokens: list[_Token], size: int) -> None:
        self.tokens = [*tokens, _Token(size, "end", "<EOF>")]
        self.index = 0
        self.depth = 0

    @property
    def text(self) -> str:
        return self.tokens[self.index].text

    @property
    def kind(self) -> str:
        return self.tokens[self.index].kind

    @property
    def at(self) -> int:
        return self.tokens[self.index].at

    def take(self, text: str) -> bool:
        if self.text == text and self.kind in ("op", "name"):
            self.index += 1
            return True
        return False

    def need(self, text: str) -> int:
        at = self.at
        if not self.take(text):
            raise SyntaxProblem(at, f"Syntax error: {_missed(text, self.text)}")
        return at

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH:
            raise SyntaxProblem(self.at, f"expression recursion limit exceeded: {_DEPTH}")
        node = self.binary(1)
        at = self.at
        if self.take("?"):
            yes = self.binary(1)
            self.need(":")
            node = Call(at, "_?_:_", (node, yes, self.expression()))
        self.depth -= 1
        return node

    def binary(self, least: int) -> Node:
        left = self.unary()
        while self.kind in ("op", "name") and self.text in _BINARY:
            level, function = _BINARY[self.text]
            if level < least:
                break
            at = self.at
            self.index += 1
            left = Call(at, function, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Node:
        at = self.at
        if self.take("!"):
            return Call(at, "!_", (self.unary(),))
        if self.take("-"):
            if self.kind in ("int", "float"):
                token = self.tokens[self.index]
                self.tokens[self.index] = _Token(token.at, token.kind, "-" + token.text)
                return self.postfix()
            return Call(at, "-_", (self.unary(),))
        return self.postfix()

    def postfix(self) -> Node:
        node = self.primary()
        while self.kind == "op":
            at = self.at
            if self.take("."):
                optional = self.take("?")
                name = self.name()
                opened = self.at
                if not optional and self.take("("):
                    node = Call(opened, name, self.arguments(")"), node)
                else:
                    node = Member(at, node, name, optional)
            elif self.take("["):
                optional = self.take("?")
                key = self.expression()
                self.need("]")
                node = Call(at, "_[?_]" if optional else "_[_]", (node, key))
            else:
                break
        return node

    def name(self) -> str:
        if self.kind != "name":
            raise SyntaxProblem(
                self.at,
                f"Syntax error: no viable alternative at input '.{self.text}'"
                if self.kind != "end"
                else "Syntax error: no viable alternative at input '.'",
            )
        text = self.text
        self.index += 1
        return text.strip("`")

    def arguments(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self.take(closing):
            if items and not self.take(","):
                self.need(closing)
                break
            items.append(self.expression())
        return tuple(items)

    def primary(self) -> Node:
        token = self.tokens[self.index]
        at = token.at
        if token.kind == "int":
            self.index += 1
            return Literal(at, _integer(at, token.text))
        if token.kind == "float":
            self.index += 1
            return Literal(at, float(token.text))
        if token.kind == "string":
            self.index += 1
            return Literal(at, _string(at, token.text))
        if token.kind == "name" or (token.text == "." and self.tokens[self.index + 1].kind == "name"):
            if token.text == ".":
                self.index += 1
            return self.named(at)
        if self.take("("):
            node = self.expression()
            self.need(")")
            return node
        if self.take("["):
            return self.list_of(at)
        if self.take("{"):
            return self.map_of(at)
        following = self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        begins = following.kind in ("int", "float", "string", "name") or following.text in (
            "(",
            "[",
            "{",
            "-",
            "!",
            ".",
        )
        what = "extraneous" if begins and token.kind != "end" else "mismatched"
        raise SyntaxProblem(at, f"Syntax error: {what} input '{token.text}' expecting {_EXPECTED}")

    def named(self, at: int) -> Node:
        text = self.text
        if text in _RESERVED or text == "in":
            raise SyntaxProblem(at, f"reserved identifier: {text}")
        self.index += 1
        if text in ("true", "false"):
            return Literal(at, text == "true")
        if text == "null":
            return Literal(at, None)
        opened = self.at
        if self.take("("):
            return Call(opened, text, self.arguments(")"))
        return Name(at, text)

    def separated(self, closing: str) -> None:
        at = self.at
        if not self.take(","):
            raise SyntaxProblem(at, f"Syntax error: mismatched input '{self.text}' expecting {{'{closing}', ','}}")

    def list_of(self, at: int) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self.take("]"):
            if items:
                self.separated("]")
                if self.take("]"):
                    break
            if self.take("?"):
                optional.add(len(items))
            items.append(self.expression())
        return ListOf(at, tuple(items), frozenset(optional))

    def map_of(self, at: int) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while not self.take("}"):
            if entries:
                self.separated("}")
                if self.take("}"):
                    break
            optional = self.take("?")
            key = self.expression()
            self.need(":")
            entries.append((key, self.expression(), optional))
        return MapOf(at, tuple(entries))


def _missed(wanted: str, found: str) -> str:
    """At the end of the text a closing bracket is missing; elsewhere something else stands in its place."""
    if found == "<EOF>" and wanted in (")", "]", "}"):
        return f"missing '{wanted}' at '<EOF>'"
    return f"mismatched input '{found}' expecting '{wanted}'"


_EXPECTED: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def _integer(at: int, text: str) -> int:
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


def _string(at: int, text: str) -> str | bytes:
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
