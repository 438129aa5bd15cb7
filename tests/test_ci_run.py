"""`.ci/run` runs every step, and its last lines say which failed and how."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support import needs

ROOT = Path(__file__).parent.parent
pytestmark = needs.program("bash")

MAKE = r"""#!/bin/sh
case "$2" in
test)
  printf '%s\n' '.... [  1%]' '..s. [ 10%]' '..F. [ 11%]' 'the whole report' \
    'NOT RUN: tests/a.py::test_x[b::c] needs kube-apiserver, etcd' \
    'NOT RUN: tests/a.py::test_y needs kube-apiserver, etcd'
  if [ "$BROKEN" ]; then printf '%s\n' 'What failed:' 'FAILED tests/a.py::test_z' '    a.py:3: assert 1 == 2'; fi
  printf '%s\n' '1 failed, 3 passed in 3.40s' 'pure packages, branch coverage: TOTAL 98% (gate 90%)'
  [ ! "$BROKEN" ];;
test-kubesim)
  printf '%s\n' 'NOT RUN: tests/k.py::test_k needs kubectl' '9 passed in 1.20s';;
types)
  if [ "$BROKEN" ]; then echo 'gitfed/x.py:3: error: no'; exit 2; fi;;
esac
"""


def run(folder: Path, broken: str) -> tuple[int, str]:
    """`.ci/run` with a `make` that only says what the real one might say."""
    for name, source in {"repo/.ci/run": (ROOT / ".ci" / "run").read_text(), "bin/make": MAKE}.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(source)
        path.chmod(0o755)
    done = subprocess.run(
        [str(shutil.which("bash")), str(folder / "repo" / ".ci" / "run")], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "BROKEN": broken},
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_last_lines_say_what_failed_after_everything_else(tmp_path: Path) -> None:
    code, said = run(tmp_path, "yes")
    assert code == 1
    before, _, end = said.partition("== the end\n")
    assert [line for line in before.splitlines() if line.startswith("== ")] == [
        "== test", "== test-kubesim", "== formatted", "== lint", "== types", "== imports", "== docs", "== wheel"
    ]  # fmt: skip
    assert "[  1%]" not in before
    assert "the whole report" in before
    assert "..F. [ 11%]" in before
    assert end.splitlines() == [
        "NOT RUN: 2 in tests/a.py for want of kube-apiserver, etcd",
        "NOT RUN: 1 in tests/k.py for want of kubectl",
        "1 failed, 3 passed in 3.40s",
        "9 passed in 1.20s",
        "pure packages, branch coverage: TOTAL 98% (gate 90%)",
        "== test failed",
        "What failed:",
        "FAILED tests/a.py::test_z",
        "    a.py:3: assert 1 == 2",
        "1 failed, 3 passed in 3.40s",
        "pure packages, branch coverage: TOTAL 98% (gate 90%)",
        "== types failed",
        "gitfed/x.py:3: error: no",
    ]


def test_when_all_is_well_the_last_line_says_so(tmp_path: Path) -> None:
    code, said = run(tmp_path, "")
    assert code == 0
    assert said.splitlines()[-1] == "All is well: test test-kubesim formatted lint types imports docs wheel"
