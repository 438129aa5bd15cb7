"""A restart with 5,000 queued bindings: how soon does a fresh push go through?

The clusters hold nothing, the repository 5,000 Deployments. The daemon is killed as soon as its roll-out begins, then
started again; one image is pushed the moment it writes its first object.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from bench.daemon import Daemon, endpoints, until
from bench.rollout import NAMES, git, repository
from bench.servers import clusters
from tests.e2e.world import deployment

COUNT = 5000


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(NAMES, folder) as (what, kubeconfig):
            (folder / "work").mkdir()
            work = repository(folder / "work", count=COUNT)
            bare = folder / "fleet.git"
            subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
            git(work, "remote", "add", "origin", str(bare))
            git(work, "fetch", "-q", "origin")
            eyes = endpoints(kubeconfig, NAMES)
            first = Daemon(bare, kubeconfig, folder / "data")
            until(lambda: first.lines("object created"), "the first roll-out begins", every=0.05)
            first.stop(kill=True)
            began = time.perf_counter()
            second = Daemon(bare, kubeconfig, folder / "data")
            until(lambda: second.lines("object created"), "the second begins", every=0.02)
            back = time.perf_counter() - began
            (work / "apps/fresh.json").write_text(deployment("fresh"))
            git(work, "add", "-A")
            git(work, "commit", "-q", "-m", "fresh")
            before = time.perf_counter()
            git(work, "push", "-q", "origin", "main")
            path = "/apis/apps/v1/namespaces/shop/deployments/fresh"
            until(lambda: all(eye.answers(path) for eye in eyes.values()), "the fresh push")
            fresh = time.perf_counter() - before
            written = len(second.lines("object created"))
            second.stop(kill=True)
    return [
        ("servers", what),
        ("restart until the first object is written", f"{back:.1f} s"),
        (f"fresh push until applied, {COUNT} queued (target ≤ 2 s)", f"{fresh:.2f} s"),
        ("objects of the queue written meanwhile", str(written)),
    ]
