"""Reads a JSONPath template of Kubernetes into its parts (Kubernetes: client-go's `jsonpath`; Karmada: policies §3.4).

    template   text and {actions} in a row; text outside braces stands for itself
    action     a chain, each link applied to what the one before gave:
               .name  ['name']  .*  [*]  [i]  [a:b:step]  [x,y]  ..  [?(…)]  'text'  5  true
    range      {range path} … {end}: what lies between, once for each hit

Only what a template says is found out here; what it finds in a document is `jsonpath`'s. `$` and `@` both mean where a
chain begins, and may be left out.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from gitfed.text.values import dataclass


class TemplateError(ValueError):
    """The template itself is wrong: what, and at which character (from 1)."""


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Every:
    """`.*`: all members of a map, all items of a list."""


@dataclass(frozen=True, slots=True)
class IndexRange:
    """Items of a list; None where the template leaves it open. `single`: an index, not a slice."""

    start: int | None = None
    end: int | None = None
    step: int | None = None
    single: bool = False

    def __str__(self) -> str:
        if self.single:
            return f"[{self.start}]"
        shown = ["" if bound is None else str(bound) for bound in (self.start, self.end)]
        return f"[{':'.join([*shown, *([] if self.step is None else [str(self.step)])])}]"


@dataclass(frozen=True, slots=True)
class Descend:
    """`..`: everything inside that is not empty, at any depth."""


@dataclass(frozen=True, slots=True)
class Union:
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    left: Chain
    operator: str = ""
    """"" asks only whether `left` finds anything."""
    right: Chain = ()


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | float | bool


Link: TypeAlias = Name | Every | IndexRange | Descend | Union | Filter | Literal
Chain: TypeAlias = tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    over: Chain
    body: Template


Template: TypeAlias = tuple[str | Chain | Loop, ...]
"""Text, chains and loops in a row."""

OPERATORS: Final = ("==", "!=", "<=", ">=", "<", ">")
_SIGNS = re.compile(r"[!<>=]+")
_DEEPEST: Final = 20
"""Ranges inside each other."""
_ENDS = frozenset(" \t.,[]$@{}\n")
"""What a name ends at, unless a backslash stands before it."""
_INDEX = re.compile(r"(-?\d{0,9})(:-?\d{0,9})?(:-?\d{0,9})?")
_NUMBER = re.compile(r"[+-]?[\d.]*")
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\(?:([abfnrtv\\'\"])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse(text: str) -> Template:
    """Raises TemplateError."""
    reader = _Reader(text)
    return _template(reader, depth=0)


class _Reader:
    """A text and how far it was read."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    def starts(self, what: str) -> bool:
        return self.text.startswith(what, self.at)

    def skip_blanks(self) -> None:
        while self.peek() in (" ", "\t"):
            self.at += 1

    def error(self, message: str, at: int | None = None) -> TemplateError:
        return TemplateError(f"{message} (at character {(self.at if at is None else at) + 1})")


def _template(reader: _Reader, *, depth: int) -> Template:
    """Up to the end of the text, or to the `{end}` of the loop that this is the body of. `depth`: loops around it."""
    if depth > _DEEPEST:
        raise reader.error(f"more than {_DEEPEST} ranges inside each other")
    parts: list[str | Chain | Loop] = []
    while reader.peek():
        brace = reader.text.find("{", reader.at)
        if brace != reader.at:
            end = len(reader.text) if brace < 0 else brace
            parts.append(reader.text[reader.at : end])
            reader.at = end
            continue
        start = reader.at
        word = _keyword(reader)
        if word == "end":
            if not depth:
                raise reader.error("{end} without {range}", start)
            return tuple(parts)
        chain = _action(reader, start)
        if word == "range":
            parts.append(Loop(chain, _template(reader, depth=depth + 1)))
        else:
            parts.append(chain)
    if depth:
        raise reader.error("{range} without {end}")
    return tuple(parts)


def _keyword(reader: _Reader) -> str:
    """`range` or `end` at the beginning of an action, read over together with the brace; else "", only the brace."""
    start = reader.at
    reader.at += 1
    reader.skip_blanks()
    word = _WORD.match(reader.text, reader.at)
    if word is None or word.group() not in ("range", "end"):
        return ""
    reader.at = word.end()
    if word.group() == "end":
        reader.skip_blanks()
        if reader.peek() != "}":
            raise reader.error("{end} takes nothing", start)
        reader.at += 1
    return word.group()


def _action(reader: _Reader, start: int) -> Chain:
    """The links up to the closing brace."""
    links: list[Link] = []
    while True:
        reader.skip_blanks()
        char = reader.peek()
        if char in ("", "\n"):
            raise reader.error("a brace is not closed", start)
        if char == "}":
            reader.at += 1
            return tuple(links)
        links.extend(_link(reader, links))


def _chain(text: str, outside: _Reader, start: int) -> Chain:
    """A chain that stands inside another: the sides of a filter."""
    try:
        return _action(_Reader(text + "}"), 0)
    except TemplateError as error:
        raise outside.error(f"in {text.strip()!r}: {str(error).rpartition(' (')[0]}", start) from None


