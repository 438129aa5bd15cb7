"""`gitfed` as a process of its own that need not import anything: it is forked from one that did.

Importing takes most of the time of a short process, and a test begins many. The process that they come from is
single-threaded, and begun for the first of them. What Python itself reads when it begins (PYTHONPATH and the like) is
as it was then: who is given other such settings is begun as a new interpreter.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(
    [
        "gitfed.cli.main", "gitfed.cli.commands.act.agent", "gitfed.agent.serve", "gitfed.cli.commands.act.run",
        "gitfed.daemon.wiring", "gitfed.hub.assembly", "gitfed.offline.preview", "gitfed.cli.commands.look.plan",
        __name__,
    ]
)  # fmt: skip


class Running(Protocol):
    """A process, as a test sees it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float) -> int: ...
    def send_signal(self, sig: int) -> None: ...


def begin(
    arguments: Sequence[str], environment: Mapping[str, str], *, error: Path, out: Path | None = None,
    folder: Path | None = None,
) -> Running:  # fmt: skip
    """`gitfed` with these arguments; `error` and `out` (else nowhere): the files that it writes to."""
    if _of_python(environment) == _of_python(os.environ):
        return Process(arguments, environment, error=error, out=out, folder=folder)
    with error.open("ab") as errors, (out or Path(os.devnull)).open("ab") as printed:
        command = [sys.executable, "-m", "gitfed", *arguments]
        return subprocess.Popen(command, stdout=printed, stderr=errors, env=environment, cwd=folder)


class Process:
    """What of `subprocess.Popen` the tests use."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], *, error: Path, out: Path | None = None,
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        error.touch()  # who reads it need not wait for the process
        self._process = _FORKED.Process(
            target=_be, args=(list(arguments), dict(environment), out or Path(os.devnull), error, folder or Path.cwd(),
                              resource.getrlimit(resource.RLIMIT_FSIZE)),
        )  # fmt: skip
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("gitfed", timeout)
        return code

    def send_signal(self, sig: int) -> None:
        if self._process.is_alive():
            os.kill(self.pid, sig)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """One that ends by itself."""
    with tempfile.TemporaryDirectory() as place:
        out, error = Path(place, "out"), Path(place, "error")
        process = begin(arguments, environment, out=out, error=error, folder=folder)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(seconds)
            raise
        return subprocess.CompletedProcess(list(arguments), code, out.read_text(), error.read_text())


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


def _be(
    arguments: list[str], environment: dict[str, str], out: Path, error: Path, folder: Path, largest: tuple[int, int]
) -> None:
    # A test may set a limit for who is begun now; the process forked from has that of when it began.
    resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for path, number in ((out, 1), (error, 2)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = ["gitfed", *arguments]
    from gitfed.cli.main import main

    main()
