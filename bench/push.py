"""From `git push` to a local bare repository until both clusters hold one changed image."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.daemon import Daemon, endpoints, until
from bench.rollout import NAMES, git, repository
from bench.servers import clusters
from tests.e2e.world import deployment

PUSHES = 15


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(NAMES, folder) as (what, kubeconfig):
            (folder / "work").mkdir()
            work = repository(folder / "work", count=50)
            bare = folder / "fleet.git"
            subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
            git(work, "remote", "add", "origin", str(bare))
            git(work, "fetch", "-q", "origin")
            daemon = Daemon(bare, kubeconfig, folder / "data")
            eyes = endpoints(kubeconfig, NAMES)
            path = "/apis/apps/v1/namespaces/shop/deployments/d7"

            def holds(image: str) -> bool:
                return all(
                    eye.request("GET", path)["spec"]["template"]["spec"]["containers"][0]["image"] == image
                    for eye in eyes.values()
                )

            until(lambda: all(eye.answers(path) for eye in eyes.values()), "first roll-out")
            until(lambda: len(daemon.lines("object created")) >= 100, "the rest of it", every=0.1)
            time.sleep(1.5)
            took, pushes = [], []
            for number in range(PUSHES):
                (work / "apps/d7.json").write_text(deployment("d7", image=f"nginx:{number}"))
                git(work, "commit", "-q", "-a", "-m", f"image {number}")
                before = time.perf_counter()
                git(work, "push", "-q", "origin", "main")
                pushes.append(time.perf_counter() - before)
                until(lambda number=number: holds(f"nginx:{number}"), f"push {number}")
                took.append(time.perf_counter() - before)
                time.sleep(0.7)
            daemon.stop()
    median = statistics.median(took)
    return [
        ("servers", what),
        ("git push itself, median", f"{statistics.median(pushes):.3f} s"),
        ("git push until both clusters hold it, median (target ≤ 0.15 s)", f"{median:.3f} s"),
        ("the same, slowest of " + str(PUSHES), f"{max(took):.3f} s"),
        ("ratio to the push itself", f"{median / statistics.median(pushes):.1f}"),
    ]
