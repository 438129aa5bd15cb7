"""Watches of several clusters as one: each event says where it is from, and from where a client goes on.

The version of an event holds those of all clusters, with that of its own cluster moved on to it. So whoever watches
again from there misses nothing, and hears nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitfed.fleet_api import merge, versions

Body = dict[str, Any]

_INITIAL_END = "k8s.io/initial-events-end"
"""Of the bookmark that follows what is there at the beginning, where a client asks for that (`sendInitialEvents`)."""


class Merged:
    """`told`: the version that the client named."""

    def __init__(self, clusters: Iterable[str], told: str) -> None:
        self._versions = versions.decode(told)
        """Those of clusters that give no answer stay: once they are back the client goes on from there."""
        self._columns: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._beginning = set(clusters)
        """Clusters whose initial events have not all come."""

    def event(self, cluster: str, event: Mapping[str, Any]) -> Body | None:
        """What the client is told; None: nothing yet. An ERROR is passed on as it is, and ends the watch."""
        body = event.get("object")
        if event.get("type") == "ERROR" or not isinstance(body, Mapping):
            return dict(event)
        if version := _version(body):
            self._versions[cluster] = version
        if event.get("type") == "BOOKMARK" and _ends_the_beginning(body):
            self._beginning.discard(cluster)
            if self._beginning:
                return None
        if not merge.is_table(body):
            return {**event, "object": merge.marked(body, cluster, self._versions)}
        if body.get("columnDefinitions"):
            self._columns[cluster] = body["columnDefinitions"]
        table = merge.table_event(body, cluster, self._columns.get(cluster, ()), self._versions)
        if version:
            table["metadata"] = {**(body.get("metadata") or {}), "resourceVersion": versions.encode(self._versions)}
        return {**event, "object": table}


def _version(body: Mapping[str, Any]) -> str:
    version = (body.get("metadata") or {}).get("resourceVersion")
    return str(version or next((_version(one) for one in _objects(body)), ""))


def _ends_the_beginning(body: Mapping[str, Any]) -> bool:
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    return annotations.get(_INITIAL_END) == "true" or any(_ends_the_beginning(one) for one in _objects(body))


def _objects(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of a table's rows."""
    return [row["object"] for row in body.get("rows") or () if isinstance(row.get("object"), Mapping)]
