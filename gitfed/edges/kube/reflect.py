"""List, then watch, and begin again when that ends: how one collection of one cluster is followed.

The observer follows a kind by label, the inventory its own ConfigMaps; both give a `Follower` that is told what was
found. This module knows pages, versions, bookmarks and lost history (410: list again). It reads nothing while nothing
changes: one open watch per collection, renewed from the last version when the server ends it.

A connection that breaks does not make what is known unknown; a watch that could not be opened again does. `lost` says
so, and `listed` or `resumed` that it is over.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Body
from gitfed.text.values import dataclass

BACKOFF = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0), 0.0, 0.5)
"""Seconds before the next try, each with up to half of it added; the last is repeated."""
PAGE = 500
_WATCH = 300.0
"""Seconds after which the server ends a watch; up to half of it is added, so that watches do not end together."""
_SILENCE = 30.0
"""Seconds that a watch may be silent after the server should have ended it."""
_TOO_SHORT = 1.0

_log = logging.getLogger(__name__)


class TooLong(errors.ClusterError):
    """A list has more pages than the caller wants to ask for."""


class Follower(Protocol):
    """Hears of every event. None of these may wait: they run between two events."""

    def listed(self, items: list[Any], version: str) -> None:
        """The whole collection, as it was at that version: bodies, or what `project` made of them."""

    def event(self, kind: str, body: Body) -> None:
        """One ADDED, MODIFIED or DELETED."""

    def resumed(self) -> None:
        """The watch is open again after `lost`, without a gap."""

    def lost(self, error: errors.GitfedError) -> None:
        """The collection cannot be read or watched now; it will be tried again."""


class Wake:
    """Cuts pauses short: the cluster is there again, or a person wants an answer now."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        # A new event, so that one call wakes all tasks that wait now and none that comes later.
        self._event.set()
        self._event = asyncio.Event()

    async def pause(self, seconds: float) -> bool:
        """Wait so long at most; whether it was cut short."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Collection:
    """Objects that are listed and watched together."""

    path: str
    selector: str = ""
    project: Callable[[Body], Any] | None = None
    """Cuts each listed object down while its page is read, for collections whose bodies would not fit into memory
    together; events bring bodies."""
    page: int = PAGE


async def follow(
    session: Session,
    collection: Collection,
    follower: Follower,
    *,
    wake: Wake,
    backoff: Backoff = BACKOFF,
    watch_seconds: float = _WATCH,
) -> None:
    """Follow the collection until cancelled. Raises ObjectNotFound when the path is not served (any more)."""
    path, selector = collection.path, collection.selector
    version = ""
    failures = 0
    forgotten = 0
    complaint = ""
    while True:
        try:
            if not version:
                items, version = await read(session, path, selector, page=collection.page, project=collection.project)
                follower.listed(items, version)
                del items  # or it would live as long as the watch
                failures = 0
                complaint = ""
            began = time.monotonic()
            version = await _watch(session, path, selector, version, _Opened(follower, failures > 0), watch_seconds)
            failures = forgotten = 0
            complaint = ""
            if time.monotonic() - began < _TOO_SHORT:
                await wake.pause(backoff.after(1))  # a server that goes down ends watches as soon as they open
        except errors.ObjectNotFound:
            raise
        except errors.HistoryGone:
            version = ""
            forgotten += 1
            if forgotten > 1:  # the first time there is nothing to wait for
                await wake.pause(backoff.after(forgotten - 1))
        except _Interrupted as error:
            version = error.version
            failures = 1
            await wake.pause(backoff.after(failures))
        except Exception as error:  # noqa: BLE001
            # What no API server answers costs the collection that it was answered for, not the whole cluster.
            failures += 1
            lost = translate.of_taking_in(session.cluster, error)
            if lost is not error:
                version = ""  # half of it was taken in
            follower.lost(lost)
            details = {"cluster": session.cluster, "path": path, "error": translate.said(lost)}
            _log.log(translate.level(lost, complaint), "cannot follow", extra=details)
            complaint = details["error"]
            await wake.pause(backoff.after(failures))


def newer(version: str, before: str) -> bool:
    """Whether `version` is later. Versions that are no numbers cannot be ordered: then the last that came counts."""
    if version.isdecimal() and before.isdecimal():
        return int(version) > int(before)
    return version != before


async def read(
    session: Session,
    path: str,
    selector: str,
    *,
    page: int = PAGE,
    project: Callable[[Body], Any] | None = None,
    most: int = sys.maxsize,
) -> tuple[list[Any], str]:
    """The collection and the version to watch from, read in pages: `most` of them, or TooLong is raised, as early as
    the server tells how much remains.

    A continue token that expired between two pages begins the list anew, once; then HistoryGone is raised.
    """
    for attempt in (1, 2):
        items: list[Any] = []
        pages = 0
        query = {"labelSelector": selector, "limit": str(page)}
        try:
            while True:
                body = await session.json("GET", path, query=query)
                page_items = _items(session, body)
                items.extend(page_items if project is None else map(project, page_items))
                metadata = _mapping(session, body, "metadata")
                del body  # a page of pods is large, and the next one may take long to come
                if not metadata.get("continue"):
                    return items, str(metadata.get("resourceVersion") or "")
                remaining = metadata.get("remainingItemCount")
                rest = math.ceil(remaining / page) if isinstance(remaining, int) else 1
                pages += 1
                if pages + max(rest, 1) > most:
                    raise TooLong(f"{path} has more than {most} pages", cluster=session.cluster)
                query["continue"] = str(metadata["continue"])
        except errors.HistoryGone:
            if attempt == 2:
                raise
    raise AssertionError


def _items(session: Session, body: Mapping[str, Any]) -> list[Body]:
    """Items of built-in kinds come without kind and apiVersion: the list's tell them. Raises ClusterFailed."""
    kind = {"apiVersion": body.get("apiVersion"), "kind": str(body.get("kind") or "").removesuffix("List")}
    items = body.get("items") or []
    if not isinstance(items, list):
        raise translate.broken(session.cluster, "the answer to a list has items that are no list")
    for item in items:
        check_object(session, item)
    return [item if "kind" in item else {**kind, **item} for item in items]


