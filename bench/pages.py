"""What a person and Prometheus wait for: the placement page of a large fleet, and a scrape of a hundred clusters.

The page: 10,000 workloads in all of 100 clusters, planned for real, asked for over HTTP; cold is the first look at a
plan that nobody has looked at. The scrape: a daemon of 100 embedded clusters that has rolled out to all of them.
"""

from __future__ import annotations

import asyncio
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import aiohttp

from bench import ground, scale
from bench.daemon import Daemon, until
from gitfed.daemon import planner
from gitfed.edges import certificates
from gitfed.hub.running import Running
from gitfed.interpret import native
from gitfed.interpret.registry import Interpreter
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from tests.e2e.world import cluster, config_map, policy, settings
from tests.hub.stage import Recorded, staged, user
from tests.hub.stage import policy as access

LOOKS = 9
CLUSTERS, OBJECTS = 100, 20


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        return [*await _page(Path(scratch)), *await asyncio.to_thread(_scrape, Path(scratch))]


async def _page(folder: Path) -> list[tuple[str, str]]:
    tree = scale.repository()
    tree.blobs["access"] = access("ann", subjects=[user("ann")], allow=["view"]).encode()
    tree.paths["access.yaml"] = "access"
    repo = source.read(tree)
    facts = {name: ClusterFacts(name) for name in repo.clusters}
    decisions = Decisions(known=True)
    found = Recorded(repo, None, decisions, facts)
    first: list[float] = []
    again: list[float] = []
    size = packed = 0
    running = Running(found)
    async with staged(folder, running=running) as hub, aiohttp.ClientSession(auto_decompress=False) as session:
        for _ in range(3):
            fleet = FleetSnapshot(FactsRef("bench"), facts)
            interpreter = Interpreter((native.Native(),))
            found.plan = await planner.plan(repo, fleet, decisions, interpreter, scale.NOW, build.Memo())
            running.heard("cycle", None)  # as the engine tells of a turn: it has another plan now
            for look in range(LOOKS):
                page = f"{hub.url}/ui/placement?page={look + 1}&show=all"
                headers = {"Authorization": "Bearer ann", "Accept-Encoding": "gzip"}
                began = time.perf_counter()
                async with session.get(page, headers=headers) as answer:
                    assert answer.status == 200
                    (again if look else first).append(time.perf_counter() - began)
                    body = await answer.read()
                packed = max(packed, len(body))
                headers["Accept-Encoding"] = "identity"
                async with session.get(page, headers=headers) as answer:
                    size = max(size, len(await answer.read()))
    return [
        ("placement of 10,000 × 100: first byte, cold (target ≤ 0.3 s)", f"{max(first):.3f} s"),
        ("the same, other pages of the plan, median", f"{statistics.median(again):.3f} s"),
        ("its size, and as it is sent (target ≤ 300 kB)", f"{size / 1000:.0f} kB, {packed / 1000:.0f} kB"),
    ]


def _scrape(folder: Path) -> list[tuple[str, str]]:
    names = [f"c{number:03}" for number in range(CLUSTERS)]
    repo, kubeconfig = folder / "repo", folder / "kubeconfig"
    files = {"gitfed.json": settings(), "policy.json": policy("all", names, (("v1", "ConfigMap"),))}
    files["access.yaml"] = access("prometheus", subjects=[user("prometheus")], allow=["view"])
    files |= {f"clusters/{name}.json": cluster(name) for name in names}
    files |= {f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(OBJECTS)}
    ground.commit(repo, {name: text.encode() for name, text in files.items()})
    command = [sys.executable, "-m", "gitfed", "sim", "up", "--quiet", "--nodes", "0", "--kubeconfig", str(kubeconfig)]
    fleet = subprocess.Popen([*command, *(part for name in names for part in ("--name", name))])
    try:
        until(kubeconfig.exists, "the clusters are up")
        daemon = Daemon(repo, kubeconfig, folder / "data", "--hub-address", "0.0.0.0:0")
        try:
            until(lambda: daemon.count("object created") >= CLUSTERS * OBJECTS, "the roll-out", every=0.5)
            url = f"https://127.0.0.1:{daemon.lines('the hub listens')[0]['url'].rpartition(':')[2]}/metrics"
            took, content = asyncio.run(_scrapes(url, folder / "data" / "hub"))
        finally:
            daemon.stop()
    finally:
        fleet.terminate()
        fleet.wait(10)
    samples = [line for line in content.splitlines() if not line.startswith("#")]
    return [
        (f"scrape of {CLUSTERS} clusters, median (target ≤ 100 ms)", f"{1000 * statistics.median(took):.0f} ms"),
        (f"the same, slowest of {len(took)}", f"{1000 * max(took):.0f} ms"),
        ("what it says", f"{len(samples)} samples, {len(content) / 1000:.0f} kB"),
    ]


async def _scrapes(url: str, hub: Path) -> tuple[list[float], str]:
    authority = certificates.Authority.open(hub)
    pair = authority.client("prometheus", [], timedelta(hours=1))
    certificate = hub / "prometheus.pem"
    certificate.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.load_cert_chain(certificate)
    took, content = [], ""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        for _ in range(21):
            began = time.perf_counter()
            async with session.get(url) as answer:
                assert answer.status == 200
                content = await answer.text()
            took.append(time.perf_counter() - began)
            await asyncio.sleep(0.5)
    return took, content
