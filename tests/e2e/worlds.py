"""Worlds to choose from: the embedded fleet, real API servers, and the embedded fleet with fault switches.

Each is a context manager over (names of clusters, folder) and gives an empty repository, empty clusters, no daemon.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesim.controllers import Settings
from kubesim.fleet import ClusterSpec, Fleet
from tests.clusters import beside
from tests.clusters.apiserver import RealApiServer, real_fleet
from tests.clusters.embedded import EmbeddedFleet
from tests.e2e.pulled_world import PulledWorld
from tests.e2e.world import World
from tests.support import needs

KIND = PulledWorld if needs.PULLED else World
"""GITFED_TEST_PULLED=1: every cluster is pulled, and tests see no difference (`needs.pushed`: those that would)."""


@contextlib.contextmanager
def embedded(names: list[str], directory: Path, kind: type[World] = KIND) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(EmbeddedFleet(names, directory))
        yield stack.enter_context(contextlib.closing(kind(directory, fleet.kubeconfig, names, fleet.servers)))


@contextlib.contextmanager
def embedded_with_pods(names: list[str], directory: Path) -> Iterator[World]:
    """Each cluster has a node, and pods run there."""
    quick = Settings(start_seconds=0.05, stop_seconds=0.02, job_seconds=0.05)
    loop, fleet = beside.Loop(), Fleet([ClusterSpec(name=name, nodes=1) for name in names], settings=quick)
    loop.call(fleet.__aenter__())
    try:
        fleet.write_kubeconfig(directory / "kubeconfig")
        with contextlib.closing(World(directory, directory / "kubeconfig", names, {})) as world:
            yield world
    finally:
        loop.call(fleet.__aexit__(None, None, None))
        loop.close()


@contextlib.contextmanager
def real(names: list[str], directory: Path, kind: type[World] = KIND) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        kubeconfig, servers = stack.enter_context(_Real(names, directory))
        yield stack.enter_context(contextlib.closing(kind(directory, kubeconfig, names, servers)))


BOTH = [
    pytest.param(embedded, id="embedded"),
    pytest.param(real, id="real", marks=needs.program("kube-apiserver", "etcd")),
]
"""Parameters of a fixture whose tests run on the embedded fleet always, and on real servers when they are at hand."""

PULLED = [pytest.param(functools.partial(embedded, kind=PulledWorld), id="pulled")]
PULLED_BOTH = [
    *PULLED,
    pytest.param(
        functools.partial(real, kind=PulledWorld), id="real-pulled", marks=needs.program("kube-apiserver", "etcd")
    ),
]


class _Real:
    """`real_fleet` is asynchronous; these tests are not."""

    def __init__(self, names: list[str], directory: Path) -> None:
        self._context: Any = real_fleet(names, directory)

    def __enter__(self) -> tuple[Path, dict[str, RealApiServer]]:
        self._beside = beside.Loop()
        fleet = self._beside.call(self._context.__aenter__(), 120)
        return fleet.kubeconfig, fleet.servers

    def __exit__(self, *ignored: object) -> None:
        self._beside.call(self._context.__aexit__(None, None, None), 60)
        self._beside.close()