def check_object(session: Session, body: object) -> None:
    """What every object has, whatever its kind: the rest of the program relies on it. Raises ClusterFailed."""
    if not isinstance(body, dict):
        raise translate.broken(session.cluster, "an answer holds an object that is no mapping")
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise translate.broken(session.cluster, "an answer holds an object without a name")
    for member in ("namespace", "uid", "resourceVersion"):
        if not isinstance(metadata.get(member, ""), str | None):
            raise translate.broken(session.cluster, f"an answer holds an object whose {member} is no text")
    for member in ("labels", "annotations"):
        value = metadata.get(member)
        if value is not None and not (isinstance(value, dict) and all(type(text) is str for text in value.values())):
            raise translate.broken(session.cluster, f"an answer holds an object whose {member} are no texts")


def _mapping(session: Session, body: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    value = body.get(member) or {}
    if not isinstance(value, dict):
        raise translate.broken(session.cluster, f"the answer to a list has {member} that is no mapping")
    return value


class _Interrupted(errors.ClusterUnreachable):
    """An open watch broke off: go on from the last version that it brought."""

    def __init__(self, error: errors.ClusterError, version: str) -> None:
        super().__init__(error.message, cluster=error.cluster, status=error.status, reason=error.reason)
        self.version = version


class _Opened:
    """Tells `resumed` with the first sign that a watch lives, if it was lost before."""

    def __init__(self, follower: Follower, was_lost: bool) -> None:
        self.follower = follower
        self._was_lost = was_lost

    def alive(self) -> None:
        if self._was_lost:
            self._was_lost = False
            self.follower.resumed()


async def _watch(
    session: Session, path: str, selector: str, version: str, opened: _Opened, watch_seconds: float
) -> str:
    """One watch until the server ends it: the version to go on from. Raises HistoryGone, _Interrupted, ClusterError."""
    seconds = watch_seconds + random.uniform(0, watch_seconds / 2)
    query = {
        "labelSelector": selector,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(max(1, int(seconds))),
    }
    is_open = False
    try:
        async with session.lines(path, query, idle=seconds + _SILENCE) as lines:
            is_open = True
            opened.alive()
            async for line in lines:
                version = _take(session, line, opened.follower, version)
    except errors.HistoryGone:
        raise
    except errors.ClusterError as error:
        if is_open:
            raise _Interrupted(error, version) from error
        raise
    return version


def _take(session: Session, line: bytes, follower: Follower, version: str) -> str:
    """One event; the version after it."""
    try:
        event = orjson.loads(line)
        kind, body = event["type"], event["object"]
    except (ValueError, TypeError, KeyError) as error:
        raise translate.broken(session.cluster, "a watch event is no JSON object") from error
    if kind == "ERROR":
        code = body.get("code") if isinstance(body, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise translate.failure(session.cluster, status, orjson.dumps(body))
    if kind == "BOOKMARK":
        metadata = _mapping(session, body, "metadata") if isinstance(body, dict) else {}
    else:
        check_object(session, body)
        follower.event(kind, body)
        metadata = body["metadata"]
    brought = str(metadata.get("resourceVersion") or version)
    if kind == "BOOKMARK" and brought.isdecimal() and version.isdecimal() and int(brought) < int(version):
        # A watch from a version of the future is not refused: it stays silent until that is reached again.
        raise errors.HistoryGone(
            f"cluster {session.cluster}: the server is at {brought}, which is before {version}: it was restored",
            cluster=session.cluster,
        )
    return brought
