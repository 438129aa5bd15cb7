"""The embedded fleet beside a test, in a thread of its own, so that real programs can talk to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from kubesim.cluster import Cluster
from kubesim.door import Door
from kubesim.faults import Faults
from tests.clusters import beside

T = TypeVar("T")


class EmbeddedServer:
    """One embedded cluster with the same handles as a `RealApiServer`."""

    def __init__(self, fleet: EmbeddedFleet, name: str) -> None:
        self._fleet = fleet
        self._name = name
        self._port = 0
        self._make()

    def _make(self) -> None:
        self.cluster = Cluster(self._name)
        self._faults = Faults(self.cluster)
        self.cluster.handler = Door(self.cluster.handler, self._faults)

    def start(self) -> dict[str, Any]:
        url = self._fleet.call(self.cluster.start(self._port))
        self._port = int(url.rpartition(":")[2])
        return self.cluster.kubeconfig()

    def kill(self) -> None:
        """Nothing listens any more; what it stored is there again after `start`."""
        self._fleet.call(self.cluster.stop())

    stop = kill

    def remake(self) -> None:
        """Another cluster, with nothing in it, answers at the same address."""
        self.kill()
        self._make()
        self.start()

    def may_ail(self) -> None:
        pass

    def ail(self) -> None:
        """It answers that it is not ready, and fails every request."""
        self.tell(lambda faults: faults.fail(500))

    def heal(self) -> None:
        self.tell(lambda faults: faults.clear())

    def tell(self, change: Callable[[Faults], Any]) -> None:
        """Change the faults of the cluster, in the thread that reads them."""

        async def act() -> None:
            change(self._faults)

        self._fleet.call(act())


class EmbeddedFleet:
    """`with EmbeddedFleet(names, directory) as fleet:` gives `fleet.kubeconfig` and `fleet.servers`."""

    def __init__(self, names: list[str], directory: Path) -> None:
        self._names = names
        self.kubeconfig = directory / "kubeconfig"
        self.servers: dict[str, EmbeddedServer] = {}

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self._beside.call(work)

    def __enter__(self) -> EmbeddedFleet:
        self._beside = beside.Loop()
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
        self._beside.close()
