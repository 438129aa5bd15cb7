"""Progress of long work, reported to the caller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias, TypeVar

Count: TypeAlias = Callable[[str, int, int], None]
"""(what, how many are done, of how many), as in `("files read", 12, 400)`. Called in the thread of the work."""

_T = TypeVar("_T")


def unheard(what: str, done: int, of: int) -> None:
    """Ignores the progress."""


def each(items: Collection[_T], what: str, count: Count) -> Iterator[_T]:
    """The items; each is counted once the next is asked for."""
    total = len(items)
    for number, item in enumerate(items, start=1):
        yield item
        count(what, number, total)
