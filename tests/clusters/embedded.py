"""The embedded fleet beside a test, in a thread of its own, so that real programs can talk to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from gitfed.sim.cluster import Cluster

T = TypeVar("T")


class EmbeddedServer:
    """One embedded cluster with the same handles as a `RealApiServer`."""

    def __init__(self, fleet: EmbeddedFleet, name: str) -> None:
        self._fleet = fleet
        self.cluster = Cluster(name)
        self._port = 0

    def start(self) -> dict[str, Any]:
        url = self._fleet.call(self.cluster.start(self._port))
        self._port = int(url.rpartition(":")[2])
        return self.cluster.kubeconfig()

    def kill(self) -> None:
        """Nothing listens any more; what it stored is there again after `start`."""
        self._fleet.call(self.cluster.stop())

    stop = kill


class EmbeddedFleet:
    """`with EmbeddedFleet(names, directory) as fleet:` gives `fleet.kubeconfig` and `fleet.servers`."""

    def __init__(self, names: list[str], directory: Path) -> None:
        self._names = names
        self.kubeconfig = directory / "kubeconfig"
        self.servers: dict[str, EmbeddedServer] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def __enter__(self) -> EmbeddedFleet:
        self._thread.start()
        merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
        for name in self._names:
            server = self.servers[name] = EmbeddedServer(self, name)
            part = server.start()
            for section in ("clusters", "users", "contexts"):
                merged[section] += part[section]
        merged["current-context"] = self._names[0]
        self.kubeconfig.write_text(json.dumps(merged))
        return self

    def __exit__(self, *ignored: object) -> None:
        for server in self.servers.values():
            server.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
