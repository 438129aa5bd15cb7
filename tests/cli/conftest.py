"""No test reads this user's caches, settings or kubeconfig."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import world


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    for name in ("KUBECONFIG", "NO_COLOR", "KUBECTL_EXTERNAL_DIFF", "COLUMNS", "GITFED_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of `world.FILES`, with one commit, as the working directory."""
    path = world.repository(tmp_path / "fleet")
    monkeypatch.chdir(path)
    return path
