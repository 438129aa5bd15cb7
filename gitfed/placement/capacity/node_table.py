"""Rows of nodes as columns of numbers: how many replicas each row holds, and what is left when some are placed there.

A row is a whole cluster, so many equal nodes, or one node; rows of one cluster stand together. Placing a replica
touches one row of a cluster in a hundred, so a question that was asked before is answered from what was found then:
only rows that were touched since are looked at again. Where rows stand for several nodes, placing splits them, and
everything is counted anew. `fleet_capacity` puts three such tables together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gitfed.model.base import Body
from gitfed.model.fleet import NodeFacts
from gitfed.placement.capacity import estimate, nodes
from gitfed.placement.capacity.estimate import Row
from gitfed.placement.capacity.node_columns import Flags, Numbers, Placed, ReplicaColumns, RowLayout
from gitfed.text import canonical
from gitfed.text.values import dataclass

_LARGEST = 2**62
"""Amounts beyond it count as this much, so that sums and products stay within 64 bits."""
_ORDINARY = 2**40
"""Products below it may be taken millions of times before a sum could leave 64 bits."""
_SLOTS = ""
"""Pod slots, as one resource among the others."""
_NODES_IN_A_ROW = 4
"""Placing looks at so many rows of a cluster one after the other, then at all of them at once."""
_FEW_ROWS = 500
"""So few are counted as fast as those that changed are found."""
_MOST_REMEMBERED = 4_000_000
"""Numbers that are kept of earlier questions."""


@dataclass(slots=True)
class _Remembered:
    """What was found when the same was asked before."""

    first: Numbers
    """By cluster: its rows before this one are full for such a replica, and stay so: room is only ever taken."""
    is_full: bool = False
    """For some cluster that is none of its rows any more."""
    asked: bool = False
    each: Numbers | None = None
    """Replicas that each row holds; None until it is worth its memory: when it is asked for a second time."""
    total: Numbers | None = None
    seen: int = -1
    """What was placed after this is not in `each` and `total` yet."""


class Collected:
    """Rows, cluster by cluster, before they become a table."""

    def __init__(self, clusters: int) -> None:
        self._clusters = clusters
        self._rows: list[tuple[int, Row]] = []

    def add(self, owner: int, rows: Iterable[Row]) -> None:
        self._rows.extend((owner, row) for row in rows)

    def close(self) -> NodeTable:
        rows = [row for _, row in self._rows]
        columns = [_SLOTS, *sorted({name for row in rows for name in row.free})]
        have = np.array(
            [
                [_free(row.slots) for row in rows],
                *([_free(row.free.get(name, 0)) for row in rows] for name in columns[1:]),
            ],
            dtype=np.int64,
        ).reshape(len(columns), len(rows))
        profile, distinct = _profiles(rows)
        owner = np.array([owner for owner, _ in self._rows], dtype=np.int64)
        number = np.array([row.number for row in rows], dtype=np.int64)
        layout = RowLayout.of(owner, number, profile, self._clusters)
        return NodeTable(self._clusters, columns, distinct, have, layout, {}, {})


def _profiles(rows: Sequence[Row]) -> tuple[Numbers, tuple[NodeFacts, ...]]:
    """(for each row its distinct node or -1, the nodes that differ in what a replica may ask of them)"""
    by_identity: dict[int, int] = {}
    by_meaning: dict[object, int] = {}
    distinct: list[NodeFacts] = []
    profile = []
    for row in rows:
        number = -1
        if (node := row.node) is not None:
            number = by_identity.get(id(node), -1)
            if number < 0:
                taints = canonical.digest(list(node.taints)) if node.taints else ""
                meaning = node.name, node.unschedulable, taints, tuple(node.labels.items())
                number = by_identity[id(node)] = by_meaning.setdefault(meaning, len(distinct))
                if number == len(distinct):
                    distinct.append(node)
        profile.append(number)
    return np.array(profile, dtype=np.int64), tuple(distinct)


class NodeTable:
    """Mutable: `subtract` and `fill` reduce what later questions find."""

    def __init__(
        self,
        clusters: int,
        columns: Sequence[str],
        distinct: tuple[NodeFacts, ...],
        have: Numbers,
        layout: RowLayout,
        wanted: dict[str, ReplicaColumns],
        masks: dict[str, Flags | None],
    ) -> None:
        self._clusters, self._columns, self._distinct = clusters, columns, distinct
        self._have, self._layout, self._wanted, self._masks = have, layout, wanted, masks
        self._column = {name: at for at, name in enumerate(columns)}
        self._remembered: dict[str, _Remembered] = {}
        self._touched = np.zeros(self.count, dtype=np.int64)
        """By row: when something was last placed there."""
        self._now = 0
        self._below_zero = bool((have < 0).any())

    @property
    def count(self) -> int:
        return len(self._layout.owner)

    @property
    def present(self) -> Flags:
        """By cluster: whether it has rows."""
        return self._layout.present

    @property
    def everywhere(self) -> bool:
        """Whether every cluster has rows."""
        return self._layout.everywhere

    def copy(self) -> NodeTable:
        return NodeTable(
            self._clusters, self._columns, self._distinct, self._have.copy(), self._layout, self._wanted, self._masks
        )

    def wanted(self, key: str, replica: Mapping[str, int], requirements: Body | None) -> ReplicaColumns:
        """`key` names the other two."""
        columns = self._wanted.get(key)
        if columns is None:
            requested = [
                (self._column[name], min(amount, _LARGEST)) for name, amount in replica.items() if name in self._column
            ]
            amounts = ((0, 1), *requested)
            columns = self._wanted[key] = ReplicaColumns(
                amounts,
                np.array([[column] for column, _ in amounts], dtype=np.int64),
                np.array([column for column, _ in amounts], dtype=np.int64),
                np.array([[amount] for _, amount in amounts], dtype=np.int64),
                max(amount for _, amount in amounts),
                len(requested) == len(replica),
                self._eligible(requirements),
            )
        return columns

    def _eligible(self, requirements: Body | None) -> Flags | None:
        if not self._distinct:
            return None
        claim = (requirements or {}).get("nodeClaim") or None
        key = canonical.digest(claim) if claim else ""
        if key not in self._masks:
            takes = nodes.filter_of(requirements)
            fitting = np.array([takes(node) for node in self._distinct], dtype=bool)
            self._masks[key] = None if fitting.all() else fitting
        return self._masks[key]

    # -- asking ----------------------------------------------------------------------------------------------------

    def total(self, key: str, wanted: ReplicaColumns) -> Numbers:
        """Replicas by cluster; 0 where it has no rows. Not to be changed by the caller."""
        if not self.count:
            return np.zeros(self._clusters, dtype=np.int64)
        if not self._layout.all_single:
            return self._summed(np.minimum(self._each(wanted), estimate.MOST) * self._layout.number)
        if self.count == len(self._layout.owners) == self._clusters:
            return self._each(wanted)
        if self.count < _FEW_ROWS:
            return self._summed(np.minimum(self._each(wanted), estimate.MOST))
        remembered = self._of(key)
        if remembered.each is None or remembered.total is None:
            each = np.minimum(self._each(wanted), estimate.MOST)
            total = self._summed(each)
            if remembered.asked:
                remembered.each, remembered.total, remembered.seen = each, total, self._now
            remembered.asked = True
            return total
        if remembered.seen < self._now:
            rows = (self._touched > remembered.seen).nonzero()[0]
            now = np.minimum(self._each(wanted, rows), estimate.MOST)
            total = remembered.total.copy()
            np.subtract.at(total, self._layout.owner[rows], remembered.each[rows] - now)
            remembered.each[rows], remembered.total, remembered.seen = now, total, self._now
        return remembered.total

    def _of(self, key: str) -> _Remembered:
        remembered = self._remembered.get(key)
        if remembered is None:
            if len(self._remembered) * (self.count + self._clusters) > _MOST_REMEMBERED:
                self._remembered.clear()
            remembered = self._remembered[key] = _Remembered(self._layout.start.copy(), not self._layout.everywhere)
        return remembered

    def _summed(self, held: Numbers) -> Numbers:
        result = np.zeros(self._clusters, dtype=np.int64)
        result[self._layout.owners] = np.add.reduceat(held, self._layout.starts)
        return result

    def _each(self, wanted: ReplicaColumns, rows: Numbers | None = None, have: Numbers | None = None) -> Numbers:
        """Replicas on one node of each row. `have`: what these rows have, if somebody looked already."""
        if have is None:
            have = self._have if rows is None else self._have.take(rows, 1)
        held: Numbers = have[0]
        if not wanted.possible:
            return np.zeros_like(held)
        for column, amount in wanted.amounts[1:]:
            held = np.minimum(held, have[column] // amount)
        if self._below_zero:
            held = np.maximum(held, 0)
        if wanted.eligible is None:
            return held
        profile = self._layout.profile
        return np.where(wanted.eligible[profile if rows is None else profile[rows]], held, 0)

    def rows_of(self, owner: int) -> list[Row]:
        layout, rows = self._layout, []
        for at in range(int(layout.start[owner]), int(layout.end[owner])):
            profile = int(layout.profile[at])
            spare = {name: int(self._have[column, at]) for name, column in self._column.items() if column}
            node = self._distinct[profile] if profile >= 0 else None
            rows.append(Row(int(layout.number[at]), int(self._have[0, at]), spare, node))
        return rows

    # -- placing ---------------------------------------------------------------------------------------------------

    def subtract(self, wanted: ReplicaColumns, placed: Placed) -> None:
        """From clusters that are one row each, even below zero."""
        clusters, counts, most, _ = placed
        layout = self._layout
        if not layout.everywhere:
            here = layout.present[clusters]
            clusters, counts = clusters[here], counts[here]
        rows = layout.start[clusters]
        if wanted.most * most < _ORDINARY:
            self._have[wanted.columns, rows] = self._have.take(rows, 1)[wanted.flat] - wanted.each * counts
        else:
            each = np.minimum(wanted.each, _LARGEST // most)
            self._have[wanted.columns, rows] = np.maximum(self._have[wanted.columns, rows] - each * counts, -_LARGEST)
        self._below_zero = True
        self._now += 1
        self._touched[rows] = self._now

    def fill(self, key: str, wanted: ReplicaColumns, placed: Placed) -> None:
        """On the first rows of each cluster that can take them. What finds no room is left over."""
        if not wanted.possible:
            return
        self._now += 1
        clusters, counts, _, _ = placed
        if self._layout.all_single:
            clusters, counts = self._on_the_next_rows(self._of(key), wanted, clusters, counts)
        if len(clusters):
            left = np.zeros(self._clusters, dtype=np.int64)
            left[clusters] = counts
            self._on_all_rows(wanted, left)

    def _on_the_next_rows(
        self, remembered: _Remembered, wanted: ReplicaColumns, clusters: npt.NDArray[np.intp], counts: Numbers
    ) -> tuple[npt.NDArray[np.intp], Numbers]:
        """(the clusters where more is to be placed, how many there)"""
        ends = self._layout.end
        for _ in range(_NODES_IN_A_ROW):
            rows = remembered.first[clusters]
            if remembered.is_full:
                inside = rows < ends[clusters]
                clusters, counts, rows = clusters[inside], counts[inside], rows[inside]
            have = self._have.take(rows, 1)
            held = self._each(wanted, rows, have)
            used = np.minimum(held, counts)
            self._have[wanted.columns, rows] = have[wanted.flat] - wanted.each * used
            self._touched[rows] = self._now
            full = used == held
            if not np.count_nonzero(full):
                return clusters[:0], counts[:0]
            clusters, counts = clusters[full], (counts - used)[full]
            remembered.first[clusters] = following = rows[full] + 1
            remembered.is_full = remembered.is_full or bool((following == ends[clusters]).any())
            more = counts > 0
            clusters, counts = clusters[more], counts[more]
        return clusters, counts

    def _on_all_rows(self, wanted: ReplicaColumns, placed: Numbers) -> None:
        layout = self._layout
        each = self._each(wanted)
        held = np.minimum(each, estimate.MOST) * layout.number
        before = np.cumsum(held) - held
        before = before - before[layout.start[layout.owner]]
        taken = np.minimum(np.maximum(placed[layout.owner] - before, 0), held)
        single = layout.number == 1
        self._use(wanted, np.where(single, taken, 0))
        if (several := np.flatnonzero(~single & (taken > 0))).size:
            self._split(wanted, several, each, taken)

    def _use(self, wanted: ReplicaColumns, used: Numbers) -> None:
        rows = np.flatnonzero(used)
        self._have[wanted.columns, rows] -= wanted.each * used[rows]
        self._touched[rows] = self._now

    def _split(self, wanted: ReplicaColumns, several: Numbers, each: Numbers, taken: Numbers) -> None:
        """Rows of equal nodes of which some are used now: full ones, one with the rest, and the untouched."""
        positions: list[int] = []
        numbers: list[int] = []
        uses: list[int] = []
        first_use = np.zeros(self.count, dtype=np.int64)
        number = self._layout.number.copy()
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
        owner, profile = self._layout.owner, self._layout.profile
        self._layout = RowLayout.of(
            np.insert(owner, positions, owner[sources]),
            np.insert(number, positions, numbers),
            np.insert(profile, positions, profile[sources]),
            self._clusters,
        )
        self._have = np.insert(self._have, positions, self._have[:, sources], axis=1)
        self._touched = np.zeros(self.count, dtype=np.int64)
        self._use(wanted, np.insert(first_use, positions, uses))


def _free(amount: int) -> int:
    """Less than what an amount beyond all measure asks for."""
    return max(-_LARGEST, min(_LARGEST - 1, amount))
