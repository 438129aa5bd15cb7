"""What an agent's process loads: it runs in every cluster of the fleet, beside what the cluster is for."""

from __future__ import annotations

import subprocess
import sys

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