def _link(reader: _Reader, before: list[Link]) -> tuple[Link, ...]:
    char = reader.peek()
    if char in "@$":
        reader.at += 1
        return ()
    if reader.starts("[?("):
        return (_filter(reader),)
    if char == "[":
        return (_bracket(reader),)
    if reader.starts(".."):
        if before and isinstance(before[-1], Descend):
            raise reader.error("'..' twice in a row")
        reader.at += 2
        return (Descend(), _name(reader)) if _WORD.match(reader.text, reader.at) else (Descend(),)
    if char == ".":
        reader.at += 1
        return (_name(reader),)
    if char in "\"'":
        return (Literal(_quoted(reader)),)
    if char in "+-" or char.isdigit():
        return (Literal(_number(reader)),)
    word = _WORD.match(reader.text, reader.at)
    if word is None:
        raise reader.error(f"{char!r} has no meaning inside braces")
    if word.group() not in ("true", "false"):
        raise reader.error(f"{word.group()!r} is no path (write .{word.group()})")
    reader.at = word.end()
    return (Literal(word.group() == "true"),)


def _name(reader: _Reader) -> Name | Every:
    start, name = reader.at, ""
    while (char := reader.peek()) and char not in _ENDS:
        if char == "\\":
            reader.at += 1
            char = reader.peek()
        name += char
        reader.at += 1
    if reader.at == start:
        raise reader.error("a name is missing after '.'")
    return Every() if reader.text[start : reader.at] == "*" else Name(name)


def _number(reader: _Reader) -> int | float:
    match = _NUMBER.match(reader.text, reader.at)
    text = match.group() if match else ""
    try:
        value: int | float = float(text) if "." in text else int(text)
    except ValueError:
        raise reader.error(f"{text!r} is no number") from None
    reader.at += len(text)
    return value


def _quoted(reader: _Reader) -> str:
    start, quote = reader.at, reader.peek()
    end = start + 1
    while end < len(reader.text) and reader.text[end] not in (quote, "\n"):
        end += 2 if reader.text[end] == "\\" else 1
    if reader.text[end : end + 1] != quote:
        raise reader.error("a quoted text is not closed", start)
    reader.at = end + 1

    def meant(escape: re.Match[str]) -> str:
        simple, byte, code, other = escape.groups()
        if other is not None:
            raise reader.error(f"\\{other} is no escape", start)
        return _SIMPLE.get(simple, simple) if simple else chr(int(byte or code, 16))

    return _ESCAPE.sub(meant, reader.text[start + 1 : end])


def _bracket(reader: _Reader) -> Link:
    """`[…]`: one selector, or several between commas."""
    start = reader.at
    reader.at += 1
    links: list[Link] = []
    while True:
        reader.skip_blanks()
        if reader.peek() in ("'", '"'):
            links.append(Name(_quoted(reader)))
        else:
            end = next((i for i in range(reader.at, len(reader.text)) if reader.text[i] in "],}\n"), len(reader.text))
            links.append(_index(reader, reader.text[reader.at : end].strip()))
            reader.at = end
        reader.skip_blanks()
        char = reader.peek()
        if char not in (",", "]"):
            raise reader.error("a bracket is not closed", start)
        reader.at += 1
        if char == "]":
            return links[0] if len(links) == 1 else Union(tuple((link,) for link in links))


def _index(reader: _Reader, text: str) -> IndexRange:
    if text == "*":
        return IndexRange()
    match = _INDEX.fullmatch(text)
    if match is None or any(part in ("-", ":-") for part in match.groups()):
        raise reader.error(f"{text!r} is neither an index nor a quoted name")
    first, second, third = match.groups()
    if second is None:
        return IndexRange(int(first or 0), single=True)
    start, end, step = (int(part.lstrip(":")) if part and part != ":" else None for part in (first, second, third))
    if step is not None and step <= 0:
        raise reader.error("the step of a slice must be greater than 0")
    return IndexRange(start, end, step)


def _filter(reader: _Reader) -> Filter:
    """`[?(left operator right)]` or `[?(left)]`."""
    start = reader.at
    reader.at += 3
    begin, operator, split = reader.at, "", 0
    while not reader.starts(")]"):
        if reader.peek() in ("", "\n"):
            raise reader.error("a filter is not closed", start)
        if reader.peek() in ("'", '"'):
            _quoted(reader)
            continue
        sign = _SIGNS.match(reader.text, reader.at)
        if sign is None:
            reader.at += 1
            continue
        if operator:
            raise reader.error("a filter has one comparison only")
        if sign.group() not in OPERATORS:
            raise reader.error(f"{sign.group()!r} is no comparison ({', '.join(OPERATORS)} are)")
        operator, split = sign.group(), reader.at
        reader.at = sign.end()
    text = reader.text[begin : reader.at]
    reader.at += 2
    if not operator:
        return Filter(_chain(text, reader, start))
    left, right = text[: split - begin], text[split - begin + len(operator) :]
    if not left.strip() or not right.strip():
        raise reader.error("a comparison needs two sides", start)
    return Filter(_chain(left, reader, start), operator, _chain(right, reader, start))
