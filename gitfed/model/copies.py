"""The copies of one object where nearly all are as they were decided: made when somebody looks at one.

A rehearsal begins with a fleet that holds what was decided. That may be a million copies, of which a failure touches
few: so what is kept is what they are copies *of*, and beside it the few that were written or deleted since.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.fleet import LiveObject

if TYPE_CHECKING:
    from gitfed.model.plan import RenderedManifest


class Copies(Mapping[ClusterName, LiveObject]):
    """Never changed: `put` and `without` give others, so that `is` tells whether anything is another one."""

    __slots__ = ("_as_decided", "_make", "_since")

    def __init__(
        self,
        as_decided: Sequence[RenderedManifest],
        make: Callable[[RenderedManifest, ClusterName], LiveObject],
        since: Mapping[ClusterName, LiveObject | None] | None = None,
    ) -> None:
        """`make` gives a copy as it was decided, a healthy one; `since`: those that are others now, None: gone."""
        self._as_decided, self._make, self._since = as_decided, make, since or {}

    def put(self, copy: LiveObject) -> Copies:
        return Copies(self._as_decided, self._make, {**self._since, copy.cluster: copy})

    def without(self, cluster: ClusterName) -> Copies:
        return Copies(self._as_decided, self._make, {**self._since, cluster: None})

    def doubtful(self, clusters: Sequence[ClusterName]) -> Iterable[ClusterName]:
        """Those of the clusters whose copy may not be as it was decided, and healthy."""
        if any(clusters == one.clusters for one in self._as_decided):
            return [name for name in clusters if name in self._since] if self._since else ()
        return [name for name in clusters if name in self._since or self._decided(name) is None]

    def unlike(self, wanted: Iterable[RenderedManifest]) -> set[ClusterName]:
        """Where the copy may not be as `wanted` says, or should not be at all."""
        found = set(self._since)
        if wanted is self._as_decided:
            return found
        before = {one.digest: one.clusters for one in self._as_decided}
        for one in wanted:
            known = before.pop(one.digest, ())
            if known != one.clusters:
                found.update({*known} ^ {*one.clusters})
        return found.union(*before.values())

    def __getitem__(self, cluster: ClusterName) -> LiveObject:
        found = self.get(cluster)
        if found is None:
            raise KeyError(cluster)
        return found

    def get(self, cluster: ClusterName, default: LiveObject | None = None) -> LiveObject | None:  # type: ignore[override]
        if cluster in self._since:
            return self._since[cluster] or default
        rendered = self._decided(cluster)
        return default if rendered is None else self._make(rendered, cluster)

    def __contains__(self, cluster: object) -> bool:
        return isinstance(cluster, str) and self.get(cluster) is not None

    def __iter__(self) -> Iterator[ClusterName]:
        for one in self._as_decided:
            yield from (name for name in one.clusters if name not in self._since)
        yield from (name for name, copy in self._since.items() if copy is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _decided(self, cluster: ClusterName) -> RenderedManifest | None:
        for one in self._as_decided:
            place = bisect.bisect_left(one.clusters, cluster)
            if place < len(one.clusters) and one.clusters[place] == cluster:
                return one
        return None
