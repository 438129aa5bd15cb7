"""YAML and JSON as Kubernetes reads them: strict, with positions, and bounded however hostile the bytes are.

The parser of libyaml delivers events; values are built here, so that an alias bomb or a nesting bomb is stopped while
it is being read, duplicate keys are found, and every fault has a line and a column. JSON files take the same path
(`text/json.py` delivers the same events). What an unquoted word means is `text/scalars.py`'s business; whether a
document is a sensible object is `source/`'s.

Nothing is raised for bad text: `parse` returns what could be read and a list of faults. `load_all` and
`load_one_lenient` are for callers that want a value or an exception.

This is the only module that imports PyYAML.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import yaml
from yaml._yaml import CParser

from gitfed.text import json, scalars
from gitfed.text.construct import Document as Document
from gitfed.text.construct import Fault, Stop, Stream, YamlError, YamlEvent, build
from gitfed.text.construct import YamlLimits as YamlLimits
from gitfed.text.emit import dump as dump
from gitfed.text.emit import dump_both as dump_both
from gitfed.text.emit import dump_many as dump_many
from gitfed.text.positions import Position as Position
from gitfed.text.positions import place_tree

DEFAULT_LIMITS = YamlLimits()

_TAG = "tag:yaml.org,2002:"
_TOO_DEEP = "exceeded maximum nesting depth"
"""What libyaml says of what is nested some thousand levels deep, from version 0.2.6 on."""
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "null": (type(None),),
}


def parse(data: bytes, *, limits: YamlLimits = DEFAULT_LIMITS, is_json: bool = False) -> Stream:
    """Every document of a file, and everything that is wrong with it. Never raises for bad content.

    Values are plain JSON: dicts with text keys, lists, text, ints of 64 bits, finite floats, bools, None. Values that
    an alias repeats are shared between their places and must not be changed. A fault that is not a warning means that
    the file cannot be used; documents before it are still there for messages.
    """
    return build(_events(data, is_json), limits)


def load_all(data: bytes, *, limits: YamlLimits = DEFAULT_LIMITS) -> list[Any]:
    """The documents' values without empty ones. Raises `YamlError` with `line:column: message` on the first fault."""
    stream = parse(data, limits=limits)
    _raise_first(stream.faults)
    return [document.value for document in stream.documents if document.value is not None]


def load_one_lenient(text: str) -> Any:
    """The first document of a text inside a manifest, as Karmada's fieldOverrider reads it. Raises `YamlError`.

    Of repeated keys the last wins and further documents are not looked at (Karmada: field overriders); the caps are
    those of files.
    """
    stream = build(_first_document(_events(text.encode("utf-8", "surrogatepass"), False)), DEFAULT_LIMITS, lenient=True)
    _raise_first(stream.faults)
    return stream.documents[0].value if stream.documents else None


def places(data: bytes, *, is_json: bool = False) -> tuple[Position, ...]:
    """One tree of positions per document, for a file that `parse` accepted. Costs a second parse: for messages only."""
    return place_tree(_events(data, is_json))


def locate(data: bytes, document: int, path: tuple[str | int, ...], *, is_json: bool = False) -> tuple[int, int]:
    """Line and column, from 1, of the key (or list item) at `path`, or of the nearest ancestor that exists."""
    trees = places(data, is_json=is_json)
    return trees[document].at(path) if document < len(trees) else (1, 1)


