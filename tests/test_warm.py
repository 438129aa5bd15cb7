"""Processes that are forked from one that has imported gitfed behave like those of a new interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.world import World
from tests.support import patience, warm


@pytest.mark.parametrize("own", [{}, {"PYTHONDONTWRITEBYTECODE": "1"}], ids=["forked", "new interpreter"])
def test_what_it_prints_and_its_exit_code_are_those_of_a_command(tmp_path: Path, own: dict[str, str]) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), **own}
    done = warm.run(["--version"], environment, tmp_path, patience.SECONDS)
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "gitfed", "")
    wrong = warm.run(["plan", "--repo", "nowhere"], environment, tmp_path, patience.SECONDS)
    assert (wrong.returncode, wrong.stdout) == (4, "")
    assert wrong.stderr.startswith("error: ")


def test_it_is_forked_unless_python_itself_is_set_otherwise(tmp_path: Path) -> None:
    error = tmp_path / "error"
    same = warm.begin(["--version"], dict(os.environ), error=error)
    other = warm.begin(["--version"], {**os.environ, "PYTHONUTF8": "1"}, error=error)
    assert (isinstance(same, warm.Process), isinstance(other, subprocess.Popen)) == (True, True)
    assert (same.wait(patience.SECONDS), other.wait(patience.SECONDS)) == (0, 0)


def test_it_has_its_own_folder_environment_and_signals(tmp_path: Path) -> None:
    """A file named from where it began, and an end by a signal that nobody handles."""
    out, error = tmp_path / "out", tmp_path / "error"
    environment = {**os.environ, "HOME": str(tmp_path)}
    process = warm.begin(
        ["sim", "up", "--name", "one", "--kubeconfig", "here"], environment, error=error, out=out, folder=tmp_path
    )
    World.until(lambda: out.exists() and "ready" in out.read_text(), "it says that the cluster is ready")
    process.send_signal(signal.SIGKILL)
    assert process.wait(patience.SECONDS) == -signal.SIGKILL
    assert (tmp_path / "here").exists()
