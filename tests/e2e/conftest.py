"""The suite runs on the embedded fleet always, and unchanged on real API servers when they are at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.clusters import beside
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
        self._context: Any = real_fleet(NAMES, directory)

    def __enter__(self) -> tuple[Path, dict[str, RealApiServer]]:
        self._beside = beside.Loop()
        fleet = self._beside.call(self._context.__aenter__(), 120)
        return fleet.kubeconfig, fleet.servers

    def __exit__(self, *ignored: object) -> None:
        self._beside.call(self._context.__aexit__(None, None, None), 60)
        self._beside.close()
