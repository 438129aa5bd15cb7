"""The room of a whole fleet at once, and what earlier decisions of the same build have taken of it.

Two workloads that are placed by one build must not be given the same room (Karmada: scheduling §5.5, in-flight
assumptions). `Rooms` starts with what the facts say, answers for one requirement after the other how many replicas
fit in each cluster, and is told after each decision what was newly placed: pods go on the first nodes that can take
them, whatever finds no node counts against the cluster as a whole.

The numbers are those of `estimate.room`, cluster by cluster; a test holds the two together. Thousands of workloads
times thousands of nodes are a matter of array arithmetic: importing this module imports numpy (a tenth of a second),
so only a build that has to place something by room does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gitfed.model.base import Body
from gitfed.model.fleet import NodeFacts
from gitfed.placement import estimate, nodes
from gitfed.placement.estimate import Capacity, Row
from gitfed.text import canonical, quantity

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

Tables: TypeAlias = tuple[Sequence[Row], Sequence[Row], Sequence[Row]]
"""One cluster as one row, its nodes by grade, its nodes."""
Read: TypeAlias = tuple[Capacity | None, Tables | None]

_FEW = 4
"""Placing in no more clusters than this is done one by one: all rows of the others need not be looked at."""
_LARGEST = 2**62
"""Amounts beyond it count as this much, so that sums and products stay within 64 bits."""


class Rooms:
    """Mutable: `take` reduces what later questions find. `copy` before a line of questions that must not be seen."""

    def __init__(self, capacities: Mapping[str, Capacity | None], read: dict[str, Read] | None = None) -> None:
        """Clusters with None, or with amounts that cannot be read, are not known: their room is None. `read` keeps
        what was read of each cluster for the next time, when few of them have changed."""
        read = {} if read is None else read
        self.names = tuple(capacities)
        self._index = {name: index for index, name in enumerate(self.names)}
        sums, graded, nodal = _Rows(self.names), _Rows(self.names), _Rows(self.names)
        known = []
        for index, (name, capacity) in enumerate(capacities.items()):
            before = read.get(name)
            if before is not None and before[0] == capacity:
                here = before[1]
            else:
                try:
                    here = _rows(capacity)
                except quantity.QuantityError:
                    here = None
                read[name] = capacity, here
            known.append(here is not None)
            for table, rows in zip((sums, graded, nodal), here or ((), (), ()), strict=True):
                table.add(index, rows)
        self._known = np.array(known, dtype=bool)
        self._unknown = tuple(self.names[index] for index in np.flatnonzero(~self._known).tolist())
        self._sums, self._graded, self._nodal = sums.close(), graded.close(), nodal.close()
        self._answers: dict[str, dict[str, int | None]] = {}
        self._wanted: dict[str, Mapping[str, int]] = {}
        """What one replica asks for, by the digest of its requirements."""

    def copy(self) -> Rooms:
        twin = object.__new__(Rooms)
        twin.names, twin._index, twin._known, twin._unknown = self.names, self._index, self._known, self._unknown
        twin._sums, twin._graded, twin._nodal = self._sums.copy(), self._graded.copy(), self._nodal.copy()
        twin._answers, twin._wanted = dict(self._answers), self._wanted
        return twin

    def of(self, requirements: Body | None, key: str = "") -> Mapping[str, int | None]:
        """Replicas with these requirements that each cluster can take now. `key`: their digest, if known."""
        key = key or canonical.digest(requirements)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._ask(requirements, self._one(requirements, key))
        return known

    def sets(self, components: Sequence[Body]) -> Mapping[str, int | None]:
        """Complete sets of these components that each cluster can take now (Karmada: scheduling §5.4)."""
        parts = list(estimate.parts_of(components))
        found: dict[str, int | None] = {}
        for index, name in enumerate(self.names):
            if not self._known[index]:
                found[name] = None
                continue
            limits = [estimate.sets_in_sum(row.slots, row.free, parts) for row in self._sums.rows_of(index)]
            for table in (self._graded, self._nodal):
                if rows := table.rows_of(index):
                    limits.append(estimate.sets_on(rows, parts))
            found[name] = max(0, min(limits, default=0))
        return found

    def _one(self, requirements: Body | None, key: str) -> Mapping[str, int]:
        if key not in self._wanted:
            self._wanted[key] = _bounded_all(estimate.wanted(requirements))
        return self._wanted[key]

    def take(self, requirements: Body | None, replicas: Mapping[str, int], key: str = "") -> None:
        """So many more replicas were placed in these clusters. `key`: the digest of the requirements, if known."""
        placed = np.zeros(len(self.names), dtype=np.int64)
        for name, count in replicas.items():
            if name in self._index:
                placed[self._index[name]] = count
        if not placed.any():
            return
        one = self._one(requirements, key or canonical.digest(requirements))
        self._sums.subtract(one, placed)
        if len(replicas) <= _FEW:
            for index in np.flatnonzero(placed).tolist():
                self._graded.fill_one(one, index, int(placed[index]), None)
                self._nodal.fill_one(one, index, int(placed[index]), self._nodal.eligible(requirements))
            self._answers.clear()
            return
        self._graded.fill(one, placed, None)
        self._nodal.fill(one, placed, self._nodal.eligible(requirements))
        self._answers.clear()

    def _ask(self, requirements: Body | None, one: Mapping[str, int]) -> dict[str, int | None]:
        most = np.int64(estimate.MOST)
        found = self._sums.total(one if requirements is not None else {}, None)
        if self._graded.count and requirements is not None:
            pods = self._sums.total({}, None)
            found = np.where(self._graded.present, np.minimum(pods, self._graded.total(one, None)), found)
        if not self._sums.everywhere:
            found = np.where(self._sums.present, found, most)
        if self._nodal.count:
            by_node = np.minimum(found, self._nodal.total(one, self._nodal.eligible(requirements)))
            found = by_node if self._nodal.everywhere else np.where(self._nodal.present, by_node, found)
        rooms: dict[str, int | None] = dict(zip(self.names, np.minimum(found, most).tolist(), strict=True))
        for name in self._unknown:
            rooms[name] = None
        return rooms


def _rows(capacity: Capacity | None) -> Tables | None:
    """None: nothing is known of it."""
    if capacity is None or (capacity.summary is None and not capacity.nodes):
        return None
    nodal = [Row.of(node) for node in capacity.nodes]
    if (summary := capacity.summary) is None:
        return (), (), nodal
    spare = {name: estimate.free_in(summary, name) for name in estimate.table(summary, "allocatable")}
    spare.pop(estimate.PODS, None)
    whole = Row(1, estimate.pods_in(summary), spare, None)
    return [whole], estimate.grade_rows(summary, capacity.grades), nodal


class _Rows:
    """Equal nodes by cluster, as columns. Rows of one cluster stand together."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._collected: list[tuple[int, Row]] = []

    def add(self, owner: int, rows: Iterable[Row]) -> None:
        self._collected.extend((owner, row) for row in rows)

    def close(self) -> _Table:
        rows = [row for _, row in self._collected]
        columns = sorted({name for row in rows for name in row.free})
        profiles: dict[int, int] = {}
        distinct: list[NodeFacts] = []
        profile = []
        seen: dict[str, int] = {}
        for row in rows:
            number = -1
            if row.node is not None:
                number = profiles.get(id(row.node), -1)
                if number < 0:
                    text = canonical.digest([dict(row.node.labels), list(row.node.taints), row.node.unschedulable,
                                             row.node.name])  # fmt: skip
                    number = profiles[id(row.node)] = seen.setdefault(text, len(distinct))
                    if number == len(distinct):
                        distinct.append(row.node)
            profile.append(number)
        return _Table(
            clusters=len(self._names),
            owner=np.array([owner for owner, _ in self._collected], dtype=np.int64),
            number=np.array([row.number for row in rows], dtype=np.int64),
            slots=np.array([_free(row.slots) for row in rows], dtype=np.int64),
            free={name: np.array([_free(row.free.get(name, 0)) for row in rows], dtype=np.int64) for name in columns},
            profile=np.array(profile, dtype=np.int64),
            nodes=tuple(distinct),
        )


