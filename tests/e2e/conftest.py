"""The suite runs on the embedded fleet always, and unchanged on real API servers when they are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.clusters import beside
from tests.clusters.apiserver import RealApiServer, real_fleet
from tests.clusters.embedded import EmbeddedFleet
from tests.e2e.world import World

NAMES = ["m1", "m2"]
KINDS = ["embedded", pytest.param("real", marks=needs.program("kube-apiserver", "etcd"))]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two empty clusters m1 and m2, an empty repository, no daemon yet."""
    with opened(request.param, tmp_path, NAMES) as made:
        yield made


@pytest.fixture(params=KINDS, scope="module")
def three(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Three empty clusters for all tests of a module: each has its own namespace, and leaves the others alone."""
    with opened(request.param, tmp_path_factory.mktemp(request.param), [*NAMES, "m3"]) as made:
        yield made


@contextmanager
def opened(kind: str, directory: Path, names: Sequence[str]) -> Iterator[World]:
    names = list(names)
    with EmbeddedFleet(names, directory) if kind == "embedded" else _Real(directory, names) as fleet:
        made = World(directory, fleet.kubeconfig, names, fleet.servers)
        try:
            yield made
        finally:
            made.close()


class _Real:
    """`real_fleet` is asynchronous; these tests are not."""

    def __init__(self, directory: Path, names: list[str]) -> None:
        self._context: Any = real_fleet(names, directory)
        self.kubeconfig = Path()
        self.servers: dict[str, RealApiServer] = {}

    def __enter__(self) -> _Real:
        self._beside = beside.Loop()
        fleet = self._beside.call(self._context.__aenter__(), 120)
        self.kubeconfig, self.servers = fleet.kubeconfig, fleet.servers
        return self

    def __exit__(self, *ignored: object) -> None:
        self._beside.call(self._context.__aexit__(None, None, None), 60)
        self._beside.close()
