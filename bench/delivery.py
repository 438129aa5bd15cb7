"""From a forge's delivery, over real HTTP, until both clusters hold one changed image.

The repository is a remote one (`file://`), so nothing else tells of a push. Beside it the same pushes to a repository
on this machine, which is watched: what is more than that is the delivery's and the fetch's.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bench.daemon import Daemon, endpoints, until
from bench.rollout import NAMES, git, repository
from bench.servers import clusters
from tests.clusters.rest import Endpoint
from tests.e2e.world import deployment
from tests.hub import deliveries

PUSHES = 15
_PATH = "/apis/apps/v1/namespaces/shop/deployments/d7"


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
            eyes = list(endpoints(kubeconfig, NAMES).values())
            watched = Daemon(bare, kubeconfig, folder / "watched")
            until(lambda: all(eye.answers(_PATH) for eye in eyes), "first roll-out")
            by_watch = _pushes(work, eyes, "watched", lambda: None)
            watched.stop()
            secret = folder / "secret"
            secret.write_text(deliveries.SECRET)
            told = Daemon(f"file://{bare}", kubeconfig, folder / "told", "--interval", "24h",
                          "--hub-address", "127.0.0.1:0", "--hook-secret-file", str(secret))  # fmt: skip
            until(lambda: told.lines("the hub listens") and told.lines("cycle finished"), "the hub listens")
            url = told.lines("the hub listens")[0]["url"]
            by_delivery = _pushes(work, eyes, "told", lambda: _deliver(url))
            told.stop()
    ratio = statistics.median(by_delivery) / statistics.median(by_watch)
    return [
        ("servers", what),
        ("delivery until both clusters hold it, median (target ≤ 1 s)", f"{statistics.median(by_delivery):.3f} s"),
        (f"the same, slowest of {PUSHES}", f"{max(by_delivery):.3f} s"),
        ("a watched push until both clusters hold it, median", f"{statistics.median(by_watch):.3f} s"),
        ("ratio", f"{ratio:.1f}"),
    ]


def _pushes(work: Path, eyes: list[Endpoint], name: str, tell: Callable[[], None]) -> list[float]:
    """Seconds of each, from the end of `git push`."""
    time.sleep(2.0)
    took = []
    for number in range(PUSHES):
        image = f"nginx:{name}-{number}"
        (work / "apps/d7.json").write_text(deployment("d7", image=image))
        git(work, "commit", "-q", "-a", "-m", image)
        git(work, "push", "-q", "origin", "HEAD:main")
        began = time.perf_counter()
        tell()
        until(lambda image=image: all(_image(eye) == image for eye in eyes), image)
        took.append(time.perf_counter() - began)
        time.sleep(0.7)
    return took


def _deliver(url: str) -> None:
    sent = deliveries.github(repository="fleet")
    request = urllib.request.Request(f"{url}/hooks/github", sent.body, dict(sent.headers), method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 202, answer.read()


def _image(eye: Endpoint) -> str:
    found: str = eye.request("GET", _PATH)["spec"]["template"]["spec"]["containers"][0]["image"]
    return found
