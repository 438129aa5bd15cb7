"""The daemon as a process of its own, and eyes of our own on the clusters, for benchmarks of whole ways."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.clusters.rest import Endpoint, RefusedError


class Daemon:
    def __init__(self, repo: Path | str, kubeconfig: Path, data: Path, *more: str) -> None:
        self.log = data.parent / f"{data.name}.log"
        self._file = self.log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gitfed", "run", "--repo", str(repo), "--kubeconfig", str(kubeconfig), "--data-dir",
             str(data), "--interval", "60s", "--logging-format", "json", "--health-address", "127.0.0.1:0", *more],
            stdout=subprocess.DEVNULL, stderr=self._file,
        )  # fmt: skip

    def count(self, message: str) -> int:
        """How many lines say so, without reading them: who waits for many must not take the processor from them."""
        return self.log.read_bytes().count(f'"msg":"{message}"'.encode())

    def lines(self, message: str) -> list[dict[str, Any]]:
        found = []
        for line in self.log.read_text().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if value.get("msg") == message:
                found.append(value)
        return found

    def stop(self, *, kill: bool = False) -> None:
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(30)
        self._file.close()


def endpoints(kubeconfig: Path, names: list[str]) -> dict[str, Endpoint]:
    config = yaml.safe_load(kubeconfig.read_text())
    return {name: Endpoint.of(config, name) for name in names}


def until(condition: Callable[[], Any], what: str, seconds: float = 120.0, every: float = 0.002) -> float:
    """Seconds until it was true."""
    began = time.perf_counter()
    while True:
        try:
            if condition():
                return time.perf_counter() - began
        except RefusedError:
            pass
        if time.perf_counter() - began > seconds:
            raise RuntimeError(f"did not happen: {what}")
        time.sleep(every)
