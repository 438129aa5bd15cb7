"""One object of a member, as the cache keeps it: the bytes that answers are put together from.

An answer is a join of such bytes, so a list of thousands costs less than writing its JSON would. What changes from
answer to answer is apart: the version, which is the member's own or one of the fleet. `metadata.managedFields` is left
out: it is a third of a pod, and an API server that gets an object back without it keeps what it has.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson

from gitfed.model.base import Body
from gitfed.model.keys import CACHED_FROM_CLUSTER

OVERHEAD = 350
"""Bytes that an object takes in memory beside its text: its name, its place in the table, the parts themselves."""
_BEFORE = len(b'{"metadata":{')


class Stored(NamedTuple):
    version: bytes
    """`metadata.resourceVersion`, as it stands in JSON."""
    labels: bytes
    """As JSON. Objects of one workload share theirs."""
    rest: bytes
    """Everything after the version."""

    @property
    def size(self) -> int:
        return len(self.rest) + OVERHEAD


def stored(body: Body, cluster: str, share: Callable[[bytes], bytes]) -> Stored:
    """`share` gives one value for equal ones."""
    metadata = {name: value for name, value in body["metadata"].items() if name not in _LEFT_OUT}
    annotations = body["metadata"].get("annotations") or {}
    first = {"annotations": {**annotations, CACHED_FROM_CLUSTER: cluster}}
    rest = {name: value for name, value in body.items() if name not in ("apiVersion", "kind", "metadata")}
    text = orjson.dumps({"metadata": {**first, **metadata}, **rest})
    version = orjson.dumps(str(body["metadata"].get("resourceVersion") or ""))[1:-1]
    labels = orjson.dumps(body["metadata"].get("labels") or {}, option=orjson.OPT_SORT_KEYS)
    return Stored(version, share(labels), text[_BEFORE:])


_LEFT_OUT = frozenset({"annotations", "managedFields", "resourceVersion"})


def head(api_version: str, kind: str) -> bytes:
    """What comes before the version, the same for all of a kind."""
    return orjson.dumps({"apiVersion": api_version, "kind": kind})[:-1] + b',"metadata":{"resourceVersion":"'


def text(one: Stored, before: bytes, cluster: str = "") -> bytes:
    """The whole object. `cluster`: with a version of the fleet."""
    return b"".join((before, _of_fleet(cluster)(one.version) if cluster else one.version, b'",', one.rest))


def texts(objects: Iterable[Stored], before: bytes, cluster: str = "") -> bytes:
    """Many, with commas between."""
    version = _of_fleet(cluster) if cluster else bytes
    parts: list[bytes] = []
    following = b"," + before
    for one in objects:
        parts += (following, version(one.version), b'",', one.rest)
    return b"".join(parts)[1:]


def value(one: Stored, before: bytes) -> dict[str, Any]:
    """The object as data."""
    found: dict[str, Any] = orjson.loads(text(one, before))
    return found


def _of_fleet(cluster: str) -> Callable[[bytes], bytes]:
    """What `fleet_api.versions.encode` makes of the versions of this cluster."""
    name = orjson.dumps({cluster: ""})[:-2]

    def encode(version: bytes) -> bytes:
        return base64.urlsafe_b64encode(b"".join((name, version, b'"}'))).rstrip(b"=")

    return encode
