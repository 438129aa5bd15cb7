"""The room of all clusters as one column, in the order of their names.

Scheduling asks for the room of the clusters that fit, workload after workload, in the same order every time: a list
that is there already costs nothing, a table by name costs a look-up for each cluster. Anything else that maps names to
room does as well. `fleet_capacity` makes the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

Numbers: TypeAlias = Sequence[int | None]
"""Replicas (or sets of components) that fit into each cluster beside what is there; None: not known."""


class ColumnLayout:
    """The clusters of a column."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.index = {name: at for at, name in enumerate(names)}
        self._picks: dict[tuple[str, ...], Callable[[Numbers], Numbers]] = {}

    def pick(self, numbers: Numbers, names: tuple[str, ...]) -> Numbers:
        """The numbers of these clusters; None for one that is not in the column."""
        pick = self._picks.get(names)
        if pick is None:
            pick = self._picks[names] = self._pick(names)
        return pick(numbers)

    def _pick(self, names: tuple[str, ...]) -> Callable[[Numbers], Numbers]:
        if names == self.names:
            return lambda numbers: numbers
        places = [self.index.get(name, -1) for name in names]
        if len(places) > 1 and -1 not in places:
            return itemgetter(*places)
        return lambda numbers: [numbers[at] if at >= 0 else None for at in places]


class Column(Mapping[str, int | None]):
    """The room of every cluster, by name."""

    def __init__(self, layout: ColumnLayout, numbers: Numbers) -> None:
        self.layout, self.numbers = layout, numbers

    def __getitem__(self, name: str) -> int | None:
        return self.numbers[self.layout.index[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout.names)

    def __len__(self) -> int:
        return len(self.layout.names)

    def __repr__(self) -> str:
        return repr(dict(self))


def of(room: Mapping[str, int | None], names: tuple[str, ...]) -> Numbers:
    """The room of these clusters; None also for one that `room` does not mention."""
    if isinstance(room, Column):
        return room.layout.pick(room.numbers, names)
    return [room.get(name) for name in names]
