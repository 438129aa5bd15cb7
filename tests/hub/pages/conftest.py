from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hub.pages import browser, leading


@pytest.fixture(scope="session")
def chromium() -> Iterator[browser.Browser]:
    """One for all tests: to start it takes longer than most of them."""
    with browser.chromium() as found:
        yield found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> leading.Written:
    return leading.noted(monkeypatch)
