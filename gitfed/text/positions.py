"""Where the members of a document stand in its text.

Positions are needed for messages only, so they are not kept with values: a second pass over the same events builds a
tree of places when a problem has to be shown. Nothing is checked here; `build` has read the same events before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from gitfed.text.construct import MERGE, Stop, YamlEvent
from gitfed.text.values import dataclass


@dataclass(slots=True)
class Position:
    """Where a value and its key stand, and the same for what is below it."""

    line: int
    column: int
    members: dict[str | int, Position] = field(default_factory=dict)

    def at(self, path: Iterable[str | int]) -> tuple[int, int]:
        """Position of the key (or list item) at `path`, else of the deepest part of it that exists."""
        place = self
        for part in path:
            below = place.members.get(part)
            if below is None:
                break
            place = below
        return place.line, place.column


def place_tree(events: Iterator[YamlEvent]) -> tuple[Position, ...]:
    """Positions of every member. A place's line and column are its key's; a list item's are its own."""
    trees: list[Position] = []
    stack: list[tuple[Position, bool]] = []
    keys: list[tuple[str, int, int] | None] = []
    anchors: dict[str, Position] = {}
    merging: list[tuple[Position, Position]] = []

    def enter(line: int, column: int, anchor: str | None, aliased: Position | None = None) -> Position:
        place = Position(line, column, aliased.members if aliased else {})
        if not stack:
            trees.append(place)
        else:
            parent, is_map = stack[-1]
            if not is_map:
                parent.members[len(parent.members)] = place
            elif (key := keys[-1]) is not None:
                keys[-1] = None
                if key[0] == "<<":
                    merging.append((parent, place))
                else:
                    place.line, place.column = key[1], key[2]
                    parent.members[key[0]] = place
        if anchor:
            anchors[anchor] = place
        return place

    for kind, line, column, value, text, anchor, _ in _until_stop(events):
        if kind in ("map", "list"):
            stack.append((enter(line, column, anchor), kind == "map"))
            keys.append(None)
        elif kind == "end":
            stack.pop()
            keys.pop()
        elif kind == "alias":
            aliased = anchors.get(anchor or "")
            if stack and stack[-1][1] and keys[-1] is None:
                keys[-1] = ("*" + (anchor or ""), line, column)
            else:
                enter(line, column, None, aliased)
        elif kind == "scalar":
            if stack and stack[-1][1] and keys[-1] is None:
                name = text if isinstance(value, str) or value is MERGE or value is None else _name(value)
                keys[-1] = (name, line, column)
            else:
                enter(line, column, anchor)
    for parent, merged in reversed(merging):
        sources = merged.members.values() if 0 in merged.members else (merged,)
        for source in sources:
            for member, place in source.members.items():
                parent.members.setdefault(member, place)
    return tuple(trees)


def _until_stop(events: Iterator[YamlEvent]) -> Iterator[YamlEvent]:
    """What could be read of a broken file still has positions."""
    try:
        yield from events
    except Stop:
        return


def _name(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
