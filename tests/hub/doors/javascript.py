"""The informer of the official JavaScript client, in a process of its own (`informer.mjs`)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hub.doors.informers import Copy, Key
from tests.support import needs

_PROGRAM = Path(__file__).with_name("informer.mjs")
_LONGEST_LINE = 1 << 20


@dataclass
class JavaScript:
    """Its cache knows namespace and name, and no cluster: of two objects of one name it keeps one."""

    url: str
    token: str
    namespace: str
    selector: str
    said: dict[str, Any] = field(default_factory=dict)
    """Its last line."""
    _process: asyncio.subprocess.Process | None = None
    _reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            str(needs.path_of("node")), str(_PROGRAM), str(needs.path_of(needs.JS_CLIENT)), self.url, self.token,
            self.namespace, self.selector, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
        )  # fmt: skip
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        assert self._process is not None
        assert self._reading is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    @property
    def copy(self) -> Copy:
        """What its cache holds; and what its handlers were told has to be the same."""
        assert self._reading is not None
        assert not self._reading.done(), "it has ended"
        cached = self.said.get("cached", {})
        if cached != self.said.get("told", {}):
            return {("handlers", "were told"): str(self.said["told"])}
        return {_key(name): version for name, version in cached.items()}

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.said = json.loads(line)


def _key(name: str) -> Key:
    cluster, _, own = name.partition("/")
    return cluster, own
