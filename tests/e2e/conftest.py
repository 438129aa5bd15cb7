"""The suite runs on the embedded fleet always, and unchanged on real API servers when they are at hand.

A module whose tests are about other worlds lists them as `WORLDS`. A test that takes `faulty` beside `world` has
switches for faults in that world's clusters; only the embedded fleet can make them on demand.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.faulty import NAMES, Faulty
from tests.e2e import worlds
from tests.e2e.world import World


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames and "faulty" not in metafunc.fixturenames:
        metafunc.parametrize("world", getattr(metafunc.module, "WORLDS", worlds.BOTH), indirect=True)


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[Faulty]:
    with Faulty(tmp_path) as made:
        yield made


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two empty clusters m1 and m2, an empty repository, no daemon yet."""
    names = list(NAMES)
    if "faulty" not in request.fixturenames:
        with request.param(names, tmp_path) as made:
            yield made
        return
    with contextlib.closing(worlds.KIND(tmp_path, request.getfixturevalue("faulty").kubeconfig, names, {})) as made:
        yield made


@pytest.fixture(params=worlds.BOTH, scope="module")
def three(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Three empty clusters for all tests of a module: each has its own namespace, and leaves the others alone."""
    with request.param([*NAMES, "m3"], tmp_path_factory.mktemp("three")) as made:
        yield made
