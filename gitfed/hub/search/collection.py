"""One kind of one cluster, in one namespace or in all: what `edges.kube.reflect` tells of it, kept small.

What cannot be seen is not gone: while the cluster gives no answer the objects stay as they were, and `lost` says since
when. Memory is limited for all collections together; one that does not fit holds nothing and says so.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import orjson

from gitfed import errors
from gitfed.hub.search import stored_object
from gitfed.hub.search.stored_object import Stored
from gitfed.model.base import Body
from gitfed.text.selector import Predicate
from gitfed.text.values import dataclass


@dataclass(slots=True)
class Budget:
    """Bytes that all collections may hold."""

    limit: int
    used: int = 0

    def fits(self, size: int) -> bool:
        return self.used + size <= self.limit


@dataclass(frozen=True, slots=True)
class Lost:
    """Why what is here may be old."""

    message: str
    since: float
    """time.time()"""


class Copy(Protocol):
    """Who is told what to write to a store."""

    def changed(self, collection: Collection, key: str) -> None: ...
    def gone(self, kind: str, uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """Which objects of a collection: "" means any."""

    namespace: str = ""
    name: str = ""
    labels: Predicate | None = None


class Collection:
    """A `reflect.Follower`. Keys are `namespace/name`, which is the order in which API servers list."""

    def __init__(self, cluster: str, api_version: str, kind: str, budget: Budget, copy: Copy | None = None) -> None:
        self.cluster = cluster
        self.kind = kind
        self.head = stored_object.head(api_version, kind)
        self.version = ""
        """"": it was not listed yet."""
        self.lost_since: Lost | None = None
        self.full = False
        """It does not fit into memory."""
        self.size = 0
        """Bytes of memory."""
        self._budget = budget
        self._copy = copy
        self._objects: dict[str, Stored] = {}
        self._order: list[str] | None = None
        self._shared: dict[bytes, bytes] = {}
        self._shared_size = 0
        self._read = 0
        """Bytes of a list that is being read."""

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def is_current(self) -> bool:
        return bool(self.version) and self.lost_since is None and not self.full

    def find(self, wanted: Filter) -> Iterator[Stored]:
        """In the order of an API server."""
        if wanted.name and wanted.namespace:
            stored = self._objects.get(f"{wanted.namespace}/{wanted.name}")
            matching: Iterator[Stored] = iter(() if stored is None else (stored,))
        else:
            matching = (self._objects[key] for key in self._keys(wanted))
        if wanted.labels is None:
            return matching
        return filter(_matching(wanted.labels), matching)

    def get(self, key: str) -> Stored | None:
        return self._objects.get(key)

    def _keys(self, wanted: Filter) -> list[str]:
        if self._order is None:
            self._order = sorted(self._objects)
        if wanted.namespace:
            first = bisect.bisect_left(self._order, f"{wanted.namespace}/")
            return self._order[first : bisect.bisect_left(self._order, f"{wanted.namespace}0")]  # 0 comes after /
        if wanted.name:
            return [key for key in self._order if key.partition("/")[2] == wanted.name]
        return self._order

    # -- what reflect tells -------------------------------------------------------------------------------------------

    def project(self, body: Body) -> tuple[str, Stored] | None:
        """Of each object of a list, while its page is read."""
        stored = self._stored(body)
        self._read += stored.size
        if self.full or not self._budget.fits(self._read):
            self.full = True
            return None
        return _key(body), stored

    def listed(self, items: list[tuple[str, Stored] | None], version: str) -> None:
        before = self._objects
        self.clear()
        if not self.full:
            self._objects = dict(item for item in items if item is not None)
            self._keep_shared()
            self._take(sum(stored.size for stored in self._objects.values()))
        self._read = 0
        self.version = version
        self.lost_since = None
        if self._copy is not None and not self.full:
            self._copy_list(self._copy, before)

    def event(self, kind: str, body: Body) -> None:
        self.version = str(body["metadata"].get("resourceVersion") or self.version)
        if self.full:
            return
        key = _key(body)
        before = self._objects.pop(key, None) if kind == "DELETED" else self._objects.get(key)
        if before is not None:
            self._take(-before.size)
        if kind == "DELETED":
            self._order = None if before is not None else self._order
            if self._copy is not None:
                self._copy.gone(self.kind, str(body["metadata"].get("uid") or ""))
            return
        stored = self._stored(body)
        if not self._budget.fits(stored.size):
            self._objects.pop(key, None)
            self.clear()
            self.full = True
            return
        self._take(stored.size)
        self._objects[key] = stored
        if before is None:
            self._order = None
        if self._copy is not None:
            self._replaced(self._copy, before, body)
            self._copy.changed(self, key)

    def resumed(self) -> None:
        self.lost_since = None

    def lost(self, error: errors.GitfedError) -> None:
        self._read = 0
        self.lost_since = self.lost_since or Lost(error.message, time.time())

    def clear(self) -> None:
        """Hold nothing any more."""
        self._take(-self.size)
        self._objects, self._order, self._shared, self._shared_size = {}, None, {}, 0

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, size: int) -> None:
        self.size += size
        self._budget.used += size

    def _stored(self, body: Body) -> Stored:
        if len(self._shared) > 4 * len(self._objects) + 1000:
            self._keep_shared()
        return stored_object.stored(body, self.cluster, self._share)

    def _share(self, text: bytes) -> bytes:
        shared = self._shared.get(text)
        if shared is not None:
            return shared
        self._shared[text] = text
        size = len(text) + stored_object.SHARED_OVERHEAD
        self._shared_size += size
        self._take(size)
        return text

    def _keep_shared(self) -> None:
        """Of what objects share, only what one still has."""
        self._take(-self._shared_size)
        self._shared, self._shared_size = {}, 0
        for stored in self._objects.values():
            self._share(stored.labels)
            if stored.common:
                self._share(stored.common)

    def _copy_list(self, copy: Copy, before: dict[str, Stored]) -> None:
        """A list tells by what it lacks what is gone, and by a new uid what was replaced."""
        for key, old in before.items():
            new = self._objects.get(key)
            if new is None or (new.version != old.version and self._uid(new) != self._uid(old)):
                copy.gone(self.kind, self._uid(old))
        for key, new in self._objects.items():
            if key not in before or before[key].version != new.version:
                copy.changed(self, key)

    def _replaced(self, copy: Copy, before: Stored | None, body: Body) -> None:
        if before is not None and (uid := self._uid(before)) != str(body["metadata"].get("uid") or ""):
            copy.gone(self.kind, uid)

    def _uid(self, stored: Stored) -> str:
        return str(stored_object.value(stored, self.head)["metadata"].get("uid") or "")


def _key(body: Body) -> str:
    return f"{body['metadata'].get('namespace') or ''}/{body['metadata']['name']}"


def _matching(holds: Predicate) -> Callable[[Stored], bool]:
    """Labels are read once for all objects that share them."""
    answers: dict[bytes, bool] = {}

    def matches(stored: Stored) -> bool:
        answer = answers.get(stored.labels)
        if answer is None:
            answer = answers[stored.labels] = holds(orjson.loads(stored.labels))
        return answer

    return matches
