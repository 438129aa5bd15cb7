"""The room of a whole fleet at once, and what earlier decisions of the same build have taken of it.

Two workloads that are placed by one build must not be given the same room (Karmada: scheduling §5.5, in-flight
assumptions). `FleetCapacity` starts with what the facts say, answers for one requirement after the other how many
replicas fit in each cluster, and is told after each decision what was newly placed: pods go on the first nodes that can
take them, and a pod that finds no node counts against the cluster as a whole.

The numbers are those of `estimate.room`, cluster by cluster; a test holds the two together. Thousands of workloads
times thousands of nodes are a matter of array arithmetic (`table`): importing this module imports numpy (a tenth of a
second), so only a build that has to place something by room does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gitfed.model.base import Body
from gitfed.model.decisions import Share
from gitfed.placement.capacity import estimate
from gitfed.placement.capacity.capacity import Column, ColumnLayout
from gitfed.placement.capacity.estimate import Capacity, Row
from gitfed.placement.capacity.node_columns import Numbers, Placed
from gitfed.placement.capacity.node_table import Collected
from gitfed.text import canonical, quantity
from gitfed.text.identity import IdentityMemo

Tables: TypeAlias = tuple[Sequence[Row], Sequence[Row], Sequence[Row]]
"""One cluster as one row, its nodes by grade, its nodes."""
Read: TypeAlias = tuple[Capacity | None, Tables | None]

_LANES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
_STEPS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
"""Odd numbers without a pattern, for the two halves of a trace."""
_SHIFT = np.uint64(29)


class FleetCapacity:
    """Mutable: `take` reduces what later questions find. `copy` before a line of questions that must not be seen."""

    def __init__(self, capacities: Mapping[str, Capacity | None], read: dict[str, Read] | None = None) -> None:
        """Clusters with None, or with amounts that cannot be read, are not known: their room is None. `read` keeps
        what was read of each cluster for the next time, when few of them have changed."""
        read = {} if read is None else read
        self._layout = ColumnLayout(tuple(capacities))
        count = len(self._layout.names)
        collected = Collected(count), Collected(count), Collected(count)
        reported = []
        for index, (name, capacity) in enumerate(capacities.items()):
            here = _read(name, capacity, read)
            reported.append(here is not None)
            for table, rows in zip(collected, here or ((), (), ()), strict=True):
                table.add(index, rows)
        self._unknown = tuple(index for index, is_known in enumerate(reported) if not is_known)
        self._sums, self._graded, self._nodal = (table.close() for table in collected)
        self._wanted: dict[str, Mapping[str, int]] = {}
        """What one replica asks for, by the digest of its requirements."""
        self._start()

    def _start(self) -> None:
        self._answers: dict[str, Column] = {}
        self._pending: list[tuple[str, Body | None, Placed]] = []
        self._traces: npt.NDArray[np.uint64] = np.zeros((len(self._layout.names), 2), dtype=np.uint64)
        self._untraced: list[tuple[int, Placed]] = []
        self._trace = b""
        """Of all clusters: what is asked most by far needs no look at each of them."""
        self._is_own = False
        self._places: dict[tuple[str, ...], Numbers] = {}
        self._traced = IdentityMemo(self._trace_of)
        """By the identity of the names, which are kept alive here: thousands of workloads in a row ask for the same."""

    def copy(self) -> FleetCapacity:
        """With what was taken so far; what will be taken of one is not taken of the other."""
        self._settle()
        twin = object.__new__(FleetCapacity)
        twin._layout, twin._unknown, twin._wanted = self._layout, self._unknown, self._wanted
        twin._sums, twin._graded, twin._nodal = self._sums, self._graded, self._nodal
        twin._start()
        twin._answers, twin._traces, twin._trace = dict(self._answers), self._traces.copy(), self._trace
        twin._untraced = list(self._untraced)
        self._is_own = False
        return twin

    # -- asking ----------------------------------------------------------------------------------------------------

    def of(self, requirements: Body | None, key: str = "") -> Column:
        """Replicas with these requirements that each cluster can take now. `key`: their digest, if known."""
        key = key or canonical.digest(requirements)
        self._settle()
        column = self._answers.get(key)
        if column is None:
            column = self._answers[key] = self._ask(requirements, key)
        return column

    def sets(self, components: Sequence[Body]) -> Column:
        """Complete sets of these components that each cluster can take now (Karmada: scheduling §5.4)."""
        self._settle()
        parts = list(estimate.parts_of(components))
        counts: list[int | None] = []
        for index in range(len(self._layout.names)):
            limits = [estimate.sets_in_sum(row.slots, row.free, parts) for row in self._sums.rows_of(index)]
            for table in (self._graded, self._nodal):
                if rows := table.rows_of(index):
                    limits.append(estimate.sets_on(rows, parts))
            counts.append(None if index in self._unknown else max(0, min(limits, default=0)))
        return Column(self._layout, counts)

    def trace(self, names: tuple[str, ...]) -> bytes:
        """What was taken of these clusters, as a digest: equal ones mean equal room while the facts are the same.
        Empty for nothing."""
        if not self._trace:
            return b""
        return self._traced(names)

    def _trace_of(self, names: tuple[str, ...]) -> bytes:
        if names == self._layout.names:
            return self._trace
        for part, placed in self._untraced:
            number = placed.counts.astype(np.uint64) + np.uint64(part << 32)
            mixed = (self._traces[placed.clusters] ^ number.reshape(-1, 1)) * _LANES
            self._traces[placed.clusters] = (mixed ^ (mixed >> _SHIFT)) * _STEPS
        self._untraced.clear()
        places = self._places.get(names)
        if places is None:
            index = self._layout.index
            places = self._places[names] = np.array([index[name] for name in names if name in index], dtype=np.intp)
        traces = self._traces[places]
        return hashlib.blake2b(traces.tobytes(), digest_size=16).digest() if traces.any() else b""

    def _ask(self, requirements: Body | None, key: str) -> Column:
        replica = self._one(requirements, key)
        if requirements is not None:
            counts = self._sums.total(key, self._sums.wanted(key, replica, None))
        else:
            counts = self._sums.total("", self._sums.wanted("", {}, None))
        if self._graded.count and requirements is not None:
            pods = self._sums.total("", self._sums.wanted("", {}, None))
            graded = self._graded.total(key, self._graded.wanted(key, replica, None))
            counts = np.where(self._graded.present, np.minimum(pods, graded), counts)
        if not self._sums.everywhere:
            counts = np.where(self._sums.present, counts, estimate.MOST)
        if self._nodal.count:
            nodal = np.minimum(counts, self._nodal.total(key, self._nodal.wanted(key, replica, requirements)))
            counts = nodal if self._nodal.everywhere else np.where(self._nodal.present, nodal, counts)
        numbers: list[int | None] = np.minimum(counts, estimate.MOST).tolist()
        for index in self._unknown:
            numbers[index] = None
        return Column(self._layout, numbers)

    def _one(self, requirements: Body | None, key: str) -> Mapping[str, int]:
        if key not in self._wanted:
            self._wanted[key] = estimate.wanted(requirements)
        return self._wanted[key]

    # -- taking ----------------------------------------------------------------------------------------------------

    def placed(self, shares: Sequence[Share], before: Sequence[Share] = ()) -> Placed:
        """What `shares` place in addition to what was there before."""
        had = {share.cluster: share.replicas or 0 for share in before}
        index = self._layout.index
        more = [
            (index[name], min(count, estimate.MOST))  # a script may say any number; room is never found beyond this one
            for name, replicas in shares
            if (count := (replicas or 0) - had.get(name, 0)) > 0 and name in index
        ]
        return Placed.of([at for at, _ in more], [count for _, count in more])

    def by_name(self, placed: Placed) -> dict[str, int]:
        names = self._layout.names
        return {names[at]: count for at, count in zip(placed.clusters.tolist(), placed.counts.tolist(), strict=True)}

    def take(self, requirements: Body | None, placed: Placed, key: str = "", part: int = 0) -> None:
        """So many more replicas were placed in these clusters. `key`: the digest of the requirements, if known.
        `part`: a number that stands for them in traces."""
        if not len(placed.clusters):
            return
        self._pending.append((key or canonical.digest(requirements), requirements, placed))
        self._untraced.append((part, placed))
        self._traced.clear()
        told = b"%b%d %b" % (self._trace, part, placed.sign)
        self._trace = hashlib.blake2b(told, digest_size=16).digest()

    def _settle(self) -> None:
        """Arithmetic begins when somebody asks: most builds of a daemon only repeat what is known."""
        if not self._pending:
            return
        if not self._is_own:
            self._sums, self._graded, self._nodal = self._sums.copy(), self._graded.copy(), self._nodal.copy()
            self._is_own = True
        for key, requirements, placed in self._pending:
            replica = self._one(requirements, key)
            self._sums.subtract(self._sums.wanted(key, replica, None), placed)
            if self._graded.count:
                self._graded.fill(key, self._graded.wanted(key, replica, None), placed)
            if self._nodal.count:
                self._nodal.fill(key, self._nodal.wanted(key, replica, requirements), placed)
        self._pending.clear()
        self._answers.clear()


def _read(name: str, capacity: Capacity | None, cache: dict[str, Read]) -> Tables | None:
    """The rows of one cluster; None: nothing is known of it."""
    before = cache.get(name)
    if before is not None and before[0] == capacity:
        return before[1]
    try:
        here = _rows(capacity)
    except quantity.QuantityError:
        here = None
    cache[name] = capacity, here
    return here


def _rows(capacity: Capacity | None) -> Tables | None:
    if capacity is None or (capacity.summary is None and not capacity.nodes):
        return None
    nodal = [Row.of(node) for node in capacity.nodes]
    if (summary := capacity.summary) is None:
        return (), (), nodal
    spare = {name: estimate.free_in(summary, name) for name in estimate.table(summary, "allocatable")}
    spare.pop(estimate.PODS, None)
    whole = Row(1, estimate.pods_in(summary), spare, None)
    return [whole], estimate.grade_rows(summary, capacity.grades), nodal
