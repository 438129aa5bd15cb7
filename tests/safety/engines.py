"""A daemon's engine in this process, over real edges: what a test breaks in it is broken for this test alone."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from gitfed.daemon import wiring
from gitfed.daemon.cycle import Engine
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.loop import run_cycles
from gitfed.placement import recorded_facts
from tests.clusters.faulty import Faulty
from tests.support import patience

SETTINGS = """\
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {name: f}
"""
CLUSTER = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: %s}
spec: {syncMode: Push}
"""
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
  placement: {clusterAffinity: {clusterNames: [m1, m2]}}
"""


def config_map(name: str, value: str = "1") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{v: '{value}'}}\n"


FLEET = {
    "gitfed.yaml": SETTINGS,
    "clusters/m1.yaml": CLUSTER % "m1",
    "clusters/m2.yaml": CLUSTER % "m2",
    "policies/all.yaml": POLICY,
    "manifests/a.yaml": config_map("a"),
}


class Stage:
    """A repository, two clusters, and engines one after the other."""

    def __init__(self, directory: Path, faulty: Faulty) -> None:
        self.directory = directory
        self.faulty = faulty
        self.repo = directory / "fleet"
        self.repo.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit(FLEET)

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.repo), "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files: Mapping[str, str]) -> str:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    @contextlib.asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        options = wiring.DaemonOptions(
            repo=str(self.repo), data_dir=self.directory / "data", kubeconfig=(self.faulty.kubeconfig,),
            timing=Timing(0.2, recorded_facts.Thresholds(0.2, 0.2)),
        )  # fmt: skip
        engine = await asyncio.to_thread(wiring.make_engine, options)
        work = asyncio.create_task(run_cycles(engine, poll=lambda: 0.2))
        try:
            yield engine
            assert not work.done(), "the loop must not end"
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def held(self, cluster: str) -> list[str]:
        return [name for name in self.faulty.names(cluster, "configmaps", "default") if not name.startswith("kube-")]


async def until(true: Callable[[], Any], what: str = "") -> Any:
    deadline = time.monotonic() + patience.SECONDS
    while not (found := true()):
        assert time.monotonic() < deadline, what or "it did not come true"
        await asyncio.sleep(0.02)
    return found
