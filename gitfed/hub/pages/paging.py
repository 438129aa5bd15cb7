"""Which part of a long list a page shows: what stands in its address, made sane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from aiohttp import web

from gitfed.text.values import dataclass

_Item = TypeVar("_Item")
_LONGEST = 253
"""Characters of one parameter: no name is longer."""


@dataclass(frozen=True, slots=True)
class Pages:
    number: int
    count: int
    total: int
    """Items on all pages."""
    first: int
    """Of this page, counted from 1; 0 when there is none."""
    last: int
    previous: str
    """Address of the page before; "" on the first."""
    next: str


def text(request: web.Request, name: str) -> str:
    return request.query.get(name, "").strip()[:_LONGEST]


def number(request: web.Request, name: str, otherwise: int = 1) -> int:
    digits = request.query.get(name, "")
    return max(1, int(digits)) if digits.isascii() and digits.isdecimal() and len(digits) < 8 else otherwise


def cut(items: Sequence[_Item], size: int, wanted: int, address: Callable[[int], str]) -> tuple[Sequence[_Item], Pages]:
    """One page of `items`; the last one when `wanted` is behind it. `address` makes the link of a page."""
    count = max(1, -(-len(items) // size))
    shown_page = min(wanted, count)
    start = (shown_page - 1) * size
    shown = items[start : start + size]
    return shown, Pages(
        shown_page,
        count,
        len(items),
        start + 1 if shown else 0,
        start + len(shown),
        address(shown_page - 1) if shown_page > 1 else "",
        address(shown_page + 1) if shown_page < count else "",
    )
