"""Deliveries that came before: what a forge sends twice, or an eavesdropper sends again.

A delivery is known by its id and by its bytes. The id alone would not do: with most forges it stands in a header that
nobody signs. So bytes that come again under another id are dropped as well, although a branch that goes back and forth
between two commits may once make a forge send them in earnest: whoever hears of one should not rely on deliveries
for a while.

What is remembered is bounded, and of this process: an old delivery that is played back after a restart makes gitfed
look at the repository once.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum, auto

_MOST = 10_000


class Repetition(Enum):
    NEVER = auto()
    BEFORE = auto()
    UNDER_ANOTHER_ID = auto()


class Replays:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def look(self, forge: str, body: bytes, ids: Iterable[str]) -> Repetition:
        """Whether this was seen; it is from now on. Ask only about deliveries whose signature holds."""
        names = [hashlib.sha256(body).digest()]
        names += [
            hashlib.sha256(f"{forge} {delivery_id}".encode("utf-8", "surrogateescape")).digest() for delivery_id in ids
        ]
        bytes_known, *id_known = [name in self._seen for name in names]
        for name in names:
            self._seen[name] = None
            self._seen.move_to_end(name)
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
        if any(id_known):
            return Repetition.BEFORE
        return Repetition.UNDER_ANOTHER_ID if bytes_known else Repetition.NEVER