class _Table:
    def __init__(
        self,
        *,
        clusters: int,
        owner: Numbers,
        number: Numbers,
        slots: Numbers,
        free: dict[str, Numbers],
        profile: Numbers,
        nodes: tuple[NodeFacts, ...],
        masks: dict[str, Flags | None] | None = None,
    ) -> None:
        self._clusters = clusters
        self._owner, self._number, self._slots, self._free = owner, number, slots, free
        self._profile, self._nodes = profile, nodes
        self._masks: dict[str, Flags | None] = {} if masks is None else masks
        """By node claim, for each distinct node; None: all of them."""
        self.present: Flags = np.zeros(clusters, dtype=bool)
        self.present[owner] = True
        self.everywhere = bool(self.present.all())
        self._find_starts()

    @property
    def count(self) -> int:
        return len(self._owner)

    def copy(self) -> _Table:
        return _Table(
            clusters=self._clusters, owner=self._owner, number=self._number, slots=self._slots.copy(),
            free={name: column.copy() for name, column in self._free.items()}, profile=self._profile,
            nodes=self._nodes, masks=self._masks,
        )  # fmt: skip

    def eligible(self, requirements: Body | None) -> Flags | None:
        """The rows whose nodes such a replica may use; None: all of them."""
        if not self._nodes:
            return None
        claim = (requirements or {}).get("nodeClaim") or None
        key = canonical.digest(claim) if claim else ""
        if key not in self._masks:
            takes = nodes.filter_of(requirements)
            fitting = np.array([takes(node) for node in self._nodes], dtype=bool)
            self._masks[key] = None if fitting.all() else fitting
        mask = self._masks[key]
        return None if mask is None else mask[self._profile]

    def total(self, one: Mapping[str, int], eligible: Flags | None) -> Numbers:
        """By cluster; 0 where it has no rows."""
        result = np.zeros(self._clusters, dtype=np.int64)
        if self.count:
            held = np.minimum(self._each(one, eligible), estimate.MOST)
            if not self._all_single:
                held = held * self._number
            result[self._owners] = np.add.reduceat(held, self._starts)
        return result

    def subtract(self, one: Mapping[str, int], placed: Numbers) -> None:
        """From the cluster as a whole, even below zero."""
        mine = placed[self._owner]
        self._slots = np.maximum(self._slots - mine, 0)
        for name, amount in one.items():
            if name in self._free:
                self._free[name] = self._free[name] - mine * min(amount, _LARGEST // max(1, int(mine.max())))

    def fill(self, one: Mapping[str, int], placed: Numbers, eligible: Flags | None) -> None:
        """On the first rows that can take them. What finds no room is left over."""
        if not self.count:
            return
        each = self._each(one, eligible)
        held = np.minimum(each, estimate.MOST) * self._number
        before = np.cumsum(held) - held
        before = before - np.repeat(before[self._starts], self._lengths)
        taken = np.minimum(np.maximum(placed[self._owner] - before, 0), held)
        if self._all_single:
            self._use(one, taken)
            return
        single = self._number == 1
        self._use(one, np.where(single, taken, 0))
        if (several := np.flatnonzero(~single & (taken > 0))).size:
            self._split(one, several, each, taken)

    def fill_one(self, one: Mapping[str, int], owner: int, placed: int, eligible: Flags | None) -> None:
        """`fill` for one cluster, looking at no other's rows."""
        if not self.present[owner]:
            return
        at = int(np.searchsorted(self._owners, owner))
        start = int(self._starts[at])
        here = slice(start, start + int(self._lengths[at]))
        if (self._number[here] != 1).any():
            only = np.zeros(self._clusters, dtype=np.int64)
            only[owner] = placed
            self.fill(one, only, eligible)
            return
        each = self._each(one, None if eligible is None else eligible[here], here)
        used = np.minimum(np.maximum(placed - (np.cumsum(each) - each), 0), each)
        self._slots[here] -= used
        for name, amount in one.items():
            if name in self._free:
                self._free[name][here] -= used * amount

    def rows_of(self, owner: int) -> list[Row]:
        found = []
        for index in np.flatnonzero(self._owner == owner).tolist():
            profile = int(self._profile[index])
            spare = {name: int(column[index]) for name, column in self._free.items()}
            node = self._nodes[profile] if profile >= 0 else None
            found.append(Row(int(self._number[index]), int(self._slots[index]), spare, node))
        return found

    def _each(self, one: Mapping[str, int], eligible: Flags | None, here: slice = slice(None)) -> Numbers:
        """Replicas on one node of each row."""
        held = self._slots[here]
        for name, amount in one.items():
            column = self._free.get(name)
            if column is None:
                return np.zeros(len(held), dtype=np.int64)
            held = np.minimum(held, column[here] // amount)
        held = np.maximum(held, 0)
        return held if eligible is None else np.where(eligible, held, 0)

    def _use(self, one: Mapping[str, int], used: Numbers) -> None:
        self._slots = self._slots - used
        for name, amount in one.items():
            if name in self._free:
                self._free[name] = self._free[name] - used * amount

    def _split(self, one: Mapping[str, int], several: Numbers, each: Numbers, taken: Numbers) -> None:
        """Rows of equal nodes of which some are used now: full ones, one with the rest, and the untouched."""
        positions: list[int] = []
        numbers: list[int] = []
        uses: list[int] = []
        first_use = np.zeros(self.count, dtype=np.int64)
        number = self._number.copy()
        for index in several.tolist():
            full, rest = divmod(int(taken[index]), int(each[index]))
            parts = [(full, int(each[index])), (1 if rest else 0, rest), (int(number[index]) - full - bool(rest), 0)]
            parts = [part for part in parts if part[0]]
            number[index], first_use[index] = parts[0]
            for count, use in parts[1:]:
                positions.append(index + 1)
                numbers.append(count)
                uses.append(use)
        sources = [position - 1 for position in positions]
        self._number = np.insert(number, positions, numbers)
        self._owner = np.insert(self._owner, positions, self._owner[sources])
        self._profile = np.insert(self._profile, positions, self._profile[sources])
        self._slots = np.insert(self._slots, positions, self._slots[sources])
        self._free = {name: np.insert(column, positions, column[sources]) for name, column in self._free.items()}
        self._use(one, np.insert(first_use, positions, uses))
        self._find_starts()

    def _find_starts(self) -> None:
        self._owners, self._starts, self._lengths = np.unique(self._owner, return_index=True, return_counts=True)
        self._all_single = bool((self._number == 1).all())


def _bounded(amount: int) -> int:
    return max(-_LARGEST, min(_LARGEST, amount))


def _free(amount: int) -> int:
    """Less than what an amount beyond all measure asks for."""
    return max(-_LARGEST, min(_LARGEST - 1, amount))


def _bounded_all(one: Mapping[str, int]) -> dict[str, int]:
    return {name: _bounded(amount) for name, amount in one.items()}
