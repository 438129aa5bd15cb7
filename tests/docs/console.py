"""Runs what a page shows, in a world of its own: no settings, caches or clusters of the person who runs the tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.docs.pages import ROOT, Block, Command
from tests.support import patience


class Console:
    """`with Console(folder) as console:`; what was started in the background ends with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._here = folder
        self._background: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        programs = folder / "bin"
        programs.mkdir(parents=True)
        gitfed = programs / "gitfed"
        gitfed.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitfed "$@"\n')
        gitfed.chmod(0o755)
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GITFED_", "GIT_", "KUBECONFIG", "XDG_")) and not name.lower().endswith("_proxy")
        }
        self._environment = {
            **inherited,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "COLUMNS": "120",
            "PYTHONPATH": str(ROOT),
            "GIT_CONFIG_GLOBAL": "/nonexistent/gitconfig",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "init.defaultBranch",
            "GIT_CONFIG_VALUE_0": "main",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example"), ("DATE", "2026-08-22T10:00:00Z"))
            },
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process, output in reversed(self._background):
            process.send_signal(signal.SIGTERM)
            process.wait(patience.SECONDS)
            output.close()

    def start(self, block: Block) -> None:
        """Go where the block begins."""
        if block.start in ("example", "empty"):
            self._here = self._folder / "work"
            shutil.rmtree(self._here, ignore_errors=True)
            if block.start == "empty":
                self._here.mkdir()
            else:
                shutil.copytree(ROOT / "examples" / "repo", self._here)
                self._sh("git init -q && git add . && git commit -qm 'A fleet'")

    def run(self, command: Command, *, background: bool = False) -> tuple[int, list[str]]:
        """(exit code, lines of stdout and stderr as they came). In the background: once it said something."""
        if not background:
            return self._sh(command.line)
        path = self._folder / f"background-{len(self._background)}"
        output = path.open("wb")
        words = f"exec {command.line}"
        process = subprocess.Popen(
            ["sh", "-c", words], cwd=self._here, env=self._environment, stdout=output, stderr=subprocess.STDOUT
        )
        self._background.append((process, output))
        deadline = time.monotonic() + patience.SECONDS
        while not path.read_text() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return process.poll() or 0, self._lines(path.read_text())

    def _sh(self, line: str) -> tuple[int, list[str]]:
        place = self._folder / "here"
        done = subprocess.run(
            ["sh", "-c", f'{line}\ncode=$?; pwd > "{place}"; exit $code'],
            cwd=self._here, env=self._environment, capture_output=False, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=patience.SECONDS, check=False,
        )  # fmt: skip
        self._here = Path(place.read_text().strip())
        return done.returncode, self._lines(done.stdout)

    def _lines(self, text: str) -> list[str]:
        """With a folder that any reader could have."""
        return [line.rstrip() for line in text.replace(str(self._folder / "work"), "/home/ada").splitlines()]
