"""What is cached, exported to OpenSearch: index `kubernetes-<kind>`, one document for each object, by its uid.

Level-based: it is remembered which objects changed, not how, and what is written is what the collection holds then. A
store that does not answer is tried again, and meanwhile the cache answers as ever. What is deleted while the hub is
down stays in the store: no watch tells of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from gitfed.edges.backoff import Backoff
from gitfed.edges.opensearch import BulkOperation, OpenSearch
from gitfed.errors import SearchStoreError
from gitfed.hub.search import stored_object
from gitfed.hub.search.collection import Collection
from gitfed.model.declared.search import OpenSearchConfig
from gitfed.model.keys import LAST_APPLIED

BACKOFF = Backoff((1.0, 2.0, 5.0, 15.0, 30.0), 0.0, 0.5)
_AT_ONCE = 500
_MOST_GONE = 100_000
_TOLD = ("name", "namespace", "creationTimestamp", "labels", "annotations", "deletionTimestamp")

log = logging.getLogger(__name__)


class Writer:
    """One store. It is a `collection.Copy`."""

    def __init__(self, store: OpenSearch, outcomes: Counter[str]) -> None:
        self._store = store
        self._outcomes = outcomes
        self._changed: dict[tuple[Collection, str], None] = {}
        self._gone: dict[tuple[str, str], None] = {}
        self._under_way = 0
        self._news = asyncio.Event()

    @property
    def waiting(self) -> int:
        return len(self._changed) + len(self._gone) + self._under_way

    def changed(self, collection: Collection, key: str) -> None:
        self._changed[collection, key] = None
        self._news.set()

    def gone(self, kind: str, uid: str) -> None:
        if uid and len(self._gone) < _MOST_GONE:
            self._gone[kind, uid] = None
            self._news.set()

    async def run(self) -> None:
        failures, reported = 0, ""
        try:
            while True:
                await self._news.wait()
                try:
                    await self._write_some()
                    failures, reported = 0, ""
                except SearchStoreError as error:
                    failures += 1
                    self._outcomes["failed"] += 1
                    if error.message != reported:
                        log.warning("what is cached cannot be copied", extra={"error": str(error)})
                    reported = error.message
                    await asyncio.sleep(BACKOFF.after(failures))
        finally:
            await self._store.close()

    async def _write_some(self) -> None:
        """What it does not write stays remembered."""
        changed, gone = list(self._changed)[:_AT_ONCE], list(self._gone)[:_AT_ONCE]
        operations = [BulkOperation(_index(kind), uid, None) for kind, uid in gone]
        for place in changed:
            del self._changed[place]  # what changes while it is written is written again
            operations += _of_object(*place)
        self._under_way = len(changed)
        try:
            refused = await self._store.write(operations) if operations else []
        except BaseException:
            self._changed = {**dict.fromkeys(changed), **self._changed}
            raise
        finally:
            self._under_way = 0
        for deleted in gone:
            del self._gone[deleted]
        self._outcomes["refused"] += len(refused)
        self._outcomes["written"] += len(operations) - len(refused)
        if refused:
            types = ", ".join(sorted(set(refused)))
            log.warning("OpenSearch refuses objects", extra={"count": len(refused), "types": types})
        if not self.waiting:
            self._news.clear()


class Copying:
    """Every store that registries name. It is the cache's `Copies`."""

    def __init__(self, credentials_dir: Path | None) -> None:
        self.outcomes: Counter[str] = Counter()
        self._credentials_dir = credentials_dir
        self._writers: dict[OpenSearchConfig, tuple[Writer, asyncio.Task[None]]] = {}

    @property
    def waiting(self) -> int:
        """Objects that are to be written."""
        return sum(writer.waiting for writer, _ in self._writers.values())

    def to(self, config: OpenSearchConfig) -> Writer:
        if config not in self._writers:
            writer = Writer(OpenSearch(config, self._credentials_dir), self.outcomes)
            self._writers[config] = writer, asyncio.create_task(writer.run())
        return self._writers[config][0]

    async def keep_only(self, configs: Iterable[OpenSearchConfig]) -> None:
        for config in self._writers.keys() - set(configs):
            _, task = self._writers.pop(config)
            task.cancel()
            with contextlib.suppress(Exception):
                await asyncio.wait({task})


def _of_object(collection: Collection, key: str) -> list[BulkOperation]:
    """Nothing for what is gone by now."""
    stored = collection.get(key)
    if stored is None:
        return []
    body = stored_object.value(stored, collection.head)
    uid = str(body["metadata"].get("uid") or "")
    return [BulkOperation(_index(collection.kind), uid, orjson.dumps(_document(body)))] if uid else []


def _document(body: dict[str, Any]) -> dict[str, Any]:
    """As Karmada writes it: spec and status as texts, and nothing else that an object may hold (`data` of a Secret)."""
    metadata = {name: body["metadata"][name] for name in _TOLD if name in body["metadata"]}
    # kubectl keeps whole objects in it, Secrets too.
    metadata["annotations"] = {name: text for name, text in metadata["annotations"].items() if name != LAST_APPLIED}
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "metadata": metadata,
        "spec": orjson.dumps(body.get("spec")).decode(),
        "status": orjson.dumps(body.get("status")).decode(),
    }


def _index(kind: str) -> str:
    return f"kubernetes-{kind.lower()}"
