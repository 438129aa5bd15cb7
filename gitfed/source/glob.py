"""Which paths a list of patterns means: gitignore's rules as far as include and exclude lists need them.

`*` and `?` stay inside a name, `**` spans any number of folders, a pattern without a slash matches at any depth, one
that names a folder matches all below it. Patterns come from users, so matching must not backtrack without end: names
are matched with the standard library's linear translation, folders by dynamic programming.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class Patterns:
    """A compiled list; a path matches if one of its patterns does."""

    patterns: tuple[tuple[re.Pattern[str] | None, ...], ...]
    """None stands for `**`."""

    def match(self, path: str) -> bool:
        names = path.split("/")
        return any(_matches(pattern, names) for pattern in self.patterns)


def compile_all(texts: Iterable[str]) -> Patterns:
    compiled = (_compiled(text) for text in texts)
    return Patterns(tuple(pattern for pattern in compiled if pattern))


def _compiled(text: str) -> tuple[re.Pattern[str] | None, ...]:
    names = [name for name in text.split("/") if name not in ("", ".")]
    if "/" not in text.rstrip("/"):
        names.insert(0, _ANY_DEPTH)
    if text.endswith("/"):
        names.append(_ANY_DEPTH)
    once = [name for i, name in enumerate(names) if name != _ANY_DEPTH or i == 0 or names[i - 1] != _ANY_DEPTH]
    return tuple(None if name == _ANY_DEPTH else re.compile(fnmatch.translate(name)) for name in once)


def _matches(pattern: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """`reached[i]`: the pattern so far can end just before names[i]."""
    reached = {0}
    count = len(names)
    for position, part in enumerate(pattern):
        if part is None and position == len(pattern) - 1:
            return min(reached) < count  # `a/**` needs something below `a`
        if part is None:
            reached = set(range(min(reached), count + 1))
        else:
            reached = {i + 1 for i in reached if i < count and part.match(names[i])}
        if not reached:
            return False
    return True  # a pattern that ends at a folder covers what is in it
