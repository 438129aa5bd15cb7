"""The live objects of one template in a simulated fleet, where nearly all are exactly as decided: made on demand.

A simulation begins with a fleet that holds what was decided. That may be a million objects, of which a failure touches
few. So only the rendered manifests are kept, and the few objects that were written or deleted since.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.fleet import LiveObject

if TYPE_CHECKING:
    from gitfed.model.plan import RenderedManifest


class DecidedObjects(Mapping[ClusterName, LiveObject]):
    """Immutable: `put` and `without` return new mappings, so that `is` tells whether anything changed."""

    __slots__ = ("_as_decided", "_make", "_since")

    def __init__(
        self,
        as_decided: Sequence[RenderedManifest],
        make: Callable[[RenderedManifest, ClusterName], LiveObject],
        since: Mapping[ClusterName, LiveObject | None] | None = None,
    ) -> None:
        """`make` returns a healthy object as decided. `since`: the objects that differ now; None: deleted."""
        self._as_decided, self._make, self._since = as_decided, make, since or {}

    def put(self, live: LiveObject) -> DecidedObjects:
        return DecidedObjects(self._as_decided, self._make, {**self._since, live.cluster: live})

    def without(self, cluster: ClusterName) -> DecidedObjects:
        return DecidedObjects(self._as_decided, self._make, {**self._since, cluster: None})

    def doubtful(self, clusters: Sequence[ClusterName]) -> Iterable[ClusterName]:
        """Those of the clusters whose object may not be as decided, or not healthy."""
        if any(clusters == manifest.clusters for manifest in self._as_decided):
            return [name for name in clusters if name in self._since] if self._since else ()
        return [name for name in clusters if name in self._since or self._decided(name) is None]

    def unlike(self, wanted: Iterable[RenderedManifest]) -> set[ClusterName]:
        """Clusters whose object may differ from `wanted`, or should not exist."""
        unlike = set(self._since)
        if wanted is self._as_decided:
            return unlike
        before = {manifest.digest: manifest.clusters for manifest in self._as_decided}
        for manifest in wanted:
            clusters = before.pop(manifest.digest, ())
            if clusters != manifest.clusters:
                unlike.update({*clusters} ^ {*manifest.clusters})
        return unlike.union(*before.values())

    def __getitem__(self, cluster: ClusterName) -> LiveObject:
        live = self.get(cluster)
        if live is None:
            raise KeyError(cluster)
        return live

    def get(self, cluster: ClusterName, default: LiveObject | None = None) -> LiveObject | None:  # type: ignore[override]
        if cluster in self._since:
            return self._since[cluster] or default
        rendered = self._decided(cluster)
        return default if rendered is None else self._make(rendered, cluster)

    def __contains__(self, cluster: object) -> bool:
        return isinstance(cluster, str) and self.get(cluster) is not None

    def __iter__(self) -> Iterator[ClusterName]:
        for manifest in self._as_decided:
            yield from (name for name in manifest.clusters if name not in self._since)
        yield from (name for name, live in self._since.items() if live is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _decided(self, cluster: ClusterName) -> RenderedManifest | None:
        for manifest in self._as_decided:
            index = bisect.bisect_left(manifest.clusters, cluster)
            if index < len(manifest.clusters) and manifest.clusters[index] == cluster:
                return manifest
        return None
