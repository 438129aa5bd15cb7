"""An embedded cluster that wants to register."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.embedded import EmbeddedFleet


@pytest.fixture
def member(tmp_path: Path) -> Iterator[EmbeddedFleet]:
    with EmbeddedFleet(["edge-1"], tmp_path) as fleet:
        yield fleet
