"""Changing one document of a file that people wrote: comments, quotes, order and every other document stay.

`yaml` reads for deciding and writes canonically; this is for the commands that change desired state. YAML goes through
ruamel.yaml's round trip, one document at a time, with the indentation that the document has; JSON through the standard
library. Text in, text out.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML

Change = Callable[[Any], None]
"""Changes a document, mappings and lists, in place."""

_MARK = re.compile(r"^(---|\.\.\.)(\s|$)")


def change(text: str, line: int, how: Change) -> str:
    """The text with the document around `line` (from 1) changed."""
    if text.lstrip().startswith(("{", "[")):
        return _change_json(text, how)
    lines = text.splitlines(keepends=True)
    first, last = _document(lines, line)
    before = "".join(lines[first:last])
    return "".join(lines[:first]) + _change_yaml(before, how) + "".join(lines[last:])


def remove(text: str, line: int) -> str:
    """The text without the document around `line`; "" when it was the only one."""
    lines = text.splitlines(keepends=True)
    first, last = _document(lines, line)
    if text.lstrip().startswith(("{", "[")):
        return ""
    rest = lines[:first] + lines[last:]
    while rest and _MARK.match(rest[-1]):
        rest.pop()
    if first == 0 and rest and _MARK.match(rest[0]):
        rest.pop(0)
    # Two marks in a row would leave an empty document behind.
    kept = [each for n, each in enumerate(rest) if not (n and _MARK.match(each) and _MARK.match(rest[n - 1]))]
    return "" if all(not each.strip() or each.lstrip().startswith("#") for each in kept) else "".join(kept)


def _document(lines: list[str], line: int) -> tuple[int, int]:
    """First line and end of a document, without its marks."""
    first = line - 1
    while first > 0 and not _MARK.match(lines[first - 1]):
        first -= 1
    last = line
    while last < len(lines) and not _MARK.match(lines[last]):
        last += 1
    if first < len(lines) and _MARK.match(lines[first]):
        first += 1
    return first, last


def _change_yaml(text: str, how: Change) -> str:
    round_trip = YAML(typ="rt", pure=True)
    round_trip.preserve_quotes = True
    round_trip.width = 1 << 20
    mapping, dash = _indentation(text)
    round_trip.indent(mapping=mapping, sequence=dash + 2, offset=dash)
    document = round_trip.load(text)
    how(document)
    out = io.StringIO()
    round_trip.dump(document, out)
    changed = out.getvalue()
    return changed if text.endswith("\n") or not text else changed.removesuffix("\n")


def _indentation(text: str) -> tuple[int, int]:
    """How deep a mapping inside a mapping stands, and a dash below its key. Two and two where nothing tells."""
    mapping = dash = None
    key = None
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if key is not None:
            if line.lstrip().startswith("- "):
                dash = indent - key if dash is None else dash
            elif indent > key:
                mapping = indent - key if mapping is None else mapping
        key = indent if re.search(r":\s*(#.*)?$", line) and not line.lstrip().startswith("- ") else None
    return mapping or 2, 2 if dash is None else max(dash, 0)


def _change_json(text: str, how: Change) -> str:
    document = json.loads(text)
    how(document)
    indented = re.search(r"\n([ \t]+)\S", text)
    indent = indented[1] if indented else None
    separators = (",", ": ") if indent is not None else ((", ", ": ") if '": ' in text else (",", ":"))
    return json.dumps(document, indent=indent, ensure_ascii=False, separators=separators) + (
        "\n" if text.endswith("\n") else ""
    )
