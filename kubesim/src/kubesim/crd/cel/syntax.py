"""The text of a CEL expression as a tree: a parser by precedence.

Words come from ``lexer``; what the tree is made of stands in ``nodes``. Whether names exist and types fit is
``check``'s question.
"""

from __future__ import annotations

from typing import Final

from kubesim.crd.cel import lexer
from kubesim.crd.cel.lexer import SyntaxProblem, Token
from kubesim.crd.cel.nodes import Call, ListOf, Literal, MapOf, Member, Name, Node

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


def parse(text: str) -> Node:
    """Raises ``SyntaxProblem``."""
    found, strange = lexer.tokens(text)
    parser = _Parser(found, len(text))
    try:
        node = parser.expression()
        if parser.kind != "end":
            # One token too many is passed over by cel-go's parser, more of them are not.
            what = "extraneous" if parser.tokens[parser.index + 1].kind == "end" else "mismatched"
            raise SyntaxProblem(parser.at, f"Syntax error: {what} input '{parser.text}' expecting <EOF>")
    except SyntaxProblem as problem:
        raise SyntaxProblem(problem.position, problem.text, strange) from None
    if strange:
        raise SyntaxProblem(strange[-1].position, strange[-1].text, strange[:-1])
    return node


class _Parser:
    def __init__(self, tokens: list[Token], size: int) -> None:
        self.tokens = [*tokens, Token(size, "end", "<EOF>")]
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
                self.tokens[self.index] = Token(token.at, token.kind, "-" + token.text)
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
            return Literal(at, lexer.integer(at, token.text))
        if token.kind == "float":
            self.index += 1
            return Literal(at, float(token.text))
        if token.kind == "string":
            self.index += 1
            return Literal(at, lexer.text_or_bytes(at, token.text))
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
        if text in lexer.RESERVED or text == "in":
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
