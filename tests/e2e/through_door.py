"""The real kubectl with a kubeconfig of the hub."""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.e2e.world import Daemon, World
from tests.support import needs, patience


class Kubectl:
    """As somebody whom the hub knows and a cluster gives rights."""

    def __init__(self, world: World, daemon: Daemon, *which: str, user: str = "ann") -> None:
        world.until(lambda: daemon.said("the hub listens"), "the hub listens")
        port = int(daemon.said("the hub listens")[0]["url"].rpartition(":")[2])
        done = world.gitfed("kubeconfig", *which, "--admin", "--user", user, "--data-dir", str(world.data),
                            "--hub-url", f"https://127.0.0.1:{port}")  # fmt: skip
        self.config = world.directory / f"{user}-{'-'.join(which)}.conf"
        self.config.write_text(done.stdout)
        self._environment = {**os.environ, "KUBECACHEDIR": str(world.directory / "kube-cache"), "KUBE_EDITOR": "",
                             "HOME": str(world.directory)}  # fmt: skip
        self._program = str(needs.path_of("kubectl"))

    def by(self, program: str) -> Kubectl:
        """Another program with the same kubeconfig."""
        other = copy.copy(self)
        other._program = str(needs.path_of(program))
        return other

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        environment = {**self._environment, **more.pop("env", {})}
        return subprocess.Popen(
            [self._program, "--kubeconfig", str(self.config), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **more,
        )  # fmt: skip

    def works(self, *arguments: str) -> bool:
        process = self.start(*arguments)
        process.communicate(timeout=patience.SECONDS)
        return process.returncode == 0

    def at_terminal(self, terminal: int, *arguments: str) -> subprocess.Popen[bytes]:
        """With this as its terminal."""
        return subprocess.Popen(
            [self._program, "--kubeconfig", str(self.config), *arguments], stdin=terminal, stdout=terminal,
            stderr=terminal, env=self._environment, start_new_session=True,
        )  # fmt: skip

    @contextlib.contextmanager
    def following(self, line: str, *more: str) -> Iterator[subprocess.Popen[str]]:
        """The running program; it may end by itself, and is gone afterwards in any case."""
        process = self.start(*line.split(), *more)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def __call__(self, *arguments: str, given: str = "", code: int = 0, env: dict[str, str] | None = None) -> str:
        process = self.start(*arguments, env=env or {})
        out, err = process.communicate(given, timeout=patience.SECONDS)
        assert process.returncode == code, f"kubectl {' '.join(arguments)}: {out}{err}"
        return out or err
