"""Documents that somebody edited by hand: one member is something else than it should be."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]

JUNK = st.one_of(
    st.sampled_from(
        [None, True, -1, 10**400, float("nan"), "", "9999-99-99", "9999-12-31T23:59:59-23:59",
         "0001-01-01T00:00:00+23:00", "2026-03-01T12:00:00", [], {}, [7], [None], [{}], {"a": 7}, {7: "a"},
         [{"name": 7}], [["x"]]]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
)  # fmt: skip
"""What YAML may say."""


def places(value: object, before: Path = ()) -> list[Path]:
    """Paths of everything in a document."""
    found = [before] if before else []
    if isinstance(value, dict):
        return found + [path for name, part in value.items() for path in places(part, (*before, name))]
    if isinstance(value, list):
        return found + [path for index, part in enumerate(value) for path in places(part, (*before, index))]
    return found


def spoiled(document: dict[str, Any], path: Path, value: object) -> dict[str, Any]:
    """A copy with something else at that place."""
    made: Any = copy.deepcopy(document)
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return dict(made)
