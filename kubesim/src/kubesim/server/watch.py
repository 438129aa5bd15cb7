"""Watches: what changed, as it changes.

A watch is a subscription to one collection. Which events a watcher gets is decided when the event happens, once per
watcher and without encoding anything; the JSON of an object is made once for all who want it. What leaves a selector
is DELETED for that watcher, with its last matching state; what enters is ADDED. History that is gone is told as an
ERROR event of an otherwise successful answer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Final

import orjson

from kubesim import status
from kubesim.kind import Kind
from kubesim.server import forms, options, read, tables
from kubesim.server.tables import Form
from kubesim.server.world import World
from kubesim.store import Event, Record, Subscription, VersionGone

Body = dict[str, Any]

Change = tuple[str, Record]
"""(ADDED | MODIFIED | DELETED, the state to show)."""

_END: Final = {"k8s.io/initial-events-end": "true"}
_BOOKMARK_EVERY: Final = 60.0
_BOOKMARK_BEFORE_END: Final = 2.0
_LONGEST: Final = (1800.0, 3600.0)
"""Seconds after which a watch without a timeout of its own is ended, somewhere in between."""


def select(prefix: str, match: Callable[[Record], bool]) -> Callable[[Event], Change | None]:
    """What one watcher sees of an event."""

    def chosen(event: Event) -> Change | None:
        if prefix and not event.key.startswith(prefix):
            return None
        old, new = event.old, event.new
        was = old is not None and match(old)
        if new is not None and match(new):
            return ("MODIFIED" if was else "ADDED"), new
        return ("DELETED", event.departed()) if was else None

    return chosen


class Watch:
    """One open watch: its checks are done at once, its events come by ``events`` (structured) or ``stream`` (bytes)."""

    def __init__(
        self, world: World, kind: Kind, namespace: str, found: options.ListOptions, form: Form, name: str = ""
    ) -> None:
        self._world, self._kind, self._form, self._options = world, kind, form, found
        if form.yaml:
            raise status.not_acceptable(forms.STREAMS)
        if form.shape == "Table":
            tables.check_include(form.include)
        chosen = read.filter_of(kind, found)
        version = options.version(found.resource_version)
        if isinstance(version, str):
            raise status.untyped(read.bad_version(found.resource_version, version))
        self._wanted = version if found.send_initial else 0
        self._prefix = f"{namespace}/" if kind.namespaced and namespace else ""
        match = chosen.matcher(kind)
        if name:
            key = self._prefix + name
            self._match: Callable[[Record], bool] = lambda record: record.key == key and match(record)
        else:
            self._match = match
        self._headed = True
        self._initial: list[Record] = []
        self._gone = 0
        self._subscription = self._subscribe(version)

    def _subscribe(self, version: int) -> Subscription | None:
        world, wanted = self._world, self._options.send_initial
        pick = select(self._prefix, self._match)
        # Without a version, and with 0, a watch begins with what exists unless it asks not to.
        begins_with_state = wanted or (wanted is None and version == 0)
        since = None if begins_with_state or version == 0 else version
        if begins_with_state:
            records = world.store.collection(self._kind.storage_key).between(self._prefix)
            self._initial = [record for record in records if self._match(record)]
        try:
            subscription = world.store.subscribe(self._kind.storage_key, since, pick)
        except VersionGone as gone:
            self._gone = gone.oldest
            return None
        self._begun_at = world.store.version
        self._future = since if since is not None and since > world.store.version else 0
        return subscription

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()

    # what is sent

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Lines of JSON, as many at once as are waiting. Ends with the timeout or when the store cuts it off."""
        subscription = self._subscription
        if subscription is None:
            yield self._expired()
            return
        try:
            if self._wanted > self._world.store.version:
                # Initial events of a state that is not there yet: given a moment, then told within the stream.
                await asyncio.sleep(self._world.patience)
            try:
                read.check_reached(self._world, self._wanted)
            except read.NotReached as error:
                yield _error(error)
                return
            if self._initial:
                yield b"".join(self._frame("ADDED", record) for record in self._initial)
                self._initial = []
            if self._options.send_initial and self._options.bookmarks:
                # Of the state that was told: what came meanwhile follows, and must not be passed over.
                begun = max(self._begun_at, self._wanted or 0)
                yield self._bookmark(begun, _END)
            async for piece in self._changes(subscription):
                yield piece
        finally:
            subscription.close()

    async def _changes(self, subscription: Subscription) -> AsyncIterator[bytes]:
        now = _monotonic()
        timeout = self._options.timeout
        end = now + (timeout if timeout is not None and timeout > 0 else random.uniform(*_LONGEST))
        next_bookmark = self._first_bookmark(now, end)
        while True:
            ready = await subscription.wait(max(0.0, min(end, next_bookmark) - _monotonic()))
            now = _monotonic()
            changes = [change for change in subscription.take() if change[1].version > self._future]
            told = [self._frame(kind, record) for kind, record in changes]
            over = ready and subscription.closed
            if now >= next_bookmark and not over:
                next_bookmark = now + _BOOKMARK_EVERY
                told.append(self._bookmark(self._world.store.version))
            # In one piece: while it is sent more may happen, and a bookmark must not be beyond what was told before it.
            if told:
                yield b"".join(told)
            if over or now >= end:
                return

    def _first_bookmark(self, now: float, end: float) -> float:
        if not self._options.bookmarks:
            return float("inf")
        first = min(now + _BOOKMARK_EVERY, end - _BOOKMARK_BEFORE_END)
        return first if first > now else float("inf")

    def _expired(self) -> bytes:
        text = f"too old resource version: {self._options.resource_version} ({self._gone})"
        return _error(status.gone(text))

    def _frame(self, change: str, record: Record) -> bytes:
        kind, form = self._kind, self._form
        if form.shape == "Table":
            data = orjson.dumps(self._table(record))
        elif form.shape:
            data = forms.encoded_partial(record, form.version)
        else:
            data = forms.encoded(record, kind)
        return b'{"type":"' + change.encode() + b'","object":' + data + b"}\n"

    def _table(self, record: Record) -> Body:
        body = forms.view(record, self._kind)
        metadata = {"resourceVersion": str(record.version)}
        shown = tables.table([body], self._kind, self._form, self._world.clock.now(), metadata, headed=self._headed)
        self._headed = False
        return shown

    def _bookmark(self, version: int, annotations: Body | None = None) -> bytes:
        """An empty object of the kind with a version, and the mark of the initial state's end."""
        metadata: Body = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        kind, form = self._kind, self._form
        body: Body = {"kind": kind.kind, "apiVersion": kind.api_version}
        if kind.schema is not None and not kind.custom:
            body.update(kind.schema.empty())
            if kind.group == "apps" and kind.scale is not None:
                # A number that is always there inside the server, though not in its API.
                body["spec"] = {"replicas": 0, **body["spec"]}
        body["metadata"] = metadata
        if form.shape.startswith("Partial"):
            body = tables.partial(body, form.version)
        elif form.shape == "Table":
            shown = {"resourceVersion": metadata["resourceVersion"]}
            body = tables.table([body], kind, form, self._world.clock.now(), shown, headed=self._headed)
        return b'{"type":"BOOKMARK","object":' + orjson.dumps(body) + b"}\n"


def _monotonic() -> float:
    return asyncio.get_running_loop().time()


def _error(error: status.ApiError) -> bytes:
    return b'{"type":"ERROR","object":' + orjson.dumps(error.body()) + b"}\n"
