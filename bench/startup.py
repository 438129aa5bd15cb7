"""How long commands take that touch no cluster."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def median(command: list[str], folder: Path, times: int = 7) -> float:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    took = []
    for _ in range(times):
        before = time.perf_counter()
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        took.append(time.perf_counter() - before)
    return statistics.median(took)


def run() -> list[tuple[str, str]]:
    program = str(Path(sys.executable).with_name("gitfed"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "fleet"
        shutil.copytree(ROOT / "examples/repo", folder)
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run(["git", "-c", "user.name=b", "-c", "user.email=b@e", *command], cwd=folder, check=True)
        python = median([sys.executable, "-c", "pass"], folder)
        rows = []
        for label, arguments in (
            ("gitfed --help (target ≤ 0.2 s)", ["--help"]),
            ("gitfed validate on examples/repo (target ≤ 0.35 s)", ["validate"]),
            ("gitfed plan on examples/repo", ["plan"]),
        ):
            took = median([program, *arguments], folder)
            rows.append((label, f"{took:.3f} s = {took / python:.1f} × an empty Python"))
        return rows
