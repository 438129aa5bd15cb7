"""Events of a watch as clients are told them, written once for all of them.

What a client is told differs from what the next one is told in one thing alone: the version of the fleet, which holds
how far each of them has come. So an event is read and written once, with gaps where versions go:

    {"type":"MODIFIED","object":{…,"metadata":{…,"resourceVersion":"  ","annotations":{…}}}}
                                                                   gap

Members send each caller their own stream, so the same line comes once for each of them. A caller gets no line here
that their own stream did not bring: lines are looked up by their bytes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import orjson

from gitfed.fleet_api import merge
from gitfed.text.values import dataclass

Columns = Sequence[Mapping[str, Any]]

LIMIT = 8 << 20
"""Bytes of lines after which those that came before the last so many are forgotten: those of a second or two, of a
fleet in which much happens. Clients that are further apart than that have each their own work done."""
_GAP = secrets.token_hex(16)
"""Stands where versions go, until the text is cut there. No object can hold it, because it is random."""
_INITIAL_END = "k8s.io/initial-events-end"
"""Of the bookmark that follows what is there at the beginning, where a client asks for that (`sendInitialEvents`)."""


@dataclass(frozen=True, slots=True)
class EventText:
    pieces: tuple[bytes, ...]
    """Between two of them is a gap. The last ends the line."""
    own: tuple[str, ...]
    """For each gap, the version in the cluster that the version of the fleet is to hold."""
    version: str = ""
    """Where its cluster is with this event; "" where it does not say."""
    columns: bytes | None = None
    """Of a table that names its columns: those, as JSON."""
    is_bookmark: bool = False
    ends_the_beginning: bool = False
    is_error: bool = False
    is_plain: bool = field(init=False)
    """It is nothing but an object with a version, as nearly all are."""

    def __post_init__(self) -> None:
        plain = self.own == (self.version,) and self.columns is None and not self.is_bookmark
        object.__setattr__(self, "is_plain", plain)


class EventTexts:
    """The texts of recent events, of all clusters."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._sources: dict[tuple[str, bytes], ClusterEventTexts] = {}
        self.written = 0

    def source(self, cluster: str, shown: bytes = b"") -> ClusterEventTexts:
        """`shown`: the columns that tables of a stream last named, as JSON."""
        source = self._sources.get((cluster, shown))
        if source is None:
            source = self._sources[cluster, shown] = ClusterEventTexts(self, cluster, shown)
        return source

    def wrote(self, size: int) -> None:
        self.written += 1
        self._size += size
        if self._size > self._limit:
            self._size = size
            self._sources = {key: source for key, source in self._sources.items() if source.young}
            for source in self._sources.values():
                source.old, source.young = source.young, {}


class ClusterEventTexts:
    """Texts that are written alike: of one cluster and, for tables, of the same columns."""

    __slots__ = ("_cluster", "_shown", "_texts", "old", "young")

    def __init__(self, texts: EventTexts, cluster: str, shown: bytes) -> None:
        self._texts = texts
        self._cluster = cluster
        self._shown = shown
        self.young: dict[bytes, EventText] = {}
        """By the line that the cluster sent."""
        self.old: dict[bytes, EventText] = {}

    def of(self, line: bytes) -> EventText:
        """Raises ValueError for no event."""
        text = self.young.get(line) or self.old.get(line)
        if text is None:
            text = _written(self._cluster, line, self._shown)
            self._texts.wrote(len(line))
            self.young[line] = text
        return text


def _written(cluster: str, line: bytes, shown: bytes) -> EventText:
    event = orjson.loads(line)
    if not isinstance(event, dict):
        raise ValueError("an event is a JSON object")
    body = event.get("object")
    if event.get("type") == "ERROR" or not isinstance(body, dict):
        return EventText((orjson.dumps(event) + b"\n",), (), is_error=event.get("type") == "ERROR")
    try:
        return _of_object(cluster, event, body, shown)
    except (TypeError, AttributeError) as error:
        raise ValueError("the object of an event is no Kubernetes object") from error


def _of_object(cluster: str, event: dict[str, Any], body: dict[str, Any], shown: bytes) -> EventText:
    own: list[str] = []

    def stamp(version: str) -> str:
        own.append(version)
        return _GAP

    version, columns = version_of(body), None
    if not merge.is_table(body):
        told = merge.marked(body, cluster, stamp)
    else:
        if named := body.get("columnDefinitions"):
            columns = orjson.dumps(named)
        told = merge.table_event(body, cluster, named or orjson.loads(shown or b"[]"), stamp)
        if version:
            told["metadata"] = {**(body.get("metadata") or {}), "resourceVersion": _GAP}
            # Gaps are filled in the order in which they stand.
            own.insert(0 if _stands_before(told, "metadata", "rows") else len(own), version)
    pieces = (orjson.dumps({**event, "object": told}) + b"\n").split(_GAP.encode())
    bookmark = event.get("type") == "BOOKMARK"
    ends = bookmark and _ends_the_beginning(body)
    return EventText(tuple(pieces), tuple(own), version, columns, bookmark, ends)


def _stands_before(told: Mapping[str, Any], first: str, second: str) -> bool:
    names = list(told)
    return names.index(first) < names.index(second)


def version_of(body: Mapping[str, Any]) -> str:
    """Of an object, or of the first in a table that has none itself."""
    version = (body.get("metadata") or {}).get("resourceVersion")
    return str(version or next((version_of(row_object) for row_object in _objects(body)), ""))


def _ends_the_beginning(body: Mapping[str, Any]) -> bool:
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    return annotations.get(_INITIAL_END) == "true" or any(
        _ends_the_beginning(row_object) for row_object in _objects(body)
    )


def _objects(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of a table's rows."""
    return [row["object"] for row in body.get("rows") or () if isinstance(row.get("object"), Mapping)]
