"""The real `kubectl`, for one cluster.

A credential for a hub's door is in a file that only its owner reads, for as long as the program runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from gitfed.errors import UsageError
from gitfed.member_access.contexts import KubeContext
from gitfed.model.base import ClusterName
from gitfed.text.values import dataclass

_AT_ONCE = 8
_PATIENCE = "--request-timeout=30s"
"""For questions to several clusters: one that does not answer must not hold up the others for ever."""


@dataclass(frozen=True, slots=True)
class KubectlResult:
    cluster: ClusterName
    code: int
    out: str
    error: str


def program() -> str:
    """Raises UsageError."""
    path = shutil.which("kubectl")
    if path is None:
        raise UsageError(
            "there is no kubectl on this machine (PATH), and this command runs it",
            hint="https://kubernetes.io/docs/tasks/tools/",
        )
    return path


def run(target: KubeContext, arguments: Sequence[str]) -> int:
    """On this terminal, until it ends. Its exit code; that of a shell for a signal. Raises UsageError."""
    with prepared(target) as (command, environment):
        process = subprocess.Popen([*command, *arguments], env=environment)

        def stop(number: int, frame: FrameType | None) -> None:
            process.send_signal(number)

        before = signal.signal(signal.SIGTERM, stop)  # the file is removed after the program ends, by us
        try:
            while True:
                # A terminal sends Ctrl-C to both: what it means is kubectl's to say.
                with contextlib.suppress(KeyboardInterrupt):
                    code = process.wait()
                    break
        finally:
            signal.signal(signal.SIGTERM, before)
    return 128 - code if code < 0 else code


def collect(contexts: Sequence[KubeContext], arguments: Sequence[str]) -> list[KubectlResult]:
    """What it says of each cluster, in the order of `contexts`. Raises UsageError."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(lambda target: _collected(target, arguments), contexts))


def _collected(target: KubeContext, arguments: Sequence[str]) -> KubectlResult:
    with prepared(target) as (command, environment):
        done = subprocess.run(
            [*command, _PATIENCE, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    return KubectlResult(target.cluster, done.returncode, done.stdout, done.stderr.strip())


@contextlib.contextmanager
def prepared(target: KubeContext) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command so far and its environment, good as long as the block lasts. Raises UsageError."""
    command = [program(), "--context", target.context]
    if not target.kubeconfig:
        yield command, {**os.environ, "KUBECONFIG": target.paths}
        return
    with tempfile.TemporaryDirectory(prefix="gitfed-") as folder:
        path = Path(folder, "kubeconfig")
        path.touch(0o600)
        path.write_text(target.kubeconfig, encoding="utf-8")
        yield command, {**os.environ, "KUBECONFIG": str(path)}
