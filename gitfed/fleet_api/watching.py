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


def beginning(listed: Mapping[str, Any], *, bookmark: bool) -> list[Body]:
    """A list as the first events of a watch that goes on from the list's version.

    In the order of their versions: who is cut off in the middle goes on from the last one that came, and is told the
    others again because they are newer. What an API server tells at the beginning of a watch without a version is in
    the order of names: from there a client would miss some, or hear of changes that it knows.
    `bookmark`: whether the client asked for such.
    """
    if merge.is_table(listed):
        table = {name: value for name, value in listed.items() if name != "metadata"}
        return _in_order([{"type": "ADDED", "object": {**table, "rows": [row]}} for row in listed.get("rows") or ()])
    kind, api_version = str(listed.get("kind", "")).removesuffix("List"), listed.get("apiVersion")
    own = {"kind": kind, "apiVersion": api_version}
    events = _in_order([{"type": "ADDED", "object": {**own, **item}} for item in listed.get("items") or ()])
    version = (listed.get("metadata") or {}).get("resourceVersion")
    if bookmark and version:
        events.append({"type": "BOOKMARK", "object": {**own, "metadata": {"resourceVersion": version}}})
    return events


def _in_order(events: list[Body]) -> list[Body]:
    found = [_version(event["object"]) for event in events]
    if not all(version.isdecimal() for version in found):
        return events  # of an API server of another make: nothing can be told from its versions
    return [event for _, event in sorted(zip(map(int, found), events, strict=True), key=lambda one: one[0])]


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
