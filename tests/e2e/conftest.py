"""The suite runs on the embedded fleet always, and unchanged on real API servers when they are at hand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.clusters.apiserver import RealApiServer, real_fleet
from tests.clusters.embedded import EmbeddedFleet
from tests.e2e.world import World

NAMES = ["m1", "m2"]


@pytest.fixture(params=["embedded", pytest.param("real", marks=needs.program("kube-apiserver", "etcd"))])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two empty clusters m1 and m2, an empty repository, no daemon yet."""
    if request.param == "embedded":
        with EmbeddedFleet(NAMES, tmp_path) as fleet:
            made = World(tmp_path, fleet.kubeconfig, NAMES, fleet.servers)
            try:
                yield made
            finally:
                made.close()
        return
    with _Real(tmp_path) as (kubeconfig, servers):
        made = World(tmp_path, kubeconfig, NAMES, servers)
        try:
            yield made
        finally:
            made.close()


class _Real:
    """`real_fleet` is asynchronous; these tests are not."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._context: Any = None

    def __enter__(self) -> tuple[Path, dict[str, RealApiServer]]:
        self._thread.start()
        self._context = real_fleet(NAMES, self._directory)
        fleet = asyncio.run_coroutine_threadsafe(self._context.__aenter__(), self._loop).result(120)
        return fleet.kubeconfig, fleet.servers

    def __exit__(self, *ignored: object) -> None:
        asyncio.run_coroutine_threadsafe(self._context.__aexit__(None, None, None), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
