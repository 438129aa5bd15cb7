"""The benchmarks' clusters start: a benchmark that nobody runs breaks in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bench.servers import clusters
from tests.clusters.rest import Endpoint


async def test_the_clusters_of_the_benchmarks_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    async with clusters(["a", "b"], tmp_path) as (what, kubeconfig):
        assert what == "embedded fleet"
        config = yaml.safe_load(kubeconfig.read_text())
        for name in ("a", "b"):
            assert "gitVersion" in Endpoint.of(config, name).request("GET", "/version")
