"""Manifests on the screen: masked, as YAML, compared line by line.

Secrets are masked by `change.redact`, before a text is made of them; what cannot be seen can still be seen to differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from gitfed.change import redact
from gitfed.cli import plain
from gitfed.model.base import Body
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
        one, other = before.get(member), after.get(member)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            differing = {name for name in one.keys() & other.keys() if one[name] != other[name]}
            old = {**old, member: {**dict.fromkeys(one, redact.MASK), **dict.fromkeys(differing, redact.BEFORE)}}
            new = {**new, member: {**dict.fromkeys(other, redact.MASK), **dict.fromkeys(differing, redact.AFTER)}}
    return old, new


def text(body: Body | None) -> str:
    """YAML; nothing for an object that is not there."""
    return "" if body is None else yaml.dump(body)


def unified(before: str, after: str, old: str, new: str) -> list[str]:
    """A unified diff without line ends; empty when there is no difference."""
    return [
        line.rstrip("\n")
        for line in difflib.unified_diff(before.splitlines(True), after.splitlines(True), old, new, n=3)
    ]


def painted(line: str, paint: plain.Paint) -> str:
    line = plain.clean_lines(line)
    if line.startswith(("---", "+++")):
        return paint.strong(line)
    if line.startswith("@@"):
        return paint.place(line)
    return paint.added(line) if line.startswith("+") else paint.removed(line) if line.startswith("-") else line


def painted_all(lines: Sequence[str], paint: plain.Paint) -> list[str]:
    return [painted(line, paint) for line in lines]
