"""A fleet of two clusters with its repositories, and pushes of one changed image measured until both hold it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.daemon import Daemon, endpoints, until
from bench.rollout import NAMES, git, repository
from bench.servers import clusters
from tests.clusters.rest import Endpoint
from tests.e2e.world import deployment

PUSHES = 15
_PATH = "/apis/apps/v1/namespaces/shop/deployments/d7"
_SETTLED = 2.0
"""Seconds after the first roll-out, and between pushes: what was recorded of the one before is pushed by then."""
_PAUSE = 0.7


@dataclass
class Ground:
    servers: str
    """What the clusters are."""
    folder: Path
    kubeconfig: Path
    work: Path
    bare: Path
    eyes: list[Endpoint]
    _count: int
    _pushed: int = field(default=0)
    daemons: list[Daemon] = field(default_factory=list)

    def daemon(self, name: str, *more: str, url: str = "") -> Daemon:
        """One that has rolled everything out."""
        found = Daemon(url or self.bare, self.kubeconfig, self.folder / name, *more)
        self.daemons.append(found)
        # What another daemon left needs no writing: a cycle that ended says that everything is there.
        until(lambda: found.lines("cycle finished") and all(eye.answers(_PATH) for eye in self.eyes), "first roll-out")
        until(lambda: all(eye.answers(_path(self._count - 1)) for eye in self.eyes), "the rest of it", every=0.1)
        time.sleep(_SETTLED)
        return found

    def push(self, told: Callable[[], None] = lambda: None) -> tuple[float, float]:
        """Seconds of `git push` itself, and then until both clusters hold what was pushed; `told` is called between."""
        self._pushed += 1
        image = f"nginx:{self._pushed}"
        (self.work / "apps/d7.json").write_text(deployment("d7", image=image))
        git(self.work, "commit", "-q", "-a", "-m", image)
        began = time.perf_counter()
        git(self.work, "push", "-q", "origin", "HEAD:main")
        pushed = time.perf_counter()
        told()
        until(lambda: all(_image(eye) == image for eye in self.eyes), image)
        ended = time.perf_counter()
        time.sleep(_PAUSE)
        return pushed - began, ended - pushed

    def pushes(self, told: Callable[[], None] = lambda: None, count: int = PUSHES) -> list[tuple[float, float]]:
        return [self.push(told) for _ in range(count)]


@asynccontextmanager
async def ground(count: int = 50, more: Mapping[str, str] | None = None) -> AsyncIterator[Ground]:
    """`count` Deployments in both clusters; `more` files stand in the repository too."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(NAMES, folder) as (what, kubeconfig):
            work, bare = folder / "work", folder / "fleet.git"
            work.mkdir()
            repository(work, count=count)
            for name, text in (more or {}).items():
                (work / name).write_text(text)
            git(work, "add", "-A")
            git(work, "commit", "-q", "--allow-empty", "-m", "more")
            subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
            git(work, "remote", "add", "origin", str(bare))
            git(work, "fetch", "-q", "origin")
            eyes = list(endpoints(kubeconfig, NAMES).values())
            place = Ground(what, folder, kubeconfig, work, bare, eyes, count)
            try:
                yield place
            finally:
                for daemon in place.daemons:  # a bench that failed left it running
                    if daemon.process.poll() is None:
                        daemon.stop(kill=True)


def _path(number: int) -> str:
    return _PATH.replace("d7", f"d{number}")


def _image(eye: Endpoint) -> str:
    found: str = eye.request("GET", _PATH)["spec"]["template"]["spec"]["containers"][0]["image"]
    return found
