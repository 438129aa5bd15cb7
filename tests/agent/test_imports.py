"""What an agent's process loads: it runs in every cluster of the fleet, beside what the cluster is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

_IN_NO_AGENT = (
    "gitfed.daemon.cycle", "gitfed.daemon.wiring", "gitfed.daemon.fleet.fleet", "gitfed.planning.build",
    "gitfed.planning.context", "gitfed.placement.scheduling.schedule", "gitfed.source.repo", "gitfed.edges.git",
    "gitfed.edges.state", "gitfed.hub.server", "gitfed.kubesim", "git", "jinja2", "kubernetes", "prometheus_client",
)  # fmt: skip


@pytest.mark.parametrize("module", ["gitfed.agent.serve", "gitfed.cli.commands.act.agent"])
def test_an_agent_loads_no_engine_no_git_and_no_hub(module: str) -> None:
    program = f"import sys, {module}; print(*(one for one in {_IN_NO_AGENT!r} if one in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.split() == []


_REACHES = """
import asyncio, sys
from pathlib import Path
from gitfed.agent import keeper
from gitfed.edges.kube.connection import credentials
settings = asyncio.run(
    credentials.resolve(keeper.declared("m1", None), credentials.CredentialSources((Path(sys.argv[1]),))).configure()
)
settings.ssl_context()
print(*(one for one in ("kubernetes", "requests", "urllib3") if one in sys.modules))
"""


def test_a_way_into_a_cluster_needs_no_client_library(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(orjson.dumps({
        "contexts": [{"name": "m1", "context": {"cluster": "m1", "user": "m1"}}],
        "clusters": [{"name": "m1", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "m1", "user": {"token": "t"}}],
    }).decode())  # fmt: skip
    command = [sys.executable, "-c", _REACHES, str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.split() == []
