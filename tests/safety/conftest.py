"""Whole worlds, as in the end-to-end suite."""

from tests.e2e.conftest import faulty as faulty
from tests.e2e.conftest import pytest_generate_tests as pytest_generate_tests
from tests.e2e.conftest import world as world