def _raise_first(faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        if not fault.warning:
            raise YamlError(fault)


def _first_document(events: Iterator[YamlEvent]) -> Iterator[YamlEvent]:
    for event in events:
        yield event
        if event[0] == "end document":
            return


def _events(data: bytes, is_json: bool) -> Iterator[YamlEvent]:
    text = _decoded(data)
    yield from json.events(text) if is_json else _yaml_events(text)


def _decoded(data: bytes) -> str:
    """UTF-8 or, with its mark, UTF-16 or UTF-32, as libyaml and Windows editors would have it."""
    encoding = "utf-8"
    for mark, name in (
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            encoding = name
            break
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        before = data[: problem.start].decode(encoding, "replace")
        raise Stop(Fault(*_end_of(before), f"not {encoding.upper()} text", "save the file as UTF-8")) from None
    return text.removeprefix("\ufeff")


def _end_of(text: str) -> tuple[int, int]:
    """Line and column behind a text."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _yaml_events(text: str) -> Iterator[YamlEvent]:
    """libyaml's events as plain tuples. Raises `Stop` at the first syntax error."""
    try:
        try:
            yield from _tuples(CParser(text).get_event)
        except yaml.MarkedYAMLError as problem:
            if problem.problem != _TOO_DEEP:
                raise
            # libyaml looks ahead, and gives up before it delivers the level at which `build` does, which has a place.
            yield from islice(_tuples(yaml.SafeLoader(text).get_event), _delivered(text), None)
    except yaml.reader.ReaderError as problem:
        # The position counts bytes of UTF-8.
        before = text.encode("utf-8", "surrogatepass")[: problem.position].decode("utf-8", "ignore")
        message = f"the character U+{problem.character:04X} is not allowed in YAML"
        raise Stop(Fault(*_end_of(before), message, "write it as an escape in double quotes")) from None
    except yaml.MarkedYAMLError as problem:
        raise Stop(_syntax(problem, text)) from None


def _delivered(text: str) -> int:
    """How many events libyaml delivers of what is too deep for it."""
    number, events = 0, CParser(text)
    with contextlib.suppress(yaml.MarkedYAMLError):
        while events.get_event() is not None:
            number += 1
    return number


def _tuples(get_event: Callable[[], Any]) -> Iterator[YamlEvent]:
    while (event := get_event()) is not None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            mark = event.start_mark
            value, note = _scalar(event, mark.line + 1, mark.column + 1)
            yield "scalar", mark.line + 1, mark.column + 1, value, event.value, event.anchor, note
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            name, tag = ("map", "map") if kind is yaml.MappingStartEvent else ("list", "seq")
            mark = event.start_mark
            note = None
            if event.tag not in (None, "!", _TAG + tag):
                note = _bad_tag(event.tag, mark.line + 1, mark.column + 1)
            yield name, mark.line + 1, mark.column + 1, None, "", event.anchor, note
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            yield "end", 0, 0, None, "", None, None
        elif kind is yaml.AliasEvent:
            mark = event.start_mark
            yield "alias", mark.line + 1, mark.column + 1, None, "", event.anchor, None
        elif kind is yaml.DocumentStartEvent:
            mark = event.start_mark
            yield "document", mark.line + 1, mark.column + 1, None, "", None, None
        elif kind is yaml.DocumentEndEvent:
            yield "end document", 0, 0, None, "", None, None


def _syntax(problem: yaml.MarkedYAMLError, text: str) -> Fault:
    mark = problem.problem_mark or problem.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    said = problem.problem or "unreadable"
    if mark and mark.index < len(text) and text[mark.index] == "\t":
        return Fault(line, column, "a tab cannot indent YAML", "use spaces")
    context = f" {problem.context}" if problem.context else ""
    return Fault(line, column, f"not valid YAML: {said}{context}", quotes=False)


def _scalar(event: Any, line: int, column: int) -> tuple[Any, Fault | None]:
    tag, text = event.tag, event.value
    if tag is None:
        if not event.implicit[0]:
            return text, None
        return _plain(text, line, column)
    if tag in ("!", _TAG + "str", _TAG + "timestamp"):
        return text, None
    name = tag.removeprefix(_TAG)
    if name == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode(), None
        except ValueError:  # no base64, no ASCII, or no UTF-8
            return None, Fault(line, column, "!!binary does not hold base64 of UTF-8 text")
    if name in _TYPES:
        value, note = _plain(text, line, column)
        if note is None and (type(value) not in _TYPES[name]):
            note = Fault(line, column, f"{_shown(text)} is not of type !!{name}")
        return value, note
    return None, _bad_tag(tag, line, column)


def _plain(text: str, line: int, column: int) -> tuple[Any, Fault | None]:
    try:
        value = scalars.resolve(text)
    except scalars.NotFinite:
        return None, Fault(line, column, f"{_shown(text)} is not a number that JSON can hold", "quote it if it is text")
    if text == "<<":
        return json.MERGE, None
    if isinstance(value, bool) and text in scalars.SURPRISING:
        meaning = "true" if value else "false"
        return value, Fault(line, column, f"{text} is read as {meaning}", f'write {meaning} or "{text}"', warning=True)
    return value, None


def _bad_tag(tag: str, line: int, column: int) -> Fault:
    shown = "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
    return Fault(line, column, f"the tag {_shown(shown)} is not supported", "remove it")


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
