"""The values that a table of nodes is made of: which row is whose, what a replica asks of a row, what was placed where.

Arrays of numpy, all of whole numbers; nothing here is changed once it is made. What is done with them is `table`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


class Placed(NamedTuple):
    """Replicas in some clusters of a fleet: the places of these, and how many there."""

    clusters: npt.NDArray[np.intp]
    counts: Numbers
    most: int
    """The largest of the counts."""
    sign: bytes
    """A digest of both."""

    @classmethod
    def of(cls, clusters: Sequence[int], counts: Sequence[int]) -> Placed:
        places, numbers = np.array(clusters, dtype=np.intp), np.array(counts, dtype=np.int64)
        sign = hashlib.blake2b(places.tobytes() + numbers.tobytes(), digest_size=16).digest()
        return cls(places, numbers, max(counts, default=0), sign)


class ReplicaColumns(NamedTuple):
    """What one replica asks of a row, in terms of one table."""

    amounts: tuple[tuple[int, int], ...]
    """(column, amount), of resources that some row has."""
    columns: Numbers
    """The columns, one below the other; and their amounts. As `amounts`."""
    flat: Numbers
    """The columns, side by side."""
    each: Numbers
    most: int
    """The largest amount."""
    possible: bool
    """Every resource is one that some row has."""
    eligible: Flags | None
    """By distinct node: whether such a replica may use it. None: all of them."""


class RowLayout(NamedTuple):
    """Which row is whose. Shared by all copies of a table until one of them splits rows."""

    owner: Numbers
    number: Numbers
    """Equal nodes in a row."""
    profile: Numbers
    start: Numbers
    """By cluster: its first row, and the row after its last one."""
    end: Numbers
    present: Flags
    """By cluster: whether it has rows."""
    owners: Numbers
    """The clusters that have rows, and the first row of each."""
    starts: Numbers
    all_single: bool
    """Every row is one node, or one cluster."""
    everywhere: bool
    """Every cluster has rows."""

    @classmethod
    def of(cls, owner: Numbers, number: Numbers, profile: Numbers, clusters: int) -> RowLayout:
        owners, starts, lengths = np.unique(owner, return_index=True, return_counts=True)
        start, end = np.zeros(clusters, dtype=np.int64), np.zeros(clusters, dtype=np.int64)
        start[owners], end[owners] = starts, starts + lengths
        return cls(
            owner,
            number,
            profile,
            start,
            end,
            end > start,
            owners,
            starts,
            bool((number == 1).all()),
            len(owners) == clusters,
        )
