"""Whole worlds, as in the end-to-end suite, and engines that only write and read the state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import faulty as faulty
from tests.e2e.conftest import pytest_generate_tests as pytest_generate_tests
from tests.e2e.conftest import world as world
from tests.safety.signed_state import Fleet
from tests.support import signing


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    """The folder of their keys."""
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


@pytest.fixture
def fleet(tmp_path: Path, people: Path) -> Fleet:
    return Fleet(tmp_path, signing.with_ssh("ada", people))
