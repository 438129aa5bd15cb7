"""Clusters for a benchmark: real API servers when `KUBEBUILDER_ASSETS` names them, else the embedded fleet in a process
of its own, so that it does not share our interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.clusters.apiserver import real_fleet


@asynccontextmanager
async def clusters(names: list[str], directory: Path) -> AsyncIterator[tuple[str, Path]]:
    """(what they are, kubeconfig)."""
    if os.environ.get("KUBEBUILDER_ASSETS"):
        async with real_fleet(names, directory) as fleet:
            yield "real kube-apiservers", fleet.kubeconfig
        return
    kubeconfig = directory / "kubeconfig"
    command = [sys.executable, "-m", "gitfed", "sim", "up", "--kubeconfig", str(kubeconfig), "--nodes", "0"]
    command += [part for name in names for part in ("--name", name)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not kubeconfig.exists():
            if time.monotonic() > end or process.poll() is not None:
                raise RuntimeError("the embedded fleet did not start")
            time.sleep(0.05)
        yield "embedded fleet", kubeconfig
    finally:
        process.terminate()
        process.wait(10)
