"""Values that share what nobody edited: the same object in memory, as manifests of one template do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from gitfed.text import pointer
from gitfed.text.pointer import Pointer


def places(value: Any, below: Pointer = ()) -> Iterator[Pointer]:
    """Of all members and items, at any depth."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        here = (*below, str(name))
        yield here
        yield from places(member, here)


def edited(
    draw: st.DrawFn, value: Any, place: Pointer, names: st.SearchStrategy[str], values: st.SearchStrategy[Any]
) -> Any:
    """Another member in the mapping at `place`; of anything else, another value or none."""
    if isinstance(pointer.get(value, place), dict):
        return pointer.add(value, (*place, draw(names)), draw(values))
    if draw(st.booleans()):
        return pointer.replace(value, place, draw(values))
    return pointer.remove(value, place)
