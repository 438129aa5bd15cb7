"""One object of a member, as the cache keeps it: the bytes that answers are put together from.

An answer is a join of such bytes, so a list of thousands costs less than writing its JSON would. What changes from
answer to answer is apart: the version, which is the member's own or one of the fleet. `metadata.managedFields` is left
out: it is a third of a pod, and an API server that gets an object back without it keeps what it has.

What the pods of one workload have in common is kept once. In between stands what each has of its own:

    "annotations":{…},"name":"web-1",…   ,"labels":{…},…},"spec":{"tolerations":[…],…   ,"nodeName":"a"},"status":{…}}
    own                                  common                                         more
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from gitfed.model.base import Body
from gitfed.model.keys import CACHED_FROM_CLUSTER
from gitfed.text import canonical

OVERHEAD = 450
"""Bytes that an object takes in memory beside its text: its name, its place in the table, the parts themselves."""
SHARED_OVERHEAD = 250
"""The same of a text that several objects share."""
_BEFORE = len(b'{"metadata":{')


class Stored(NamedTuple):
    version: bytes
    """`metadata.resourceVersion`, as it stands in JSON."""
    labels: bytes
    """As JSON. Objects of one workload share theirs."""
    own: bytes
    """What comes after the version."""
    common: bytes
    """What comes after that; "" for an object without owner. Objects of one workload share theirs."""
    more: bytes
    """The rest."""

    @property
    def size(self) -> int:
        """Of what it does not share."""
        return len(self.own) + len(self.more) + OVERHEAD


def stored(body: Body, cluster: str, share: Callable[[bytes], bytes]) -> Stored:
    """`share` gives one value for equal ones."""
    metadata = {name: value for name, value in body["metadata"].items() if name not in _LEFT_OUT}
    annotations = body["metadata"].get("annotations") or {}
    metadata = {"annotations": {**annotations, CACHED_FROM_CLUSTER: cluster}, **metadata}
    rest = {name: value for name, value in body.items() if name not in ("apiVersion", "kind", "metadata")}
    version = orjson.dumps(str(body["metadata"].get("resourceVersion") or ""))[1:-1]
    labels = share(canonical.to_keep(orjson.dumps(body["metadata"].get("labels") or {}, option=orjson.OPT_SORT_KEYS)))
    spec = rest.get("spec")
    if not metadata.get("ownerReferences") or not isinstance(spec, dict):
        return Stored(version, labels, orjson.dumps({"metadata": metadata, **rest})[_BEFORE:], b"", b"")
    del rest["spec"]
    own = _fields(metadata, lambda name: name not in _COMMON_METADATA)
    common = b',%b},"spec":{' % _fields(metadata, _COMMON_METADATA.__contains__)
    of_workload = _fields(spec, lambda name: name not in _OWN_SPEC)
    of_pod = _fields(spec, _OWN_SPEC.__contains__)
    between = b"," if of_workload and of_pod else b""
    after = b"," + _fields(rest) if rest else b""
    return Stored(version, labels, own, share(common + of_workload), b"%b%b}%b}" % (between, of_pod, after))


_LEFT_OUT = frozenset({"annotations", "managedFields", "resourceVersion"})
_COMMON_METADATA = frozenset({"generateName", "labels", "namespace", "ownerReferences"})
_OWN_SPEC = frozenset({"containers", "ephemeralContainers", "hostname", "initContainers", "nodeName", "volumes"})
"""Of a pod: who makes pods gives each a volume of another name, mounted by its containers."""


def _fields(values: Mapping[str, Any], wanted: Callable[[str], bool] = lambda _: True) -> bytes:
    """As they stand between braces."""
    return orjson.dumps({name: value for name, value in values.items() if wanted(name)})[1:-1]


def head(api_version: str, kind: str) -> bytes:
    """What comes before the version, the same for all of a kind."""
    return orjson.dumps({"apiVersion": api_version, "kind": kind})[:-1] + b',"metadata":{"resourceVersion":"'


def text(stored: Stored, before: bytes, cluster: str = "") -> bytes:
    """The whole object. `cluster`: with a version of the fleet."""
    version = _of_fleet(cluster)(stored.version) if cluster else stored.version
    return b"".join((before, version, b'",', stored.own, stored.common, stored.more))


def texts(objects: Iterable[Stored], before: bytes, cluster: str = "") -> bytes:
    """Many, with commas between."""
    version = _of_fleet(cluster) if cluster else bytes
    parts: list[bytes] = []
    following = b"," + before
    for own_version, _, own, common, more in objects:
        parts += (following, version(own_version), b'",', own, common, more)
    return b"".join(parts)[1:]


def value(stored: Stored, before: bytes) -> dict[str, Any]:
    """The object as data."""
    body: dict[str, Any] = orjson.loads(text(stored, before))
    return body


def _of_fleet(cluster: str) -> Callable[[bytes], bytes]:
    """What `fleet_api.versions.encode` makes of the versions of this cluster."""
    name = orjson.dumps({cluster: ""})[:-2]

    def encode(version: bytes) -> bytes:
        return base64.urlsafe_b64encode(b"".join((name, version, b'"}'))).rstrip(b"=")

    return encode
