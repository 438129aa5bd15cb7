"""Which paths a list of patterns means: gitignore's rules as far as include and exclude lists need them.

`*` and `?` stay inside a name, `**` spans any number of folders, a pattern without a slash matches at any depth, one
that names a folder matches all below it. Patterns come from users, so matching must not backtrack without end: names
are matched with the standard library's linear translation, folders by dynamic programming.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

from gitfed.text.values import dataclass

_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class Patterns:
    """A compiled list; a path matches if one of its patterns does."""

    patterns: tuple[tuple[re.Pattern[str] | None, ...], ...]
    """None stands for `**`."""
    hidden: bool = True
    """Whether `**`, and what is below a folder, means names that begin with a dot too."""

    def match(self, path: str) -> bool:
        names = path.split("/")
        dots = () if self.hidden else tuple(i for i, name in enumerate(names) if _is_hidden(name))
        return any(_matches(pattern, names, dots) for pattern in self.patterns)


def compile_all(texts: Iterable[str], *, hidden: bool = True) -> Patterns:
    """`hidden` False: as in a shell, a name that begins with a dot is matched only by a pattern that writes the dot."""
    compiled = (_compiled(text, hidden=hidden) for text in texts)
    return Patterns(tuple(pattern for pattern in compiled if pattern), hidden)


def _compiled(text: str, *, hidden: bool) -> tuple[re.Pattern[str] | None, ...]:
    names = [name for name in text.split("/") if name not in ("", ".")]
    if "/" not in text.rstrip("/"):
        names.insert(0, _ANY_DEPTH)
    if text.endswith("/"):
        names.append(_ANY_DEPTH)
    once = [name for i, name in enumerate(names) if name != _ANY_DEPTH or i == 0 or names[i - 1] != _ANY_DEPTH]
    return tuple(None if name == _ANY_DEPTH else _name(name, hidden=hidden) for name in once)


def _name(text: str, *, hidden: bool) -> re.Pattern[str]:
    return re.compile(("" if hidden or text.startswith(".") else r"(?!\.)") + fnmatch.translate(text))


def _is_hidden(name: str) -> bool:
    """Not what no file of a repository may be called: that is refused aloud (`tree`)."""
    return name.startswith(".") and name.rstrip(" .").casefold() not in ("", ".git")


def _matches(pattern: Sequence[re.Pattern[str] | None], names: Sequence[str], dots: Sequence[int]) -> bool:
    """`reached[i]`: the pattern so far can end just before names[i]. `dots`: names that must be written to match."""
    reached = {0}
    count = len(names)
    covered = dots[-1] + 1 if dots else 0
    for position, part in enumerate(pattern):
        if part is None and position == len(pattern) - 1:
            return any(covered <= i < count for i in reached)  # `a/**` needs something below `a`
        if part is None:
            reached = {i for start in reached for i in range(start, _next(dots, start, count) + 1)}
        else:
            reached = {i + 1 for i in reached if i < count and part.match(names[i])}
        if not reached:
            return False
    return any(i >= covered for i in reached)  # a pattern that ends at a folder covers what is in it


def _next(dots: Sequence[int], start: int, count: int) -> int:
    return next((i for i in dots if i >= start), count)
