"""What holds for every test.

- No test is judged by the clock.
- The same code is judged by the same examples every time: a property that fails once in ten thousand is a defect, but
  not of the change that happens to meet it. `GITFED_EXAMPLES=20 pytest tests/text` looks for such ones: other examples
  every time, and twenty times as many.
- Coverage, whose gate is for the pure packages, is watched where tests call them; elsewhere it would only cost time,
  half of what such tests take.
- Nobody's own settings of git, of a CI system or of a network are seen.
- What could not run and what failed is named at the end.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support import failed, needs, surroundings

surroundings.forget()
_TIMES = int(os.environ.get("GITFED_EXAMPLES", "0"))
_WATCHED = frozenset({"text", "model", "source", "placement", "interpret", "render", "planning", "cli", "daemon"})

# A deadline per example, or a complaint that data came slowly, would be an assertion about the machine's load.
settings.register_profile("gitfed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not _TIMES)
settings.load_profile("gitfed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _WATCHED.isdisjoint(item.path.relative_to(item.config.rootpath).parts[1:2]):
            item.add_marker(pytest.mark.no_cover)
        own: settings | None = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
        if _TIMES and own is not None:
            item.obj._hypothesis_internal_use_settings = settings(own, max_examples=own.max_examples * _TIMES)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in needs.not_run(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(line)
    for line in failed.lines(terminalreporter.getreports("error") + terminalreporter.getreports("failed")):
        terminalreporter.write_line(line)
