"""The benchmarks' clusters start: a benchmark that nobody runs breaks in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bench import agents
from bench.servers import clusters
from tests.clusters.rest import Endpoint
from tests.support import patience


async def test_the_clusters_of_the_benchmarks_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    async with clusters(["a", "b"], tmp_path) as (what, kubeconfig):
        assert what == "embedded fleet"
        config = yaml.safe_load(kubeconfig.read_text())
        for name in ("a", "b"):
            assert "gitVersion" in Endpoint.of(config, name).request("GET", "/version")


async def test_played_agents_come_back_to_a_new_hub_and_nothing_is_written_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agents, "_PATIENCE", 2 * patience.SECONDS)
    figures = dict(await agents.measure(3, 2, quiet=0.1))
    assert figures["objects written again for it (target 0)"] == "0"
    down, up = figures["restart: bytes of each agent, down and up"].split("; ")
    assert 0 < int(down) < int(up), "bodies are not sent again"
