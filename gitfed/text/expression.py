"""Regular expressions of users, matched by RE2: in time proportional to the text, whatever the expression.

The standard library's engine tries every way to match, which for some thirty letters takes hours, and nothing else in
the process runs meanwhile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

_LONGEST: Final = 200
_LONGEST_PATTERN: Final = 4000
_MEMORY: Final = 1 << 20
"""Bytes that RE2 may use for one expression: a repeated repetition would want any number of them."""


def why_not(text: str) -> str:
    """Why this is no expression that can be used; "" if it is one."""
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    made = _compiled(text)
    return f"is not a regular expression: {made}" if isinstance(made, str) else ""


def matches(text: str, name: str) -> bool:
    """Whether the expression matches the whole of a name. One that `why_not` refuses matches nothing."""
    return not why_not(text) and _compiled(text).fullmatch(name) is not None


def occurs(text: str, value: str) -> bool | None:
    """Whether the expression matches a part of a text, as the patterns of schemas do; None: it cannot be used."""
    if len(text) > _LONGEST_PATTERN:
        return None
    made = _compiled(text)
    return None if isinstance(made, str) else made.search(value) is not None


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    """RE2's expression, or in which words it refuses the text."""
    import re2  # few repositories need it, and all commands import this

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(text.encode("utf-8", "replace").decode(), options)
    except re2.error as problem:
        said = problem.args[0] if problem.args else b""
        return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
