"""What failed, in a few lines a test: the last thing a run prints, so that a log cut to its end still says it.

pytest's own report of a failure is complete and comes earlier; its closing summary has one line a test, which it cuts
at the width of the terminal, in the middle of the assertion. Here lies the wording; `tests/conftest.py` prints it, and
`.ci/run` repeats it after everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

TITLE = "What failed:"
_LINES, _WIDTH = 8, 200
"""Of one message."""
_OF_A_GROUP = re.compile(r"[\s|]+\|\s(\w+(?:\.\w+)*(?:Error|Warning|Exception): .*)")
"""What one of a group of exceptions says; such are resources that nobody closed."""
_DETAILED = 25
"""So many tests are quoted; when more have failed, they have one cause, and their names are enough."""


def lines(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Iterator[str]:
    """One paragraph for each of these reports of failures and errors (of fixtures, of collecting); none without any."""
    for number, report in enumerate(reports):
        if number == 0:
            yield TITLE
        phase = getattr(report, "when", "collect")
        yield f"FAILED {report.nodeid}" + (f" ({phase})" if phase in {"setup", "teardown", "collect"} else "")
        if number < _DETAILED:
            yield from ("    " + line[:_WIDTH] for line in _said(report))


def _said(report: pytest.TestReport | pytest.CollectReport) -> Iterator[str]:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:  # a file that cannot be collected, a worker that died: text, with the point at its end
        yield from str(report.longrepr).splitlines()[-_LINES:]
        return
    first, *more = crash.message.splitlines() or [""]
    yield f"{crash.path}:{crash.lineno}: {first}"
    if "ExceptionGroup" in first:
        more = [found[1] for line in report.longreprtext.splitlines() if (found := _OF_A_GROUP.match(line))]
    yield from more[: _LINES - 1]
