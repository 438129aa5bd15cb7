"""Programs that a test needs and a machine may lack: a test that cannot run says so at the end of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import pytest

_REASON = "needs "


def program(name: str) -> pytest.MarkDecorator:
    """A mark: skip unless the program is at hand."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=_REASON + name)


def not_run(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each test that was skipped for want of a program."""
    reasons = [(report.nodeid, report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)]
    return sorted(f"NOT RUN: {name} {why}" for name, why in reasons if why.startswith(_REASON))
