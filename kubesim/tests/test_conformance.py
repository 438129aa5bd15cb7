"""A cluster answers as a real API server did: every recorded conversation, held again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance import apiserver
from tests.conformance.__main__ import cases

_FILE = Path(__file__).parent / "conformance" / "apiserver.jsonl"
_CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in cases(_FILE)}


@pytest.fixture(scope="session")
def outcomes() -> dict[str, list[str]]:
    """All at once, for most of the slow ones only wait."""
    return dict(zip(_CASES, apiserver.run_many(_CASES.values()), strict=True))


@pytest.mark.parametrize("name", _CASES)
def test_conversation_is_as_recorded(name: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[name] == []
