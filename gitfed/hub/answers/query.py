"""Which part of a list is asked for. Pages go on after the last item of the one before, so nothing has to be kept."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from gitfed.errors import UsageError
from gitfed.text.values import dataclass

USUAL, MOST = 500, 1000
"""Items of one page."""
_LONGEST = 512
"""Characters of one filter."""

Place: TypeAlias = tuple[Any, ...]
"""What a list is sorted by; two items of a list never have the same."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """Filters are "" where everything is asked for. Raises UsageError."""

    namespace: str = ""
    cluster: str = ""
    kind: str = ""
    """A kind, with or without its group: `Deployment.apps`."""
    policy: str = ""
    """`ClusterPropagationPolicy/web` or `PropagationPolicy/shop/web`."""
    text: str = ""
    """Part of an object's name, namespace or kind."""
    state: str = ""
    """`listings.STATES`"""
    sort: str = ""
    """`listings.SORTS`; with `-` in front the other way round."""
    limit: int = USUAL
    after: str = ""
    """`next` of the page before."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MOST:
            raise UsageError(f"limit is a number from 1 to {MOST}", hint="ask for the next page with continue")
        for name in ("namespace", "cluster", "kind", "policy", "text", "state", "sort"):
            if len(getattr(self, name)) > _LONGEST:
                raise UsageError(f"{name} is longer than {_LONGEST} characters")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    next: str
    """"" on the last page."""
    total: int


def page(candidates: Iterable[tuple[Place, T]], query: Query, *, reverse: bool = False) -> Page[T]:
    """The items after `query.after` in the order of their places. Raises UsageError."""
    ordered = sorted(candidates, key=lambda placed: placed[0], reverse=reverse)
    begin = 0
    if query.after:
        after = place_of(query.after, query.sort, ordered[0][0] if ordered else None)
        while begin < len(ordered) and (ordered[begin][0] >= after if reverse else ordered[begin][0] <= after):
            begin += 1
    items = ordered[begin : begin + query.limit]
    more = begin + query.limit < len(ordered)
    return Page([item for _, item in items], token(items[-1][0], query.sort) if more else "", len(ordered))


def token(place: Place, sort: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([sort, place]).encode()).decode().rstrip("=")


def place_of(text: str, sort: str, like: Place | None) -> Place:
    """`like`: any place of this list; None: it is empty. Raises UsageError."""
    try:
        sorted_by, place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError, RecursionError) as error:
        raise _foreign() from error
    if sorted_by != sort or not isinstance(place, list):
        raise _foreign()
    if like is not None and [type(part) for part in place] != [type(part) for part in like]:
        raise _foreign()
    return tuple(place)


def _foreign() -> UsageError:
    return UsageError("continue does not come from a page of this list", hint="begin again without it")
