"""What an agent's process loads: it runs in every cluster of the fleet, beside what the cluster is for."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from gitfed.edges.certificates import Authority
from gitfed.model import agent_identity

_IN_NO_AGENT = (
    "gitfed.daemon.cycle", "gitfed.daemon.wiring", "gitfed.daemon.fleet.fleet", "gitfed.planning.build",
    "gitfed.planning.context", "gitfed.placement.scheduling.schedule", "gitfed.source.repo", "gitfed.edges.git",
    "gitfed.edges.state", "gitfed.hub.server", "gitfed.kubesim", "cryptography", "jinja2", "kubernetes", "lupa",
    "prometheus_client",
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


_KNOWS_ITSELF = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from gitfed.agent import serve
from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.registration.rotation import Rotation, in_folder
folder = Path(sys.argv[1])
hub = HubEndpoint("https://127.0.0.1:1", folder)
hub.context()
rotation = Rotation("127.0.0.1:1", hub.cluster(), folder, in_folder(folder))
assert not asyncio.run(rotation.once(datetime.now(UTC)))
try:
    asyncio.run(rotation.once(datetime(2999, 1, 1, tzinfo=UTC)))
except Exception as error:
    print(type(error).__name__)
print(*(one for one in ("cryptography",) if one in sys.modules))
"""


def test_an_agent_reads_and_renews_its_certificate_without_cryptography(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path / "hub")
    name, group = agent_identity.common_name("edge-1"), agent_identity.group("edge-1")
    pair = authority.client(name, [group], timedelta(days=30))
    for file, content in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (tmp_path / file).write_bytes(content)
    command = [sys.executable, "-c", _KNOWS_ITSELF, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.split() == ["HubUnreachable"]
