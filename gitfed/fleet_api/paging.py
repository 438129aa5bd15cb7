"""A list of the fleet, in pages: cluster by cluster in the order of their names, as many objects as a page may have.

    limit 5, m1 has 3, m2 has 4     m1 ×3, m2 ×2, goes on in m2 by its token  ·  m2 ×2
    limit 3                         m1 ×3, goes on in m2 from its beginning   ·  m2 ×3, …

`Page` says what to ask next, the caller asks, and tells it the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from gitfed.fleet_api import merge, versions
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for a part of the list."""

    cluster: str
    limit: int = 0
    """0: no limit."""
    token: str = ""
    version: str = ""


@dataclass(slots=True)
class Page:
    """`clusters` in order. `version`: what the client named; `place`: where it goes on."""

    clusters: Sequence[str]
    limit: int = 0
    version: str = ""
    place: versions.Continue | None = None
    _parts: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    _versions: dict[str, str] = field(default_factory=dict)
    _taken: int = 0
    _token: str = ""
    _next: int = 0

    def __post_init__(self) -> None:
        if self.place is not None:
            self._versions = dict(self.place.versions)
            before = [name for name in self.clusters if name < self.place.cluster]
            self._next = len(before)

    def ask(self) -> Ask | None:
        """None: the page is full, or nothing is left."""
        if self._token or self._next >= len(self.clusters) or (self.limit and self._taken >= self.limit):
            return None
        cluster = self.clusters[self._next]
        limit = self.limit - self._taken if self.limit else 0
        if self.place is not None and self.place.cluster == cluster and self.place.token:
            return Ask(cluster, limit, self.place.token)
        return Ask(cluster, limit, version=self._version(cluster))

    def _version(self, cluster: str) -> str:
        if self.place is not None:
            return self.place.versions.get(cluster, "")
        return versions.of_cluster(self.version, cluster)

    def answered(self, asked: Ask, part: Mapping[str, Any]) -> None:
        """A list or a Table of that cluster."""
        metadata = part.get("metadata") or {}
        self._parts.append((asked.cluster, part))
        self._taken += len(part.get("rows") or part.get("items") or ())
        self._token = str(metadata.get("continue") or "")
        if metadata.get("resourceVersion"):
            self._versions[asked.cluster] = str(metadata["resourceVersion"])
        if not self._token:
            self._next += 1

    def left_out(self, asked: Ask) -> None:
        """That cluster does not answer, or has no such kind: the list goes on without it."""
        self._versions.pop(asked.cluster, None)
        self._next += 1

    def unseen(self) -> list[str]:
        """Clusters left to later pages whose version is not known yet: they are asked for the present one."""
        return [name for name in self.clusters[self._next :] if name not in self._versions]

    def seen(self, cluster: str, version: str) -> None:
        """The present version of one of the `unseen`."""
        if version:
            self._versions[cluster] = version

    @property
    def empty(self) -> bool:
        """No cluster answered."""
        return not self._parts

    def made(self) -> dict[str, Any]:
        body = merge.lists(self._parts)
        metadata: dict[str, Any] = {"resourceVersion": versions.encode(self._versions)}
        if self._next < len(self.clusters):
            place = versions.Continue(self._versions, self.clusters[self._next], self._token)
            metadata["continue"] = versions.encode_continue(place)
        body["metadata"] = metadata
        return body
