"""What happened lately, numbered. Every stream reads it at its own pace, and nothing is kept for a single one.

A stream that comes back names the last event that it has, and goes on after it as long as that is still here. A client
so slow that events are gone before they were sent has lost its place, and reads everything again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any

from gitfed.hub.running import Running
from gitfed.model.base import ClusterName
from gitfed.text.values import dataclass
from gitfed.views import happening, written

_MOST = 2000
"""Events that are kept."""
_BEAT = 1.0
"""Seconds between two events that say no more than that something has changed."""


@dataclass(slots=True)
class FeedEvent:
    number: int
    name: str
    """plan, result, cluster or source."""
    data: Mapping[str, Any]
    cluster: str = ""
    namespace: str | None = None
    """Of the object that it is about; None: of none."""
    _json: bytes = b""

    @property
    def json(self) -> bytes:
        """The same for all streams."""
        if not self._json:
            self._json = written.json_bytes(self.data)
        return self._json


class Feed:
    """Run `run` as a service of the hub."""

    def __init__(self, running: Running, *, most: int = _MOST, beat: float = _BEAT) -> None:
        self.closed = False
        self._running = running
        self._beat = beat
        self._life = secrets.token_hex(4)
        """Numbers begin at 1 in every process."""
        self._entries: deque[FeedEvent] = deque(maxlen=most)
        self._number = 0
        self._news = asyncio.Event()
        self._turned = False
        self._shown: tuple[object, ...] = ()
        self._reach: dict[ClusterName, str] = {}
        running.listen(self._heard)

    @property
    def newest(self) -> int:
        return self._number

    def name(self, number: int) -> str:
        """The id of an event."""
        return f"{self._life}-{number}"

    def number(self, name: str) -> int | None:
        """The event that a client has seen last; None: it is not known any more what came after it."""
        life, _, text = name.partition("-")
        if life != self._life or not (text.isascii() and text.isdigit() and len(text) < 16):
            return None
        number = int(text)
        return number if self._number - len(self._entries) <= number <= self._number else None

    def after(self, number: int) -> list[FeedEvent] | None:
        """What came after an event; None: some of it is gone."""
        missing = self._number - number
        if missing > len(self._entries):
            return None
        return list(self._entries)[len(self._entries) - missing :] if missing else []

    async def wait(self, number: int, seconds: float) -> None:
        """Until there is more than `number`, or the feed is closed, for so long at most."""
        if self._number > number or self.closed:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    async def run(self) -> None:
        self.closed = False
        try:
            while True:
                self._look()
                await asyncio.sleep(self._beat)
        finally:
            self.closed = True
            self._wake()

    # -- what happens -----------------------------------------------------------------------------------------------

    def _heard(self, name: str, value: Any) -> None:
        """In the middle of the engine's work."""
        if name == "cycle":
            self._turned = True
        elif name == "result":
            change, result = value
            self._add("result", happening.result(change, result), change.cluster, change.key.namespace)
        elif name == "source-error":
            self._add("source", {"error": str(value)})
        elif name == "rejected":
            self._add("source", {"error": value if isinstance(value, str) else ""})

    def _look(self) -> None:
        """What is told once for many changes: that there is another plan, and how clusters are."""
        running = self._running
        shown = (running.repo, running.plan, running.decisions)
        same = len(shown) == len(self._shown) and all(new is old for new, old in zip(shown, self._shown, strict=True))
        turned, self._turned = self._turned, False
        if (turned or not same) and running.plan is not None:
            self._shown = shown
            self._add("plan", {"commit": running.plan.commit, "digest": running.plan.digest})
        reach = {name: facts.reach.value for name, facts in running.facts.items()}
        for name in sorted(reach.keys() | self._reach.keys()):
            if reach.get(name) != self._reach.get(name):
                self._add("cluster", {"name": name, "state": reach.get(name, "Gone")}, name)
        self._reach = reach

    def _add(self, name: str, data: Mapping[str, Any], cluster: str = "", namespace: str | None = None) -> None:
        self._number += 1
        self._entries.append(FeedEvent(self._number, name, data, cluster, namespace))
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
