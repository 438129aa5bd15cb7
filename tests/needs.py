"""Programs that a test needs and a machine may lack.

A test that cannot run must say so where a person looks: at the end of the run, one line per test. A bare skip is
an "s" in a row of dots. Here lies the question whether a program is at hand and the skip itself; `tests/conftest.py`
prints the lines. The reason of the skip is all that passes between them, because with several pytest workers the
report is the only thing that reaches the process that prints.

`kube-apiserver` and `etcd` are looked for in the directory that KUBEBUILDER_ASSETS names and nowhere else: the
variable is how a developer says "use the real one". A variable that is set but names a directory without them is
a mistake to fail on, not a reason to skip (see `tests/clusters/apiserver.py`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

ASSETS = "KUBEBUILDER_ASSETS"
_ONLY_IN_ASSETS = frozenset({"etcd", "kube-apiserver"})
_REASON = "needs "

PULLED = bool(os.environ.get("GITFED_TEST_PULLED"))
"""Whether every cluster of the end-to-end tests is pulled by an agent (`tests/e2e/pulled.py`)."""


def find(name: str) -> Path | None:
    """Where the program is, or None. The assets' kubectl goes before the one on PATH: it fits their server."""
    assets = os.environ.get(ASSETS)
    if name in _ONLY_IN_ASSETS:
        return Path(assets) / name if assets else None
    found = shutil.which(name, path=assets) if assets else None
    found = found or shutil.which(name)
    return Path(found) if found else None


def program(*names: str) -> pytest.MarkDecorator:
    """A mark for a test, a class or a module (`pytestmark`): skip unless all these programs are at hand."""
    absent = [name for name in names if find(name) is None]
    return pytest.mark.skipif(bool(absent), reason=_REASON + ", ".join(absent))


def pushed(reason: str) -> pytest.MarkDecorator:
    """A mark for what only clusters have that gitfed writes to by itself; `reason` says why pulled ones have it not."""
    return pytest.mark.skipif(PULLED, reason=reason)


def path_of(name: str) -> Path:
    """The program's path, for use inside a fixture or a test, which is skipped if the machine has no such program."""
    found = find(name)
    if found is None:
        pytest.skip(_REASON + name)
    return found


def not_run(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each test that was skipped for want of a program; other skips are pytest's to show."""
    lines = []
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        said, marker, missing = reason.partition(_REASON)
        if marker and said in {"", "Skipped: "}:
            lines.append(f"NOT RUN: {report.nodeid} needs {missing}")
    return sorted(lines)
