"""From a stream of events to values, with every cap that keeps hostile input small.

One pass, no recursion: a document nested ten thousand deep must end as a message, not as a dead process. What aliases
would add is counted in bytes *before* it is used, so ten lines of "billion laughs" stop after a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong at a place of a text. Lines and columns count from 1."""

    line: int
    column: int
    message: str
    hint: str = ""
    warning: bool = False
    beyond: bool = False
    """A cap was reached: whatever else the text is, it is too much."""
    quotes: bool = True
    """Words of the text stand in the message or the hint, as far as anybody can tell."""
    ends: bool = False
    """Nothing behind it could be read; else the document is whole but for this value."""


class YamlError(ValueError):
    """A text that cannot be read, for callers that want one value or none."""

    def __init__(self, fault: Fault) -> None:
        hint = f" ({fault.hint})" if fault.hint else ""
        super().__init__(f"{fault.line}:{fault.column}: {fault.message}{hint}")
        self.fault = fault


class Stop(Exception):
    """Reading cannot go on behind this fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


@dataclass(frozen=True, slots=True)
class YamlLimits:
    """Caps of one file. Kubernetes takes no object above 1.5 MB, so nothing legitimate comes near them."""

    documents: int = 10_000
    depth: int = 100
    scalar: int = 1_500_000
    """characters"""
    aliased: int = 2_000_000
    """bytes that aliases may add, about"""
    faults: int = 100


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its value and where it starts. Empty ones are kept so that positions in the list are theirs."""

    value: Any
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class Stream:
    documents: tuple[Document, ...]
    faults: tuple[Fault, ...]
    """Sorted by place."""

    @property
    def usable(self) -> bool:
        return all(fault.warning for fault in self.faults)


YamlEvent: TypeAlias = tuple[str, int, int, Any, str, str | None, Fault | None]
"""kind, line, column, resolved value, text as written, anchor, what is wrong with it.
Kinds: document, end document, map, list, end, scalar, alias."""

MERGE: Any = type("Merge", (), {"__repr__": lambda self: "<<"})()
"""The value of an unquoted `<<`."""
_NO_KEY: Any = object()
_NODE = 8  # bytes that any node counts at least


class _Frame:
    """An unfinished mapping or list."""

    __slots__ = ("anchor", "key", "key_line", "lines", "merged", "value", "weight")

    def __init__(self, value: Any, anchor: str | None, weight: int) -> None:
        self.value = value
        self.anchor = anchor
        self.weight = weight
        self.key: Any = _NO_KEY
        self.key_line = 0
        self.lines: dict[str, int] = {}
        self.merged: list[dict[str, Any]] = []


def build(events: Iterable[YamlEvent], limits: YamlLimits, *, lenient: bool = False) -> Stream:
    """The values of a stream of events. `lenient`: a repeated key is no fault, the last one wins."""
    builder = _Builder(limits, lenient)
    try:
        builder.read(events)
    except Stop as stop:
        builder.faults.append(replace(stop.fault, ends=True))
    return Stream(tuple(builder.documents), tuple(sorted(builder.faults)))


