"""What was worked out of a value that many others share, by the identity of that value.

Values of the model are frozen and are passed on as they are, so that thousands of templates hold the very same tuple of
shares or the same policy. To ask for equality would cost more than what is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")


class IdentityMemo(Generic[T, V]):
    """Call it with a value. Whatever it knows is kept alive by it, so that no identity is ever given to something else;
    it lives as long as one piece of work, or has a bound, `most`, past which it forgets everything."""

    __slots__ = ("_known", "_make", "_most")

    def __init__(self, make: Callable[[T], V], *, most: int | None = None) -> None:
        self._make = make
        self._most = most
        self._known: dict[int, tuple[T, V]] = {}

    def __call__(self, value: T) -> V:
        cached = self._known.get(id(value))
        if cached is None:
            if self._most is not None and len(self._known) >= self._most:
                self._known.clear()
            cached = self._known[id(value)] = value, self._make(value)
        return cached[1]

    def clear(self) -> None:
        self._known.clear()
