"""Placeholders of recorded conversations: bound to a value at their first appearance, held to it from then on.

``<uid:1>``, ``<rv:2>``, ``<time:3>``… stand for values of the server's choice. Comparing never renumbers answers; it
walks the expected text and the real one together and binds. Every comparison works on a copy of the table, so that an
attempt that fails binds nothing.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Final

_NUMBERED: Final = re.compile(r"<(uid|rv|time|name|continue|ip|nodePort|token|etag):\d+>")
_ANY: Final = re.compile(r"<(?:(?:uid|rv|time|name|continue|ip|nodePort|token|etag):\d+|age|number|host)>")
_FILL: Final = re.compile(r"<fill:(.):(\d+)>")
_SHAPES: Final = {
    "uid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "rv": r"[0-9]+",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
    "name": r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
    "continue": r"[A-Za-z0-9_-]+",
    "ip": r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+",
    "nodePort": r"[0-9]+",
    "token": r"[\w-]+\.[\w-]+\.[\w-]+",
    "etag": r'"[^"]*"',
    "age": r"(?:[0-9]+[smhdy])+",
    "number": r"[0-9]+",
    "host": r"[^\s\"]+",
}

Table = dict[str, str]


def expanded(text: str) -> str:
    """``<fill:x:3>`` → ``xxx``."""
    return _FILL.sub(lambda found: found[1] * int(found[2]), text)


def filled(value: Any, table: Table) -> Any:
    """A request with everything put in. ``KeyError`` for a placeholder that nothing has bound yet."""
    if isinstance(value, str):
        return expanded(_NUMBERED.sub(lambda found: table[found[0]], value))
    if isinstance(value, dict):
        return {filled(key, table): filled(item, table) for key, item in value.items()}
    return [filled(item, table) for item in value] if isinstance(value, list) else value


def match_text(expected: str, actual: str, table: Table) -> bool:
    """Whether a text fits; binds in ``table`` if it does."""
    if "<" not in expected:
        return expected == actual
    pattern, names, at = "", [], 0
    expected = expanded(expected)
    for found in _ANY.finditer(expected):
        pattern += re.escape(expected[at : found.start()])
        at = found.end()
        token = found[0]
        kind = token[1:-1].partition(":")[0]
        if token in table:
            pattern += re.escape(table[token])
        elif token in names:
            pattern += f"(?P=p{names.index(token)})"
        elif ":" in token:
            pattern += f"(?P<p{len(names)}>{_SHAPES[kind]})"
            names.append(token)
        else:
            pattern += f"(?:{_SHAPES[kind]})"
    fits = re.fullmatch(pattern + re.escape(expected[at:]), actual, re.DOTALL)
    if fits is None:
        return False
    for index, token in enumerate(names):
        table[token] = fits[f"p{index}"]
    return True


def order_errors(table: Table) -> list[str]:
    """At the end of a scenario: versions strictly rise with their numbers, times never fall, uids differ."""
    errors: list[str] = []
    for kind, key in (("rv", int), ("time", str)):
        numbered = sorted(
            (int(token[1:-1].partition(":")[2]), token) for token in table if token.startswith(f"<{kind}:")
        )
        for (_, one), (_, other) in itertools.pairwise(numbered):
            before, after = key(table[one]), key(table[other])
            if before > after or (kind == "rv" and before == after):
                errors.append(f"{one} is {table[one]} but {other} is {table[other]}")
    uids: dict[str, str] = {}
    for token, value in table.items():
        if token.startswith("<uid:") and uids.setdefault(value, token) != token:
            errors.append(f"{token} and {uids[value]} are both {value}")
    return errors