class _Builder:
    def __init__(self, limits: YamlLimits, lenient: bool) -> None:
        self.limits = limits
        self.lenient = lenient
        self.documents: list[Document] = []
        self.faults: list[Fault] = []
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.weight = 0
        self.aliased = 0
        self.start = (1, 1)

    def read(self, events: Iterable[YamlEvent]) -> None:
        limits = self.limits
        stack = self.stack
        longest = limits.scalar
        for kind, line, column, value, text, anchor, note in events:
            if kind == "scalar":
                self.weight += _NODE + len(text)
                if len(text) > longest:
                    raise Stop(Fault(line, column, f"a text of more than {longest} characters", beyond=True))
                if anchor is not None:
                    self.anchors[anchor] = (value, _NODE + len(text))
                self.add(value, line, column, text, note)
            elif kind == "map" or kind == "list":
                self.weight += _NODE
                if len(stack) >= limits.depth:
                    raise Stop(_too_deep(line, column, limits))
                if note:
                    self.fault(note)
                if stack and type(stack[-1].value) is dict and stack[-1].key is _NO_KEY:
                    raise Stop(Fault(line, column, "a mapping or list cannot be a key", quotes=False))
                if not stack:
                    self.start = (line, column)
                if anchor is not None:
                    self.anchors[anchor] = (_NO_KEY, 0)
                stack.append(_Frame({} if kind == "map" else [], anchor, self.weight))
            elif kind == "end":
                frame = stack.pop()
                for merged in frame.merged:
                    for key, member in merged.items():
                        frame.value.setdefault(key, member)
                if frame.anchor is not None:
                    self.anchors[frame.anchor] = (frame.value, self.weight - frame.weight + _NODE)
                self.add(frame.value, 0, 0, "", None)
            elif kind == "alias":
                self.add(self.repeated(anchor or "", line, column), line, column, "*", None)
            elif kind == "document":
                if len(self.documents) >= limits.documents:
                    raise Stop(Fault(line, column, f"more than {limits.documents} documents in one file", beyond=True))
                self.anchors.clear()
                self.start = (line, column)

    def add(self, value: Any, line: int, column: int, text: str, note: Fault | None) -> None:
        """Put a finished value where it belongs."""
        if not self.stack:
            if note:
                self.fault(note)
            if line:
                self.start = (line, column)
            self.documents.append(Document("<<" if value is MERGE else value, *self.start))
            return
        frame = self.stack[-1]
        container = frame.value
        if type(container) is list:
            if note:
                self.fault(note)
            container.append("<<" if value is MERGE else value)
        elif frame.key is _NO_KEY:
            if type(value) is not str and value is not MERGE:
                value = self.key_text(value, line, column, text, note)
            elif note:
                self.fault(note)
            frame.key = value
            frame.key_line = line
            if value is not MERGE:
                if value in frame.lines and not self.lenient:
                    message = f"the key {value} stands twice"
                    self.fault(Fault(line, column, message, f"first on line {frame.lines[value]}"))
                frame.lines[value] = line
        else:
            key, frame.key = frame.key, _NO_KEY
            if key is MERGE:
                self.merge(frame, value, frame.key_line, column or 1)
                return
            if note:
                self.fault(note)
            container[key] = "<<" if value is MERGE else value

    def key_text(self, value: Any, line: int, column: int, text: str, note: Fault | None) -> str:
        """The text of a key that is not text. Kubernetes: YAML keys become JSON member names."""
        if value is None or isinstance(value, dict | list):
            if note and not note.warning:
                self.fault(note)
            else:
                self.fault(Fault(line, column, "a key must be text", "quote it"))
            return text or "null"
        name = ("true" if value else "false") if isinstance(value, bool) else str(value)
        if name != text:
            self.fault(Fault(line, column, f"the key {text} is read as {name}", f'write "{text}" or {name}', True))
        return name

    def repeated(self, anchor: str, line: int, column: int) -> Any:
        if anchor not in self.anchors:
            raise Stop(Fault(line, column, f"the alias *{anchor} has no anchor before it"))
        value, weight = self.anchors[anchor]
        if value is _NO_KEY:
            raise Stop(Fault(line, column, f"the alias *{anchor} stands inside the value it names"))
        self.weight += weight
        self.aliased += weight
        if self.aliased > self.limits.aliased:
            raise Stop(
                Fault(
                    line, column, f"aliases expand to more than {self.limits.aliased} bytes", beyond=True, quotes=False
                )
            )
        if _depth_exceeds(value, self.limits.depth - len(self.stack)):
            raise Stop(_too_deep(line, column, self.limits))
        return value

    def merge(self, frame: _Frame, value: Any, line: int, column: int) -> None:
        """`<<: map` or `<<: [map, …]`: members that the mapping does not have itself; earlier maps win."""
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in maps):
            self.fault(Fault(line, column, "the merge key << needs a mapping or a list of mappings"))
            return
        frame.merged.extend(maps)

    def fault(self, fault: Fault) -> None:
        if len(self.faults) >= self.limits.faults:
            raise Stop(Fault(fault.line, fault.column, f"more than {self.limits.faults} faults in one file"))
        self.faults.append(fault)


def _too_deep(line: int, column: int, limits: YamlLimits) -> Fault:
    return Fault(line, column, f"nested more than {limits.depth} levels deep", beyond=True, quotes=False)


def _depth_exceeds(value: Any, allowed: int) -> bool:
    """Whether an aliased value is deeper than `allowed`. Level by level; a shared value counts once per level."""
    level = [value] if isinstance(value, dict | list) else []
    while level:
        if allowed <= 0:
            return True
        allowed -= 1
        below: dict[int, Any] = {}
        for container in level:
            for member in container.values() if isinstance(container, dict) else container:
                if isinstance(member, dict | list):
                    below[id(member)] = member
        level = list(below.values())
    return False
