"""What a cluster remembers: objects, their versions, and who waits for changes.

One counter numbers every write of the cluster (etcd's revision): it is the resourceVersion of the object written and
of every list taken after it. Stored bodies are never changed; a write makes a new ``Record``. The events since the
last ``forget`` are kept per collection, so a list of an earlier version is today's list with the later events undone,
and a watch from a version is the rest of the log followed by what comes. Records remember how they were encoded, so a
change is turned into JSON once however many watch it.

Nothing here knows of HTTP, kinds or rules: who may write what is decided in ``server/`` before it gets here. There is
one thread (the event loop's) and no await, so every operation is atomic.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

Body = dict[str, Any]

LOG_LIMIT: Final = 20_000
"""Events kept per collection; older ones are forgotten as by a compaction."""
VIEWS_KEPT: Final = 256
"""Events back for which superseded records still remember how they were encoded."""
QUEUE_LIMIT: Final = 50_000
"""Events a watcher may lag behind before it is cut off (it has to list again)."""


class VersionGone(Exception):
    """History before the version asked for is no longer kept. ``oldest`` is the first version that still is."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"history begins at {oldest}")
        self.oldest = oldest


@dataclass(slots=True, eq=False)
class Record:
    """One version of one object. ``views`` caches what was derived from the body (other versions of the API, JSON)."""

    key: str
    version: int
    body: Body
    views: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


@dataclass(slots=True, eq=False)
class Event:
    """One write: ``old`` is absent for a creation, ``new`` for a deletion."""

    version: int
    old: Record | None
    new: Record | None
    _departed: Record | None = None

    @property
    def key(self) -> str:
        record = self.new or self.old
        assert record is not None
        return record.key

    def departed(self) -> Record:
        """The last state under the version of this event: what a DELETED event shows."""
        if self._departed is None:
            assert self.old is not None
            self._departed = Record(self.old.key, self.version, with_version(self.old.body, self.version))
        return self._departed


class Subscription:
    """A queue of what ``select`` made of each event (``None`` is dropped). Closed by the store when it falls too far
    behind."""

    def __init__(self, collection: Collection, select: Callable[[Event], Any]) -> None:
        self._collection = collection
        self._select = select
        self._queue: deque[Any] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self.closed = False

    def offer(self, event: Event) -> None:
        chosen = self._select(event)
        if chosen is None:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            self.close()
            return
        self._queue.append(chosen)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[Any]:
        """Everything waiting now."""
        taken = list(self._queue)
        self._queue.clear()
        return taken

    async def wait(self, seconds: float | None) -> bool:
        """Until something waits or the subscription is closed; ``False`` after ``seconds`` of neither."""
        if self._queue or self.closed:
            return True
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(self._waiter, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiter = None
        return True

    def close(self) -> None:
        self.closed = True
        self._collection.subscriptions.discard(self)
        self._wake()


class Collection:
    """The objects of one kind, by key: ``namespace/name``, or ``name`` where there are no namespaces."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        """Sorted as text, which is the order of every list."""
        self.log: list[Event] = []
        self.oldest = 0
        """A list or watch from before this version is refused."""
        self.subscriptions: set[Subscription] = set()

    def append(self, event: Event) -> None:
        key = event.key
        if event.new is None:
            del self.records[key]
            del self.keys[bisect.bisect_left(self.keys, key)]
        else:
            if key not in self.records:
                bisect.insort(self.keys, key)
            self.records[key] = event.new
        self.log.append(event)
        if len(self.log) > VIEWS_KEPT:
            self._forget_views(self.log[-VIEWS_KEPT - 1])
        if len(self.log) > LOG_LIMIT:
            drop = LOG_LIMIT // 4
            self.oldest = self.log[drop - 1].version
            del self.log[:drop]
        for subscription in tuple(self.subscriptions):
            subscription.offer(event)

    def _forget_views(self, event: Event) -> None:
        """History keeps bodies, not their JSON: nobody but a watcher far behind asks for it again."""
        for record in (event.old, event.new):
            if record is not None and self.records.get(record.key) is not record:
                record.views.clear()

    def between(self, prefix: str, after: str = "") -> list[Record]:
        """Today's records whose key begins with ``prefix`` and follows ``after``, in order."""
        start = max(bisect.bisect_left(self.keys, prefix), bisect.bisect_right(self.keys, after) if after else 0)
        stop = bisect.bisect_left(self.keys, prefix + "\U0010ffff") if prefix else len(self.keys)
        return [self.records[key] for key in self.keys[start:stop]]

    def since(self, version: int) -> list[Event]:
        """The events after a version; ``VersionGone`` if some of them are forgotten."""
        if version < self.oldest:
            raise VersionGone(self.oldest)
        return self.log[bisect.bisect_right(self.log, version, key=lambda event: event.version) :]

    def at(self, version: int, prefix: str, after: str = "") -> list[Record]:
        """As ``between``, at an earlier version."""
        later = self.since(version)
        if not later:
            return self.between(prefix, after)
        view = {record.key: record for record in self.between(prefix, after)}
        for event in reversed(later):
            key = event.key
            if not key.startswith(prefix) or key <= after:
                continue
            if event.old is None:
                view.pop(key, None)
            else:
                view[key] = event.old
        return [view[key] for key in sorted(view)]


class Store:
    """All collections of a cluster and the one counter they share."""

    def __init__(self) -> None:
        self.version = 1
        self._collections: dict[str, Collection] = {}
        self.observers: list[Callable[[str, Event], None]] = []
        """Called with the collection's name after each write; they must be quick and must not write themselves."""
        self._floor = 0

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection()
            found.oldest = self._floor
        return found

    def names(self) -> list[str]:
        return list(self._collections)

    def get(self, name: str, key: str) -> Record | None:
        return self.collection(name).records.get(key)

    def put(self, name: str, key: str, body: Body) -> Record:
        """Creates or replaces. The body's resourceVersion is set here."""
        self.version += 1
        record = Record(key, self.version, with_version(body, self.version))
        collection = self.collection(name)
        self._append(name, collection, Event(self.version, collection.records.get(key), record))
        return record

    def delete(self, name: str, key: str) -> Record:
        """Answers the last state under the version of its deletion."""
        self.version += 1
        collection = self.collection(name)
        event = Event(self.version, collection.records[key], None)
        self._append(name, collection, event)
        return event.departed()

    def _append(self, name: str, collection: Collection, event: Event) -> None:
        collection.append(event)
        for observer in self.observers:
            observer(name, event)

    def cut(self, name: str) -> None:
        """Closes the watches of a collection."""
        for subscription in tuple(self.collection(name).subscriptions):
            subscription.close()

    def drop(self, name: str) -> None:
        """Forgets a whole collection without events, and closes its watches (its definition is gone)."""
        self.cut(name)
        self._collections.pop(name, None)

    def subscribe(self, name: str, since: int | None, select: Callable[[Event], Any]) -> Subscription:
        """Events after ``since`` (``None``: from now on). ``VersionGone`` if they are no longer known."""
        collection = self.collection(name)
        subscription = Subscription(collection, select)
        for event in collection.since(since) if since is not None else ():
            subscription.offer(event)
        collection.subscriptions.add(subscription)
        return subscription

    def forget(self) -> None:
        """Drops all history up to now and closes all watches: a compaction and a restart."""
        self._floor = self.version
        for name, collection in self._collections.items():
            collection.log.clear()
            collection.oldest = self.version
            self.cut(name)


def with_version(body: Body, version: int) -> Body:
    return {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
