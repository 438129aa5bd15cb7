"""A field that somebody else declares too: whose value stands.

A server remembers who wrote a field, and how. Who *updated* an object (a person with an editor, a controller) changed
something once: that is drift, and put back. Who *applies* goes on declaring its fields, as we do, and to take one away
from it is a quarrel that nobody wins. So `conflictResolution` decides about such a field as it does about a whole
object of somebody else (Karmada: policies §5.4): `Overwrite` takes it over, `Abort` leaves it and says whose it is. The
rest of the object is written all the same.

Both may own a field while both want the same. If a commit changes it then, it is written: whoever applied it may have
left long ago, as the deployer that was here before us. One that is still there takes the field back, and has it alone;
from then on it is a claim.

What the other one declares in a list that is a map (containers, ports) is told by the item's keys, so that a container
added beside ours is no claim on ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.model.keys import MANAGER, OURS
from gitfed.model.plan import FieldChange
from gitfed.planning.objects import diff, redact
from gitfed.text import pointer
from gitfed.text.pointer import Pointer
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """One field of our manifest that others declare with another value."""

    place: Pointer
    """In the manifest. A value that the server treats as one (a list of arguments) is claimed as a whole."""
    managers: tuple[str, ...]
    """Sorted."""

    def __str__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.managers)
        return f"conflict with {names}: {pointer.text(self.place)}"


def others_apply(live: Body) -> bool:
    """Whether anybody but us declares fields of this object."""
    return any(True for _ in _appliers(live))


def find(desired: Body, live: Body, differences: Iterable[FieldChange]) -> tuple[Claim, ...]:
    """The claims among the differences, in their order. What we only want to remove stays with its other owners."""
    appliers = list(_appliers(live))
    if not appliers:
        return ()
    records = [entry.get("fieldsV1") or {} for entry in live["metadata"]["managedFields"]]
    ours = diff.owned_fields(live, MANAGER) or {}
    claims: dict[Pointer, set[str]] = {}
    for difference in differences:
        if difference.absent_after:
            continue
        place = pointer.parse(difference.pointer)
        if place[:2] in _LABELLED and place[2:] and place[2].startswith(OURS):
            continue
        if ours and _owned(ours, desired, place, records) is not None:
            continue
        for name, record in appliers:
            if (end := _owned(record, desired, place, records)) is not None:
                claims.setdefault(end, set()).add(name)
    return tuple(Claim(place, tuple(sorted(names))) for place, names in claims.items())


def unclaimed(claims: Iterable[Claim], differences: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
    """The differences in fields that no other manager claims."""
    places = [claim.place for claim in claims]
    return tuple(
        difference
        for difference in differences
        if not any(pointer.parse(difference.pointer)[: len(place)] == place for place in places)
    )


def left_out(body: Body, claims: Iterable[Claim]) -> Body:
    """What to send: the manifest without the claimed fields, which stay as their other owners want them."""
    for claim in claims:
        body = pointer.drop(body, claim.place)
        if redact.is_secret(body) and claim.place[0] == "data":  # they are compared in one form
            body = pointer.drop(body, ("stringData", *claim.place[1:]))
    return body


_LABELLED = (("metadata", "labels"), ("metadata", "annotations"))


def _appliers(live: Body) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        name = entry.get("manager")
        if name and name != MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource"):
            yield str(name), entry.get("fieldsV1") or {}


def _owned(
    record: Mapping[str, Any], desired: Body, place: Pointer, records: Iterable[Mapping[str, Any]]
) -> Pointer | None:
    """Where in `place` the record ends as one value; None: it names something else only, or something inside.

    An empty map that somebody declares ends there too, and declares nothing of what others put into it: it is told
    from a map that is one value by those others' records.
    """
    steps = list(_steps(desired, place))
    for depth in range(1, len(place) + 1):
        level = _level(record, steps, depth)
        if level is None:
            return None
        if not level:
            shared = depth < len(place) and any(_level(other, steps, depth) for other in records)
            return None if shared else place[:depth]
    return None


def _steps(body: Any, place: Pointer) -> Iterable[tuple[str, Any]]:
    """Each step of the way with what it leads to: the record names members by name, and items of lists by content."""
    for name in place:
        if isinstance(body, Mapping):
            body = body.get(name)
            yield f"f:{name}", body
        elif isinstance(body, list) and name.isdigit() and int(name) < len(body):
            body = body[int(name)]
            yield "", body
        else:
            return


def _level(record: Mapping[str, Any], steps: list[tuple[str, Any]], depth: int) -> Mapping[str, Any] | None:
    """What the record says of the place after so many steps; None: nothing."""
    level: Any = record
    for step, item in steps[:depth]:
        key = step or next((key for key in level if _names(key, item)), "")
        if key not in level:
            return None
        level = level[key]
    return level if depth <= len(steps) else None


def _names(key: str, item: Any) -> bool:
    """Whether a record's key of a list means this item."""
    form, _, text = key.partition(":")
    if form not in ("k", "v"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if form == "v":
        return bool(value == item)
    return (
        isinstance(item, Mapping)
        and isinstance(value, Mapping)
        and all(item.get(name, _DEFAULTS.get(name)) == expected for name, expected in value.items())
    )


_DEFAULTS = {"protocol": "TCP"}
"""A member of a key that a manifest may leave out: the server records it with its default."""
