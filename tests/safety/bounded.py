"""gitfed as a process that may not take more memory and time than any sane machine gives it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support import patience

MEMORY = 1536 * 1024 * 1024
"""Bytes of address space: several times what an ordinary run reserves, a fraction of what a bomb would want."""
PROCESSOR = 60
"""Seconds of computing after which the kernel ends the process: nothing here needs more than a few."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


def gitfed(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Ended:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GITFED_", "GIT_", "KUBECONFIG"))}
    done = subprocess.run(
        [sys.executable, "-m", "gitfed", *map(str, arguments)], cwd=cwd, capture_output=True, check=False,
        env={**clean, "HOME": str(cwd), "XDG_CACHE_HOME": str(cwd / ".cache"), **(env or {})}, preexec_fn=_limit,
        timeout=patience.SECONDS,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
