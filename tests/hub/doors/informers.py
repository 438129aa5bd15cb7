"""Clients that keep a copy of a kind, as controllers and k9s do: list, watch, and go on from where they were.

A copy says at once when what it is told does not fit to what it holds: news of what it has already, a change or an end
of what it does not have. So an event that is missing and one that comes twice are both seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from kubernetes import client as kubernetes
from kubernetes.informer import SharedInformer

from gitfed.fleet_api import versions
from gitfed.model.keys import CACHED_FROM_CLUSTER

Key = tuple[str, str]
Copy = Mapping[Key, str]
"""By cluster and name the version in that cluster."""
_END = "k8s.io/initial-events-end"


class Expired(Exception):
    """410: a list anew."""


@dataclass
class Reflector:
    """client-go's habits. `streams`: the list comes as the beginning of a watch (`sendInitialEvents`)."""

    url: str
    token: str
    streams: bool
    seconds: int = 1
    """How long a watch lasts: five to ten minutes in client-go."""
    copy: dict[Key, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    lists: int = 0
    watches: int = 0
    events: int = 0
    bookmarks: int = 0

    async def run(self) -> None:
        version = ""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with aiohttp.ClientSession(headers=headers, raise_for_status=False) as http:
            while True:
                try:
                    if version or self.streams:
                        version = await self._watch(http, version)
                    else:
                        version = await self._list(http)
                except Expired:
                    version = ""
                except (aiohttp.ClientError, TimeoutError, _Away):
                    await asyncio.sleep(0.05)

    async def _list(self, http: aiohttp.ClientSession) -> str:
        found: dict[Key, str] = {}
        more = ""
        while True:
            async with http.get(self.url, params={"limit": "4", **({"continue": more} if more else {})}) as answer:
                body = await _good(answer)
            found.update(_place(one) for one in body["items"])
            more = body["metadata"].get("continue", "")
            if not more:
                break
        self.copy = found
        self.lists += 1
        return str(body["metadata"]["resourceVersion"])

    async def _watch(self, http: aiohttp.ClientSession, version: str) -> str:
        asked = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(self.seconds)}
        beginning: dict[Key, str] | None = None
        if version:
            asked["resourceVersion"] = version
        else:
            asked |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            beginning = {}
        self.watches += 1
        last = version
        with contextlib.suppress(
            aiohttp.ClientError, TimeoutError
        ):  # cut in the middle: it goes on from the last event
            async with http.get(self.url, params=asked) as answer:
                if answer.status != 200:
                    await _good(answer)
                async for event in _events(answer):
                    body = event["object"]
                    if event["type"] == "ERROR":
                        raise Expired if body.get("code") == 410 else _Away
                    last = body["metadata"]["resourceVersion"]
                    if event["type"] == "BOOKMARK":
                        self.bookmarks += 1
                        if beginning is not None and (body["metadata"].get("annotations") or {}).get(_END):
                            self.copy, beginning = beginning, None
                            self.lists += 1
                            version = last
                    elif beginning is not None:
                        beginning.update([_place(body)])
                    else:
                        version = last
                        self._apply(event["type"], body)
        # What came of a beginning without an end counts for nothing.
        return "" if beginning is not None else last

    def _apply(self, kind: str, body: Mapping[str, Any]) -> None:
        self.events += 1
        key, version = _place(body)
        before = self.copy.get(key)
        if (kind == "ADDED") != (before is None) or (before is not None and int(version) <= int(before)):
            self.wrong.append(f"{kind} {key} {version} after {before}")
        if kind == "DELETED":
            self.copy.pop(key, None)
        else:
            self.copy[key] = version


class Official:
    """The informer of the official Python client, in a thread of its own."""

    def __init__(self, url: str, token: str, namespace: str) -> None:
        settings = kubernetes.Configuration(host=url)
        settings.api_key = {"authorization": f"Bearer {token}"}
        self._client = kubernetes.ApiClient(settings)
        api = kubernetes.CoreV1Api(self._client)
        self._informer = SharedInformer(
            api.list_namespaced_config_map, namespace=namespace, resync_period=0, key_func=_key
        )
        self._handled: dict[Key, str] = {}
        self._lock = threading.Lock()
        self.events = 0
        for kind in ("ADDED", "MODIFIED"):
            self._informer.add_event_handler(kind, self._set)
        self._informer.add_event_handler("DELETED", self._remove)

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        """A watch that is open is ended by its server."""
        self._informer._stop_event.set()
        self._client.close()

    @property
    def copy(self) -> Copy:
        """What its cache holds; and what its handlers were told has to be the same."""
        cached = {_key(one): _own_version(one) for one in self._informer.cache.list()}
        with self._lock:
            return cached if cached == self._handled else {("handlers", "were told"): str(self._handled)}

    def _set(self, body: Any) -> None:
        with self._lock:
            self.events += 1
            self._handled[_key(body)] = _own_version(body)

    def _remove(self, body: Any) -> None:
        with self._lock:
            self.events += 1
            self._handled.pop(_key(body), None)


def _key(body: Any) -> Key:
    return body.metadata.annotations[CACHED_FROM_CLUSTER], body.metadata.name


def _own_version(body: Any) -> str:
    return versions.decode(body.metadata.resource_version)[_key(body)[0]]


class _Away(Exception):
    """The door has no answer now."""


async def _good(answer: aiohttp.ClientResponse) -> Any:
    if answer.status == 410:
        raise Expired
    if answer.status != 200:
        raise _Away
    return await answer.json()


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    async for line in answer.content:
        if line.endswith(b"\n"):
            yield json.loads(line)


def _place(body: Mapping[str, Any]) -> tuple[Key, str]:
    metadata = body["metadata"]
    cluster = metadata["annotations"][CACHED_FROM_CLUSTER]
    return (cluster, metadata["name"]), versions.decode(metadata["resourceVersion"])[cluster]
