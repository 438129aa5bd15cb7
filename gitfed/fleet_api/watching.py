"""Watches of several clusters as one: each event says where it is from, and from where a client goes on.

The version of an event holds those of all clusters, with that of its own cluster moved on to it. So a client that
watches again from there misses nothing, and hears nothing twice.

Members are asked for bookmarks in any case: a cluster in which nothing happens would keep a version that expires, and
deletions from before a list would be told to clients that never had the object. A client that asked for no bookmarks
gets none, and finds these versions in the events of other clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.fleet_api import event_text, merge, versions
from gitfed.fleet_api.event_text import EventTexts

Body = dict[str, Any]


def beginning(listed: Mapping[str, Any]) -> list[Body]:
    """A list as the first events of a watch that goes on from the list's version.

    In the order of their versions: a client that is cut off in the middle goes on from the last event that came, and
    gets the others, which are newer. The last one is a bookmark with the list's own version. What an API server
    tells at the beginning of a watch without a version is in the order of names: from there a client would miss some,
    or hear of changes that it knows.
    """
    if merge.is_table(listed):
        table = {name: value for name, value in listed.items() if name != "metadata"}
        return _in_order([{"type": "ADDED", "object": {**table, "rows": [row]}} for row in listed.get("rows") or ()])
    kind, api_version = str(listed.get("kind", "")).removesuffix("List"), listed.get("apiVersion")
    own = {"kind": kind, "apiVersion": api_version}
    events = _in_order([{"type": "ADDED", "object": {**own, **item}} for item in listed.get("items") or ()])
    version = (listed.get("metadata") or {}).get("resourceVersion")
    if version:
        events.append({"type": "BOOKMARK", "object": {**own, "metadata": {"resourceVersion": version}}})
    return events


def _in_order(events: list[Body]) -> list[Body]:
    own = [event_text.version_of(event["object"]) for event in events]
    if not all(version.isdecimal() for version in own):
        return events  # of an API server of another make: nothing can be told from its versions
    return [event for _, event in sorted(zip(map(int, own), events, strict=True), key=lambda numbered: numbered[0])]


class Merged:
    """`told`: the version that the client named. `texts` may be those of other clients, too. `bookmarks`: whether it
    asked for them."""

    def __init__(self, clusters: Iterable[str], told: str, texts: EventTexts, *, bookmarks: bool = True) -> None:
        self._bookmarks = bookmarks
        self._texts = texts
        self._position = versions.Position(versions.decode(told))
        """Clusters that give no answer stay in it: once they are back the client goes on from there."""
        self._columns: dict[str, bytes] = {}
        self._beginning = set(clusters)
        """Clusters whose initial events have not all come."""

    def tell(self, cluster: str, lines: Iterable[bytes], told: list[bytes]) -> bool:
        """Add to `told` what the client is told of these; whether the watch goes on. An ERROR is passed on as it is,
        and ends it."""
        source = self._texts.source(cluster, self._columns.get(cluster, b""))
        written, moved = source.young, self._position.moved
        for line in lines:
            text = written.get(line)
            if text is None:
                try:
                    text = source.of(line)
                except ValueError:
                    return False  # it speaks another language than it was asked for
                written = source.young
            version, pieces = text.version, text.pieces
            if text.is_plain:
                told += (pieces[0], moved(cluster, version), pieces[1])
                continue
            everybody = moved(cluster, version) if version else b""
            if text.columns is not None:
                self._columns[cluster] = text.columns
                source = self._texts.source(cluster, text.columns)
                written = source.young
            if text.ends_the_beginning:
                self._beginning.discard(cluster)
                if self._beginning:
                    continue
            if text.is_bookmark and not self._bookmarks:
                continue
            told.append(pieces[0])
            for own, piece in zip(text.own, pieces[1:], strict=True):
                told += (everybody if own == version else self._position.with_version(cluster, own), piece)
            if text.is_error:
                return False
        return True
