"""Manifests on the screen: masked, as YAML, compared line by line.

Secrets are masked by `planning.objects.redact`, before a text is made of them; what cannot be seen can still be seen
to differ.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from gitfed.cli.output import plain
from gitfed.model.base import Body
from gitfed.planning.objects import redact
from gitfed.text import yaml


def masked(before: Body | None, after: Body | None) -> tuple[Body | None, Body | None]:
    """Both sides as they may be shown: in a Secret, different values of one key have different masks."""
    hidden = redact.masked(before) if before else None, redact.masked(after) if after else None
    if not before or not after or not (redact.is_secret(before) or redact.is_secret(after)):
        return hidden
    old, new = hidden
    assert old is not None
    assert new is not None
    for member in ("data", "stringData"):
        old_values, new_values = before.get(member), after.get(member)
        if isinstance(old_values, Mapping) and isinstance(new_values, Mapping):
            differing = {name for name in old_values.keys() & new_values.keys() if old_values[name] != new_values[name]}
            old = {**old, member: {**dict.fromkeys(old_values, redact.MASK), **dict.fromkeys(differing, redact.BEFORE)}}
            new = {**new, member: {**dict.fromkeys(new_values, redact.MASK), **dict.fromkeys(differing, redact.AFTER)}}
    return old, new


def text(body: Body | None) -> str:
    """YAML; nothing for an object that is not there."""
    return "" if body is None else yaml.dump(body)


def compared(before: Body | None, after: Body | None) -> list[str]:
    """`hunks` of two manifests."""
    both = (text(before), text(after)) if before is None or after is None else yaml.dump_both(before, after)
    return hunks(*both)


def hunks(before: str, after: str) -> list[str]:
    """A unified diff without titles, where each `@@` line says which field its first change is in."""
    old, new = before.splitlines(), after.splitlines()
    lines = (
        _only_hunk(old, new)
        or [line.rstrip("\n") for line in difflib.unified_diff(old, new, lineterm="", n=_CONTEXT)][2:]
    )
    return [
        _with_place(line, lines[index + 1 :], old, new) if line.startswith("@@") else line
        for index, line in enumerate(lines)
    ]


def _only_hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Where one place differs and no line of it is on both sides, as most often: without comparing all with all."""
    first = _alike(old, new)
    last = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - first)
    gone, come = old[first : len(old) - last], new[first : len(new) - last]
    if not (gone or come) or not set(gone).isdisjoint(come):
        return []
    begin = max(0, first - _CONTEXT)
    after = min(last, _CONTEXT)
    sizes = [first - begin + len(middle) + after for middle in (gone, come)]
    return [
        f"@@ -{_range(begin, sizes[0])} +{_range(begin, sizes[1])} @@",
        *(f" {line}" for line in old[begin:first]),
        *(f"-{line}" for line in gone),
        *(f"+{line}" for line in come),
        *(f" {line}" for line in old[first + len(gone) : first + len(gone) + after]),
    ]


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at their beginning are the same."""
    both = zip(old, new, strict=False)
    return next((number for number, (a, b) in enumerate(both) if a != b), min(len(old), len(new)))


def _range(begin: int, size: int) -> str:
    """Of lines that are counted from 0, as unified diffs write it."""
    return str(begin + 1) if size == 1 else f"{begin + 1 if size else begin},{size}"


_CONTEXT = 3
_RANGE = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def _with_place(header: str, following: Sequence[str], old: Sequence[str], new: Sequence[str]) -> str:
    match = _RANGE.match(header)
    if match is None or not old or not new:
        return header
    index = next((index for index, line in enumerate(following) if line[:1] in "+-" and line), 0)
    side, start = (new, match[2]) if following[index].startswith("+") else (old, match[1])
    place = place_of(side, int(start) - 1 + index)
    return f"{header} {place}" if place else header


_TOKEN = re.compile(r"( *)((?:- )*)(?:([^\s#'\"\[\]{}][^:]*|\"[^\"]*\"):(?= |$))?")


def place_of(lines: Sequence[str], index: int) -> str:
    """The field that a line of block YAML is in: `spec.template.spec.containers[web].image`.

    Read from the indentation alone, so it costs what is above the line and not a parse; list items are called by their
    name where they have one.
    """
    parts: list[str] = []
    limit = 1 << 30
    item = False  # whether the last part was an item of a list, whose key may stand in the same column
    for number in range(index, -1, -1):
        line = lines[number]
        if len(line) - len(line.lstrip(" ")) > limit:
            continue  # inside of something that stands beside the way
        match = _TOKEN.match(line)
        if match is None or not line.strip():
            continue
        start, dashes, key = len(match[1]), len(match[2]) // 2, match[3]
        column = start + 2 * dashes
        if key is not None and (column < limit or (item and column == limit)):
            parts.append(key)
            limit, item = column, False
        elif number == index:
            limit = column
        for dash in range(dashes - 1, -1, -1):
            column = start + 2 * dash
            if column < limit:
                parts.append(f"[{_called(lines, number, column)}]")
                limit, item = column, True
        if limit == 0 and not item:
            break
    text = ""
    for part in reversed(parts):
        text += part if part.startswith("[") or not text else f".{part}"
    return text


def _called(lines: Sequence[str], number: int, column: int) -> str:
    """The name of a list's item, else its number."""
    for line in lines[number:]:
        inner = line[column + 2 :] if line[:column].strip() == "" else ""
        if line is not lines[number] and not line.startswith(" " * (column + 1)):
            break
        if inner.startswith("name: "):
            return inner.removeprefix("name: ").strip("'\"")[:40]
    before = 0
    for line in reversed(lines[:number]):
        if len(line) - len(line.lstrip(" ")) < column or not line.startswith(" " * column):
            break
        if line[column : column + 2] == "- ":
            before += 1
        elif line[column : column + 1] != " ":
            break
    return str(before)


def painted(line: str, paint: plain.Paint) -> str:
    line = plain.clean_lines(line)
    if line.startswith(("---", "+++")):
        return paint.strong(line)
    if line.startswith("@@"):
        return paint.place(line)
    return paint.added(line) if line.startswith("+") else paint.removed(line) if line.startswith("-") else line


def painted_all(lines: Sequence[str], paint: plain.Paint) -> list[str]:
    return [painted(line, paint) for line in lines]
