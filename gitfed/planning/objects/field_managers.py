"""Who else writes the fields that we write: the names of managers, as the server recorded them.

A server remembers for each field who wrote it last (`managedFields`). So a difference has an author, and what was
changed by hand can be told from what a controller does again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.model.keys import MANAGER
from gitfed.model.plan import FieldChange
from gitfed.text import pointer


def of(live: Body, differences: Iterable[FieldChange]) -> tuple[str, ...]:
    """Managers other than us that own one of the fields that differ, sorted; none where the server did not say."""
    entries = [
        entry
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("manager") and entry.get("manager") != MANAGER
    ]
    if not entries:
        return ()
    places = [pointer.parse(difference.pointer) for difference in differences]
    return tuple(
        sorted({str(entry["manager"]) for entry in entries if any(_owns(entry.get("fieldsV1"), p) for p in places)})
    )


def _owns(fields: object, place: Iterable[str]) -> bool:
    """Whether a record names the place. Inside a list, whose items are named by their keys, the list itself decides."""
    level: Any = fields
    for name in place:
        if not isinstance(level, Mapping):
            return False
        if f"f:{name}" not in level:
            return any(key.startswith(("k:", "v:", "i:")) for key in level)
        level = level[f"f:{name}"]
        if not level:
            return True
    return True
